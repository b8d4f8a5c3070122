/** The part of irc-framework 4.14 (which ships no types) that this product and its tests use. */
declare module 'irc-framework' {
  import type { EventEmitter } from 'node:events';
  import type NetTransport from 'irc-framework/src/transports/net.js';

  export interface IrcOptions {
    host: string;
    port: number;
    nick: string;
    username?: string;
    gecos?: string;
    password?: string;
    tls?: boolean;
    rejectUnauthorized?: boolean;
    /** Of IrcTransport. */
    ca?: Buffer;
    /** Of IrcTransport. */
    fingerprint?: string;
    account?: { account?: string; password?: string };
    transport?: new (options: IrcOptions) => NetTransport;
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
    readonly network: { cap: { isEnabled(name: string): boolean } };
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

declare module 'irc-framework/src/transports/net.js' {
  import type { EventEmitter } from 'node:events';
  import type { Socket } from 'node:net';
  import type { IrcOptions } from 'irc-framework';

  export default class NetTransport extends EventEmitter {
    constructor(options: IrcOptions);
    readonly options: IrcOptions;
    socket: Socket | null;
    state: number;
    incoming_buffer: Buffer;
    connect(): void;
    disposeSocket(): void;
    onSocketFullyConnected(): void;
    _onSocketCreate(options: IrcOptions, socket: Socket): void;
  }
}
