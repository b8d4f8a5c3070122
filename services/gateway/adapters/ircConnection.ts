/**
 * One connection to an IRC server: registration with another nick when ours is taken, channels, and
 * lines that are confirmed by a PING the server answers after it has taken them. Dies once; the
 * gateway makes the next one.
 */
import { Client, type IrcMessageEvent, type IrcOptions } from 'irc-framework';
import { AgentError } from '../../../base/errors.ts';
import { hexId } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';
import { sleep, within } from '../../../base/time.ts';
import { SendError } from '../adapter.ts';
import { noSasl, wrongAccount, type IrcLogin } from './ircLogin.ts';
import { certificateError, IrcTransport } from './ircTransport.ts';

export interface IrcParts {
  options: Pick<IrcOptions, 'host' | 'port' | 'nick' | 'username' | 'gecos' | 'tls' | 'rejectUnauthorized' | 'ca' | 'fingerprint'>;
  login: IrcLogin;
  /** Each with its key behind a space, where it has one. */
  channels: string[];
  onMessage(message: IrcMessageEvent, kind: 'privmsg' | 'action'): void;
  onJoined(channel: string): void;
  /** A channel could not be entered; it is tried again. */
  onRefused(channel: string, why: string): void;
  /** The server offers no SASL to a password that may be that of an account. */
  onUnidentified(): void;
}

/** Nicks tried before the last, which has random letters. */
const NICK_TRIES_MAX = 3;
/** Answers to a JOIN that no repetition of it would change within one message's patience. */
const REFUSALS = new Set([
  'invite_only_channel',
  'banned_from_channel',
  'bad_channel_key',
  'channel_is_full',
  'too_many_channels',
  'no_such_channel',
]);

export class IrcConnection {
  /** Settles when the connection is over. Never rejects. */
  readonly closed: Promise<Error>;
  readonly #parts: IrcParts;
  readonly #client: Client;
  readonly #joined = new Set<string>();
  readonly #ended = Promise.withResolvers<Error>();
  readonly #life = new AbortController();
  #isOpen = false;
  #turn: Promise<unknown> = Promise.resolve();
  #pace = { tokens: limits.gateway.ircBurstLines as number, at: performance.now() };

  constructor(parts: IrcParts) {
    this.#parts = parts;
    this.closed = this.#ended.promise;
    this.#client = new Client();
  }

  get nick(): string {
    return this.#client.user.nick;
  }

