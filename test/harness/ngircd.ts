/** A real ngircd on a free loopback port, and people with real IRC clients on it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type IrcMessageEvent } from 'irc-framework';
import { requirePackage } from './debianPackage.ts';
import { freePort } from './home.ts';
import { until } from './until.ts';

export interface Ngircd extends AsyncDisposable {
  port: number;
  /** Ends the server with SIGKILL; `start` brings it back on the same port. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server in its tracks: it takes bytes but answers nothing, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** A person in a room. */
  join(nick: string, channel: string): Promise<IrcUser>;
}

export interface IrcUser extends Disposable {
  /** Lines of the channel and private ones, oldest first. */
  readonly lines: IrcMessageEvent[];
  /** Texts that `nick` has said to `target`. */
  said(nick: string, target: string): string[];
  say(target: string, text: string): void;
  client: Client;
}

export interface NgircdOptions {
  password?: string;
}

export async function startNgircd({ password }: NgircdOptions = {}): Promise<Ngircd> {
  const program = await requirePackage('ngircd', '/usr/sbin/ngircd');
  const dir = mkdtempSync(join(tmpdir(), 'ngircd-test-'));
  const port = await freePort();
  const config = join(dir, 'ngircd.conf');
  const lines = [
    '[Global]',
    'Name = irc.test.example',
    'Info = test',
    'Listen = 127.0.0.1',
    `Ports = ${port}`,
    'MotdPhrase = "hello"',
    ...(password ? [`Password = ${password}`] : []),
    '[Limits]',
    'MaxConnectionsIP = 0',
    'MaxNickLength = 20',
    'MaxPenaltyTime = 0',
    '[Options]',
    'DNS = no',
    'Ident = no',
    'PAM = no',
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  let child: ChildProcess | undefined;
  const users = new Set<IrcUser>();

  const server: Ngircd = {
    port,
    async start() {
      child = spawn(program, ['-n', '-f', config], { stdio: 'ignore', detached: true });
      await until('ngircd listens', () => accepts(port));
    },
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      process.kill(-child.pid!, 'SIGKILL');
      await ended;
    },
    freeze: () => void process.kill(-child!.pid!, 'SIGSTOP'),
    thaw: () => void process.kill(-child!.pid!, 'SIGCONT'),
    async join(nick, channel) {
      const user = await enter({ port, nick, channel, ...(password ? { password } : {}) });
      users.add(user);
      return user;
    },
    async [Symbol.asyncDispose]() {
      for (const user of users) user[Symbol.dispose]();
      await server.kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

async function enter({
  port,
  nick,
  channel,
  password,
}: {
  port: number;
  nick: string;
  channel: string;
  password?: string;
}): Promise<IrcUser> {
  const client = new Client();
  const lines: IrcMessageEvent[] = [];
  let joined = false;
  client.on('privmsg', (event) => void lines.push(event));
  client.on('registered', () => client.join(channel));
  client.on('join', (event) => void (joined ||= event.nick === nick && event.channel === channel));
  client.connect({ host: '127.0.0.1', port, nick, username: nick, auto_reconnect: false, ...(password ? { password } : {}) });
  await until(`${nick} is in ${channel}`, () => joined);
  return {
    lines,
    client,
    said: (who, target) => lines.filter((line) => line.nick === who && line.target === target).map((line) => line.message),
    say: (target, text) => client.say(target, text),
    [Symbol.dispose]() {
      client.quit();
      client.connection.transport?.disposeSocket();
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
