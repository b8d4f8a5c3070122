/**
 * `.env` of a profile: where secrets stand. Read by the worker that needs one, one name at a time;
 * never copied into process.env, so no child inherits it.
 */
import { parseEnv } from 'node:util';
import { readRegularText, unreadableWhy } from '../base/regularFile.ts';
import { AgentError, errnoOf } from '../base/errors.ts';
import { SECRET_NAME } from '../base/redact.ts';

export interface Secrets {
  /** The process environment first, then `.env`; undefined when neither has a non-empty value. */
  get(name: string): string | undefined;
  /** Names set in `.env`. */
  names(): string[];
  /** Values that must not be seen, for the redactor: of secret names, and what looks random in `.env`. */
  values(): string[];
}

/** Errors: HOME_UNUSABLE when the file exists and cannot be read. */
export function readSecrets(path: string, env: NodeJS.ProcessEnv = process.env): Secrets {
  const file = readEnvFile(path);
  return {
    get: (name) => env[name] || file[name] || undefined,
    names: () => Object.keys(file),
    values: () => [
      ...Object.entries(file).flatMap(([name, value]) => (value && looksSecret(name, value) ? [value] : [])),
      // Much of what looks random there is not secret.
      ...Object.entries(env).flatMap(([name, value]) => (value && SECRET_NAME.test(name) ? [value] : [])),
    ],
  };
}

/** Replaces `${NAME}` and `${env:NAME}`; a name that is not set keeps its placeholder. */
export function interpolate(text: string, secrets: Pick<Secrets, 'get'>): string {
  return text.replace(/\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, name: string) => secrets.get(name) ?? whole);
}

/** `HOST=localhost` stands in `.env` too; hiding that word everywhere would make logs useless. */
export const looksSecret = (name: string, value: string): boolean =>
  SECRET_NAME.test(name) || (/^(?=.*\d)(?=.*[A-Za-z])[^\s/]{12,}$/.test(value) && !/\.[a-z]{2,}(:\d+)?$/i.test(value));

function readEnvFile(path: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readRegularText(path));
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return {};
    throw new AgentError('HOME_UNUSABLE', `cannot read ${path} (${unreadableWhy(cause)})`, {
      cause,
      fix: `chmod 600 ${path} and own it`,
    });
  }
}