  isJoined(channel: string): boolean {
    return this.#isOpen && this.#joined.has(channel.toLowerCase());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Registers, then enters the channels. Errors: CONFIG_INVALID, PLATFORM_DOWN. */
  async open(signal: AbortSignal): Promise<void> {
    const { options, login, channels, onRefused } = this.#parts;
    const registered = this.#register();
    this.#client.connect({
      ...options,
      ...(login.password === undefined ? {} : { password: login.password }),
      // An empty one: the password of the server is not offered as that of an account.
      account: login.account ?? {},
      transport: IrcTransport,
      auto_reconnect: false,
      ping_interval: 30,
      ping_timeout: 90,
      version: '',
    });
    try {
      await within(registered, { ms: limits.gateway.connectMs, signal, what: `the welcome of ${options.host}:${options.port}` });
    } catch (thrown) {
      this.close();
      throw thrown;
    }
    this.#isOpen = true;
    this.#listen();
    const names = channels.map((channel) => channel.split(' ')[0]!);
    await Promise.all(names.map((channel) => this.join(channel, signal).catch((thrown: Error) => onRefused(channel, thrown.message))));
  }

  /** Enters a channel, or answers at once when we are in it. Errors: SendError permanent (refused) or transient. */
  async join(channel: string, signal: AbortSignal): Promise<void> {
    if (this.isJoined(channel)) return;
    const name = channel.toLowerCase();
    const entered = Promise.withResolvers<void>();
    const onJoin = (event: { nick: string; channel: string }) => {
      if (event.channel.toLowerCase() === name && this.#isMe(event.nick)) entered.resolve();
    };
    const onError = ({ error, channel: refused, reason }: { error: string; channel?: string; reason?: string }) => {
      if (refused?.toLowerCase() === name && REFUSALS.has(error))
        entered.reject(new SendError('permanent', `${channel}: ${reason ?? error}`));
    };
    this.#client.on('join', onJoin);
    this.#client.on('irc error', onError);
    try {
      const key = this.#parts.channels.find((one) => one.split(' ')[0]!.toLowerCase() === name)?.split(' ')[1];
      this.#client.raw('JOIN', channel, ...(key ? [key] : []));
      await within(Promise.race([entered.promise, this.#gone()]), { ms: limits.gateway.joinMs, signal, what: `entering ${channel}` });
    } catch (thrown) {
      throw thrown instanceof SendError ? thrown : new SendError('transient', (thrown as Error).message, { cause: thrown });
    } finally {
      this.#client.off('join', onJoin);
      this.#client.off('irc error', onError);
    }
  }

  /** Sends one line and answers when the server has taken it. One at a time, no faster than servers bear. Errors: SendError. */
  send(target: string, text: string, signal: AbortSignal): Promise<void> {
    const sent = this.#turn.then(() => this.#sendLine(target, text, signal));
    this.#turn = sent.catch(() => {});
    return sent;
  }

  close(): void {
    this.#isOpen = false;
    const dispose = () => this.#client.connection.transport?.disposeSocket();
    // The goodbye leaves with the socket's own buffer; nobody waits for the server's.
    if (this.#client.connected) {
      this.#client.quit('leaving');
      setTimeout(dispose, 100).unref();
    } else {
      dispose();
    }
    this.#over(new AgentError('PLATFORM_DOWN', 'the connection was closed by us'));
  }

  #register(): Promise<void> {
    const { options } = this.#parts;
    const registered = Promise.withResolvers<void>();
    let tries = 0;
    const randomNick = () => `${options.nick.slice(0, 4)}${hexId(4)}`;
    this.#identify(registered);
    this.#client.on('nick in use', ({ nick }) => {
      if (this.#isOpen) return;
      tries++;
      this.#client.changeNick(tries < NICK_TRIES_MAX ? `${nick}_` : randomNick());
    });
    this.#client.on('nick invalid', ({ nick, reason }) => {
      // One of our own alternatives was too long for this server.
      if (nick !== options.nick && tries++ <= NICK_TRIES_MAX) return this.#client.changeNick(randomNick());
      registered.reject(
        new AgentError('CONFIG_INVALID', `the server refuses the nick "${nick}": ${reason}`, {
          fix: 'set platforms.irc.nick to another one',
        }),
      );
    });
    this.#client.on('irc error', ({ error, reason }) => {
      const badPassword = error === 'password_mismatch' || (error === 'irc' && /password/i.test(reason ?? ''));
      if (this.#isOpen) return;
      if (badPassword)
        registered.reject(
          new AgentError('CONFIG_INVALID', `the server refuses the password: ${reason ?? error}`, { fix: 'correct IRC_PASSWORD in .env' }),
        );
      else if (error === 'irc') registered.reject(new AgentError('PLATFORM_DOWN', `the server refuses us: ${reason}`));
    });
    this.#client.on('socket close', (cause) => {
      const why = cause instanceof Error ? cause.message : 'the server closed the connection';
      const error =
        certificateError(options.host, cause) ?? new AgentError('PLATFORM_DOWN', `${options.host}:${options.port}: ${why}`, { cause });
      registered.reject(error);
      this.#over(error);
    });
    return registered.promise;
  }

  /** Settles with the welcome, and with whether the account was signed in to. */
  #identify(registered: PromiseWithResolvers<void>): void {
    const { login, onUnidentified } = this.#parts;
    const { account, isRequired } = login;
    let refused = false;
    this.#client.on('sasl failed', ({ reason, message }) => {
      refused = true;
      if (account && reason !== 'capability_missing' && reason !== 'unsupported_mechanism')
        registered.reject(wrongAccount(account, message ?? reason));
    });
    this.#client.on('registered', () => {
      const isIdentified = this.#client.network.cap.isEnabled('sasl') && !refused;
      if (account && !isIdentified) {
        if (isRequired) return registered.reject(noSasl());
        onUnidentified();
      }
      registered.resolve();
    });
  }

  #listen(): void {
    const { options, onMessage, onJoined, onRefused } = this.#parts;
    const client = this.#client;
    client.on('privmsg', (event) => void (this.#isMe(event.nick) || event.from_server || onMessage(event, 'privmsg')));
    client.on('action', (event) => void (this.#isMe(event.nick) || event.from_server || onMessage(event, 'action')));
    client.on('join', ({ nick, channel }) => {
      if (!this.#isMe(nick)) return;
      this.#joined.add(channel.toLowerCase());
      onJoined(channel.toLowerCase());
    });
    client.on('part', ({ nick, channel }) => void (this.#isMe(nick) && this.#joined.delete(channel.toLowerCase())));
    client.on('kick', ({ kicked, channel, nick, message }) => {
      if (!this.#isMe(kicked)) return;
      this.#joined.delete(channel.toLowerCase());
      onRefused(channel.toLowerCase(), `${nick} put us out: ${message}`);
    });
    // Whoever had our name has left it: take it back.
    const free = (nick: string) => void (nick === options.nick && !this.#isMe(nick) && client.changeNick(options.nick));
    client.on('quit', ({ nick }) => free(nick));
    client.on('nick', ({ nick }) => free(nick));
  }

  async #sendLine(target: string, text: string, signal: AbortSignal): Promise<void> {
    await this.#waitForRoom(signal);
    if (!this.#isOpen) throw new SendError('transient', 'the connection was lost before the line was written');
    const token = `c${hexId(12)}`;
    const confirmed = Promise.withResolvers<void>();
    const onPong = ({ message }: { message: string }) => void (message === token && confirmed.resolve());
    const onError = ({ error, channel, nick, reason }: { error: string; channel?: string; nick?: string; reason?: string }) => {
      const about = (channel ?? nick)?.toLowerCase() === target.toLowerCase();
      const refusal = error === 'cannot_send_to_channel' || error === 'no_such_nick' || error === 'cannot_send_to_user';
      if (about && refusal) confirmed.reject(new SendError('permanent', `${target}: ${reason ?? error}`));
    };
    this.#client.on('pong', onPong);
    this.#client.on('irc error', onError);
    try {
      this.#client.raw(`PRIVMSG ${target} :${text}`);
      this.#client.raw(`PING :${token}`);
      await within(Promise.race([confirmed.promise, this.#gone()]), {
        ms: limits.gateway.confirmMs,
        signal,
        what: `the server's word for a line to ${target}`,
      });
    } catch (thrown) {
      if (thrown instanceof SendError && thrown.kind === 'permanent') throw thrown;
      throw new SendError('uncertain', (thrown as Error).message, { cause: thrown });
    } finally {
      this.#client.off('pong', onPong);
      this.#client.off('irc error', onError);
    }
  }

  /** Token bucket: a burst, then one line per pause. */
  async #waitForRoom(signal: AbortSignal): Promise<void> {
    const { ircBurstLines, ircLineMs } = limits.gateway;
    const nowMs = performance.now();
    this.#pace.tokens = Math.min(ircBurstLines, this.#pace.tokens + (nowMs - this.#pace.at) / ircLineMs);
    this.#pace.at = nowMs;
    this.#pace.tokens -= 1;
    if (this.#pace.tokens >= 0) return;
    const both = AbortSignal.any([signal, this.#life.signal]);
    await sleep(-this.#pace.tokens * ircLineMs, both).catch((cause: unknown) => {
      throw new SendError('transient', 'the line was not written', { cause });
    });
  }

  /** Rejects when the connection ends. */
  #gone(): Promise<never> {
    return this.closed.then((why) => Promise.reject(why));
  }

  #isMe(nick: string): boolean {
    return nick.toLowerCase() === this.#client.user.nick.toLowerCase();
  }

  #over(why: Error): void {
    this.#isOpen = false;
    this.#life.abort();
    this.#ended.resolve(why);
  }
}
