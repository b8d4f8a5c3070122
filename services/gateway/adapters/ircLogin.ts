/** How we prove who we are to an IRC server: a password of the server, an account (SASL), or both. */
import { AgentError } from '../../../base/errors.ts';
import type { Secrets } from '../../../state/env.ts';
import type { IrcSettings } from '../../../state/config/platformSettings.ts';

export interface IrcLogin {
  /** Sent as PASS. */
  password?: string;
  /** Offered with SASL; absent = none is. */
  account?: { account: string; password: string; variable: string };
  /** Without the account the connection is refused. */
  isRequired: boolean;
}

/**
 * IRC_PASSWORD alone is offered as both, because many servers take either. A setting about the account ends the guess.
 * Errors: CONFIG_INVALID.
 */
export function loginOf({ nick, account, sasl }: Pick<IrcSettings, 'nick' | 'account' | 'sasl'>, secrets: Secrets): IrcLogin {
  const password = secrets.get('IRC_PASSWORD');
  const ownPassword = secrets.get('IRC_ACCOUNT_PASSWORD');
  const server = password ? { password } : {};
  if (sasl === false) {
    if (account === undefined && !ownPassword) return { ...server, isRequired: false };
    throw new AgentError('CONFIG_INVALID', 'platforms.irc.sasl is false, yet an account is configured', {
      fix: 'remove platforms.irc.sasl, or remove platforms.irc.account and IRC_ACCOUNT_PASSWORD',
    });
  }
  const isRequired = sasl === 'required' || account !== undefined || !!ownPassword;
  const variable = ownPassword ? 'IRC_ACCOUNT_PASSWORD' : 'IRC_PASSWORD';
  const secret = ownPassword || password;
  if (secret) return { ...server, account: { account: account ?? nick, password: secret, variable }, isRequired };
  if (!isRequired) return { isRequired };
  throw new AgentError('CONFIG_INVALID', 'an IRC account is configured without its password', {
    fix: 'agent env set IRC_ACCOUNT_PASSWORD',
  });
}

export const wrongAccount = ({ account, variable }: NonNullable<IrcLogin['account']>, why: string): AgentError =>
  new AgentError('CONFIG_INVALID', `the server refuses the password for the account "${account}": ${why}`, {
    fix:
      variable === 'IRC_PASSWORD'
        ? 'correct IRC_PASSWORD in .env, or set platforms.irc.account; if it is the password of the server alone, set platforms.irc.sasl to false'
        : `correct ${variable} in .env, or platforms.irc.account`,
  });

export const noSasl = (): AgentError =>
  new AgentError('CONFIG_INVALID', 'the server offers no SASL PLAIN, so the account cannot be signed in to', {
    fix: 'choose a server that does, or remove platforms.irc.account and platforms.irc.sasl',
  });

/** For the log, where IRC_PASSWORD may have been meant for an account. */
export const UNIDENTIFIED =
  'irc: the server offers no SASL: IRC_PASSWORD was sent as the password of the server, and no account is signed in to; platforms.irc.sasl: false accepts this, required refuses it';
