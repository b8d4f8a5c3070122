/** The part of irc-framework 4.14 (which ships no types) that this product and its tests use. */
declare module 'irc-framework' {
  import type { EventEmitter } from 'node:events';

  export interface IrcOptions {
    host: string;
    port: number;
    nick: string;
    username?: string;
    gecos?: string;
    password?: string;
    tls?: boolean;
    rejectUnauthorized?: boolean;
    auto_reconnect?: boolean;
    /** Seconds. */
    ping_interval?: number;
    /** Seconds. */
    ping_timeout?: number;
    /** Answer to CTCP VERSION; empty = none. */
    version?: string;
    enable_echomessage?: boolean;
  }

  export interface IrcMessageEvent {
    nick: string;
    ident: string;
    hostname: string;
    target: string;
    message: string;
    tags: Record<string, string>;
    time?: number;
    account?: string;
    from_server: boolean;
  }

  export interface IrcEvents {
    registered: [{ nick: string }];
    privmsg: [IrcMessageEvent];
    action: [IrcMessageEvent];
    notice: [IrcMessageEvent];
    join: [{ nick: string; channel: string }];
    part: [{ nick: string; channel: string }];
    kick: [{ kicked: string; nick: string; channel: string; message: string }];
    quit: [{ nick: string }];
    nick: [{ nick: string; new_nick: string }];
    pong: [{ message: string }];
    'nick in use': [{ nick: string; reason: string }];
    'nick invalid': [{ nick: string; reason: string }];
    'irc error': [{ error: string; channel?: string; nick?: string; reason?: string }];
    'sasl failed': [{ reason: string; message?: string }];
    'socket close': [unknown];
    'ping timeout': [];
  }

  export class Client extends EventEmitter<IrcEvents> {
    constructor(options?: IrcOptions);
    readonly user: { nick: string };
    readonly connected: boolean;
    readonly connection: { end(data?: string, hadError?: boolean): void; transport: { disposeSocket(): void } | null };
    connect(options?: IrcOptions): void;
    raw(...words: string[]): void;
    say(target: string, message: string): void;
    join(channel: string, key?: string): void;
    part(channel: string): void;
    changeNick(nick: string): void;
    quit(message?: string): void;
  }
}
