/**
 * IRC (irc-framework): rooms and direct messages on one server. Its settings, what counts as a message
 * for us, and how a text becomes lines; the wire is ircConnection.ts. NOTICEs are never answered, as
 * the protocol asks of programs.
 */
import { readFileSync } from 'node:fs';
import type { IrcMessageEvent } from 'irc-framework';
import { AgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { sleep } from '../../../base/time.ts';
import { checked } from '../../../ipc/link.ts';
import { IrcSettings } from '../../../state/config/platformSettings.ts';
import { SendError, type Adapter, type AdapterHost } from '../adapter.ts';
import { splitMessage, utf8Bytes } from '../messageText.ts';
import { IrcConnection } from './ircConnection.ts';
import { loginOf, UNIDENTIFIED, type IrcLogin } from './ircLogin.ts';

/** RFC 1459: a line as the server passes it on, with the sender's mask and the line end. */
const LINE_MAX_BYTES = 512;
/** `:nick!user@host ` at its longest: 30 + 11 + 63 and the signs between. */
const MASK_MAX_BYTES = 108;
/** Room kept for the mark of a resend. */
const MARK_MAX_BYTES = 24;
/** Lines of a text that is cut, before the one that says so. */
const SHOWN_MAX = limits.gateway.ircLinesMax - 1;

export const createIrcAdapter = (host: AdapterHost): Adapter => new IrcAdapter(host);

class IrcAdapter implements Adapter {
  readonly #host: AdapterHost;
  #settings!: IrcSettings;
  #login!: IrcLogin;
  #connection: IrcConnection | undefined;
  /** Who said the last line for us in each room we are in. */
  readonly #addressing = new Map<string, { nick: string; at: number }>();

  constructor(host: AdapterHost) {
    this.#host = host;
  }

  provision({ settings, secrets }: Parameters<Adapter['provision']>[0]): void {
    this.#settings = checked(IrcSettings, settings, 'CONFIG_INVALID', 'platforms.irc');
    this.#login = loginOf(this.#settings, secrets);
  }

  validate(): void {
    const wrong = this.#settings.channels.find((channel) => !/^[#&+!][^\s,\0\x07:]{1,199}(?: [^\s,\0:][^\s,\0]*)?$/.test(channel));
    if (wrong !== undefined)
      throw new AgentError('CONFIG_INVALID', `platforms.irc.channels: "${wrong.split(' ')[0]}" is not a channel`, {
        fix: 'write names like "#room" or "#room key", in quotes',
      });
  }

  async connect(signal: AbortSignal): Promise<IrcConnection> {
    const { host, port, tls, tls_verify, tls_ca, tls_fingerprint, nick, realname, channels } = this.#settings;
    this.#connection?.close();
    const connection = new IrcConnection({
      options: {
        host,
        port: port ?? (tls ? 6697 : 6667),
        tls,
        rejectUnauthorized: tls_verify,
        ...(tls_ca === undefined ? {} : { ca: readAuthority(tls_ca) }),
        ...(tls_fingerprint === undefined ? {} : { fingerprint: tls_fingerprint }),
        nick,
        username: nick.slice(0, 10),
        gecos: realname ?? nick,
      },
      login: this.#login,
      channels,
      onUnidentified: () => this.#host.log.warn(UNIDENTIFIED),
      onMessage: (event, kind) => this.#receive(event, kind),
      onJoined: () => this.#host.readinessChanged(),
      onRefused: (channel, why) => void this.#enterLater(connection, channel, why, signal),
    });
    this.#connection = connection;
    await connection.open(signal);
    return connection;
  }

  /** A room we are in; a room we could enter, or a person: whenever we are connected. */
  isReady(chat: string): boolean {
    const connection = this.#connection;
    if (!connection?.isOpen) return false;
    return connection.isJoined(chat) || !this.#settings.channels.some((channel) => channel.split(' ')[0]!.toLowerCase() === chat);
  }

  split(chat: string, text: string): string[] {
    const lines = this.#lines(chat, text);
    const left = lines.length - SHOWN_MAX;
    return left <= 1 ? lines : [...lines.slice(0, SHOWN_MAX), `… (${left} more lines: /more)`];
  }

  rest(chat: string, text: string): string {
    const left = this.#lines(chat, text).slice(SHOWN_MAX);
    return left.length <= 1 ? '' : left.join('\n');
  }

  #lines(chat: string, text: string): string[] {
    const room = LINE_MAX_BYTES - 2 - MASK_MAX_BYTES - MARK_MAX_BYTES - utf8Bytes(`PRIVMSG ${chat} :`);
    return (
      text
        .split(/\r\n|\r|\n/)
        // A line cannot be empty, and a fence says nothing where every line stands alone.
        .filter((line) => line.trim() !== '' && !/^\s*```\w*\s*$/.test(line))
        .flatMap((line) => splitMessage(line.replaceAll('\0', ''), { max: room, size: utf8Bytes }))
    );
  }

  async send(chat: string, part: string, signal: AbortSignal): Promise<void> {
    const connection = this.#connection;
    if (!connection?.isOpen) throw new SendError('transient', 'not connected');
    if (/^[#&+!]/.test(chat)) await connection.join(chat, signal);
    await connection.send(chat, part, signal);
  }

  async cleanup(): Promise<void> {
    this.#connection?.close();
    this.#connection = undefined;
  }

  #receive({ nick, ident, hostname, target, message, tags, time, account }: IrcMessageEvent, kind: 'privmsg' | 'action'): void {
    const isRoom = /^[#&+!]/.test(target);
    const text = isRoom ? (this.#addressed(message) ?? this.#continued(target, nick, message)) : message.trim();
    if (text === undefined || text === '') return;
    if (isRoom) this.#addressing.set(target.toLowerCase(), { nick, at: performance.now() });
    this.#host.keep({
      chat: (isRoom ? target : nick).toLowerCase(),
      chatType: isRoom ? 'group' : 'dm',
      user: nick,
      identities: [nick, `${nick}!${ident}@${hostname}`, ...(account ? [account] : [])],
      text: kind === 'action' ? `* ${nick} ${text}` : text,
      messageId: tags.msgid ?? null,
      at: time ?? Date.now(),
    });
  }

  /** The text without our name in front; undefined when we have to be named and are not. */
  #addressed(message: string): string | undefined {
    const nick = RegExp.escape(this.#connection?.nick ?? this.#settings.nick);
    const leading = new RegExp(`^@?${nick}\\s*[:,]?\\s+|^@?${nick}[:,]`, 'i').exec(message);
    if (leading) return message.slice(leading[0].length).trim();
    const named = new RegExp(`(?<![\\w-])@?${nick}(?![\\w-])`, 'i').test(message);
    return !this.#settings.require_mention || named ? message.trim() : undefined;
  }

  /** A line at once after one that named us, of the same person: the client cut it, or it was pasted with it. */
  #continued(room: string, nick: string, message: string): string | undefined {
    const last = this.#addressing.get(room.toLowerCase());
    return last?.nick === nick && performance.now() - last.at < this.#settings.gather_ms ? message.trim() : undefined;
  }

  /** Kicked or not let in: try again at a polite pace as long as this connection lives. */
  async #enterLater(connection: IrcConnection, channel: string, why: string, signal: AbortSignal): Promise<void> {
    this.#host.log.warn(`irc: cannot be in ${channel}: ${why}; trying again`);
    for (let pauseMs = limits.gateway.reconnectMinMs * 5; ; pauseMs = Math.min(pauseMs * 2, limits.gateway.reconnectMaxMs)) {
      await Promise.race([sleep(pauseMs, signal).catch(() => {}), connection.closed]);
      if (signal.aborted || !connection.isOpen || connection.isJoined(channel)) return;
      const entered = await connection.join(channel, signal).then(
        () => true,
        () => false,
      );
      if (entered) return;
    }
  }
}

/** Errors: CONFIG_INVALID. */
function readAuthority(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new AgentError('CONFIG_INVALID', `platforms.irc.tls_ca cannot be read: ${messageOf(cause)}`, {
      cause,
      fix: 'set it to a PEM file that this user can read',
    });
  }
}
