/** Interface spec, "What the service does" and what it leaves open: one real service, seen from each surface. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { WebSocket } from 'ws';
import { errorTable } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Job } from '../../ipc/contracts/cron.ts';
import { cli } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { closed } from '../harness/dashboard.ts';
import { freePort } from '../harness/home.ts';
import { until } from '../harness/until.ts';

const TOKEN = 'chosen-by-the-operator-0123456789';
const port = await freePort();
const hookPort = await freePort();
const service = cliService({
  'profiles/work/SOUL.md': 'You work.',
  'config.yaml': `platforms: { webhook: { enabled: true, port: ${hookPort}, routes: { open: { prompt: "say: 2 words", secret: INSECURE_NO_AUTH } } } }\n`,
});
const { home } = service;
t.before(async () => {
  const env = { AGENT_DASHBOARD_SESSION_TOKEN: TOKEN, AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' };
  const up = await cli(['up', '--demo', '--port', String(port)], { home, env });
  t.equal(up.code, 0, up.stderr);
});
t.teardown(() => service[Symbol.asyncDispose]());

interface Asked {
  method?: string;
  body?: object | string;
  token?: string | null;
  headers?: Record<string, string>;
}

const ask = (path: string, { method = 'GET', body, token = TOKEN, headers = {} }: Asked = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { 'X-Agent-Session-Token': token }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });

interface Frame {
  id?: number;
  result?: unknown;
  params?: { type: string; session_id?: string; seq?: number };
}

/** Frames of the gateway WebSocket as they come. */
function socket(): { frames: Frame[]; call(method: string, params: object): void; open: WebSocket } {
  const open = new WebSocket(`ws://127.0.0.1:${port}/api/ws?token=${TOKEN}`);
  const frames: Frame[] = [];
  open.on('message', (data: Buffer) => void frames.push(JSON.parse(data.toString()) as Frame));
  let id = 0;
  return { frames, open, call: (method, params) => open.send(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })) };
}

t.test(
  'svc.4 the web dashboard manages config, env, MCP servers, models, blueprints, platforms and profiles, with a chat and a terminal',
  async (t) => {
    for (const path of [
      '/api/config',
      '/api/env',
      '/api/mcp/servers',
      '/api/model/options',
      '/api/cron/blueprints',
      '/api/messaging/platforms',
      '/api/profiles',
    ])
      t.equal((await ask(path)).status, 200, path);
    for (const path of ['/api/ws', '/api/pty']) {
      const open = new WebSocket(`ws://127.0.0.1:${port}${path}?token=${TOKEN}`);
      await until(`${path} opens`, () => open.readyState === WebSocket.OPEN);
      const over = closed(open);
      open.close();
      await over;
    }
  },
);

t.test('svc.5 the messaging gateway is a daemon that connects chat platforms to the agent', async (t) => {
  const { workers } = await service.status();
  t.match(
    workers.find(({ slot }) => slot === 'gateway'),
    { state: 'ready', pid: Number },
  );
  await until('webhooks are taken', () => fetch(`http://127.0.0.1:${hookPort}/webhooks/none`).catch(() => undefined));
  t.equal((await fetch(`http://127.0.0.1:${hookPort}/webhooks/open`, { method: 'POST', body: '{}' })).status, 202);
  await until('the agent has answered it', async () => {
    const { stdout } = await service.agent('sessions', 'list', '--source', 'webhook', '--hidden', '--json');
    return stdout.includes('"message_count":2');
  });
});

t.test('svc.6 the cron scheduler runs stored jobs and offers parameterised blueprints', async (t) => {
  const made = JSON.parse((await service.agent('cron', 'create', 'every 1s', 'say: 2 words', '--repeat', '1', '--json')).stdout) as Job;
  await until('it has run by itself', async () => {
    const { stdout } = await service.agent('cron', 'runs', made.id, '--json');
    // A machine that stood still for a moment makes it late, or one to catch up with.
    if (/"trigger":"(?:on_time|late|catch_up)","status":"ok"/.test(stdout)) return true;
    throw new Error(stdout);
  });
  const { blueprints } = JSON.parse((await service.agent('cron', 'blueprints', '--json')).stdout) as {
    blueprints: { key: string; fields: object[] }[];
  };
  t.ok(blueprints.length >= 10);
  t.ok(blueprints.every(({ key, fields }) => key !== '' && fields.length > 0));
});

t.test('other.2 a blueprint has a key, typed slots with defaults and a prompt; filling checks the slots and makes one job', async (t) => {
  const jobs = async () => JSON.parse((await service.agent('cron', 'list', '--json')).stdout) as { jobs: Job[] };
  const before = (await jobs()).jobs.length;
  const { blueprints } = (await (await ask('/api/cron/blueprints')).json()) as {
    blueprints: { key: string; fields: { name: string; type: string; default: unknown }[] }[];
  };
  const briefing = blueprints.find(({ key }) => key === 'morning-briefing')!;
  t.match(
    briefing.fields.find(({ name }) => name === 'time'),
    { type: 'time', default: /^\d\d:\d\d$/ },
  );
  const fill = (path: string, values: object) => ask(path, { method: 'POST', body: { blueprint: 'morning-briefing', values } });
  const refused = await fill('/api/cron/blueprints/instantiate', { time: '25:00' });
  t.equal(refused.status, 422);
  t.match(await refused.json(), { errors: [{ path: 'values.time' }] });
  t.equal((await fill('/api/cron/blueprints/preview', { time: '07:30' })).status, 200);
  t.equal((await jobs()).jobs.length, before, 'nothing is scheduled without an explicit submit');
  t.equal((await fill('/api/cron/blueprints/instantiate', { time: '07:30' })).status, 201);
  const { jobs: after } = await jobs();
  t.equal(after.length, before + 1);
  t.match(after.at(-1), { schedule: { expr: /^30 7 / }, prompt: String });
});

t.test('api.1 every path has the base of the service before it, and every body is described by its own document', async (t) => {
  const document = (await (await ask('/api/openapi.json')).json()) as { paths: Record<string, object> };
  const paths = Object.keys(document.paths);
  t.ok(paths.length > 80);
  t.ok(
    paths.every((path) => /^\/(?:api|auth|login|metrics)/.test(path)),
    paths.join(),
  );
});

t.test('err.1 an error is problem+json with type, title, status, detail and a code of the list', async (t) => {
  for (const [path, asked, status] of [
    ['/api/config', { token: null }, 401],
    ['/api/nothing', {}, 404],
    ['/api/config?profile=nope', {}, 404],
    ['/api/config', { method: 'PUT', body: '{' }, 400],
    ['/api/cron/jobs', { method: 'POST', body: { schedule: 5 } }, 422],
    ['/api/cron/jobs', { method: 'POST', body: { schedule: 'x'.repeat(limits.dashboard.bodyMaxBytes) } }, 413],
    ['/api/config', { headers: { origin: 'http://elsewhere.example' } }, 403],
  ] as const) {
    const answer = await ask(path, asked);
    t.equal(answer.status, status, path);
    t.match(answer.headers.get('content-type'), /^application\/problem\+json/);
    const body = (await answer.json()) as { code: string };
    t.match(body, { type: String, title: String, status, detail: String, code: String });
    t.ok(body.code in errorTable, body.code);
  }
});

t.test('lim.12 a message has at most 16 MiB, a body 1 MiB; a larger one is refused, and the service goes on', async (t) => {
  const { open, frames } = socket();
  await until('it is ready', () => frames.length > 0);
  const over = closed(open);
  open.send('x'.repeat(17 * 1024 * 1024));
  t.ok([1009, 1006].includes((await over).code));
  t.equal((await ask('/api/status')).status, 200);
});

t.test('env.7 AGENT_DASHBOARD_SESSION_TOKEN pins the token, over restarts too', async (t) => {
  t.equal((await ask('/api/profiles')).status, 200);
  t.equal((await service.agent('restart', 'dashboard')).code, 0);
  t.equal((await ask('/api/profiles')).status, 200);
  t.equal((await ask('/api/profiles', { token: 'another' })).status, 401);
});

t.test('auth.14 a pinned token is taken as it is, and it stands in no log and in no file that others may read', async (t) => {
  for (const name of ['gui', 'supervisor', 'errors']) {
    const path = join(home.root, 'logs', `${name}.log`);
    if (existsSync(path)) t.notMatch(readFileSync(path, 'utf8'), TOKEN, name);
  }
  t.notMatch(JSON.stringify(await service.status()), TOKEN);
});

t.test('ev.1 clients receive the events of the gateway: ready first, then each with session and sequence', async (t) => {
  const { open, frames, call } = socket();
  await until('it is ready', () => frames.length > 0);
  t.match(frames[0], { jsonrpc: '2.0', method: 'event', params: { type: 'gateway.ready', payload: { protocol: Number, epoch: String } } });
  call('session.create', {});
  const { result } = await until('a session', () => frames.find((frame) => frame.id === 1));
  const { session_id } = result as { session_id: string };
  call('prompt.submit', { session_id, text: 'say: 2 words' });
  await until('the turn is over', () => frames.some((frame) => frame.params?.type === 'message.complete'));
  const sequence = frames.flatMap((frame) => (frame.params?.session_id === session_id ? [frame.params.seq as number] : []));
  t.strictSame(
    sequence,
    sequence.map((_, n) => sequence[0]! + n),
    'none is left out',
  );
  const over = closed(open);
  open.close();
  await over;
});

t.test('env.5 AGENT_SAFE_MODE is the same as --safe-mode', async (t) => {
  const safe = async (args: string[], env: Record<string, string>) => {
    const { stdout } = await cli(['chat', '-q', 'say: 1 word', '--json', ...args], { home, env });
    const { session_id } = JSON.parse(stdout) as { session_id: string };
    const { open, frames, call } = socket();
    await until('it is ready', () => frames.length > 0);
    call('session.resume', { session_id });
    const { result } = await until('the conversation', () => frames.find((frame) => frame.id === 1));
    const over = closed(open);
    open.close();
    await over;
    return (result as { info: { safe_mode: boolean } }).info.safe_mode;
  };
  t.same([await safe([], {}), await safe(['--safe-mode'], {}), await safe([], { AGENT_SAFE_MODE: '1' })], [false, true, true]);
});

t.test('err.17 send --file with a binary file is a usage error that explains text bodies and the MEDIA directive', async (t) => {
  const path = join(home.root, 'binary.dat');
  home.write('binary.dat', '\0\u0001');
  const refused = await service.agent('send', '--to', 'irc', '--file', path);
  t.match(refused, {
    code: 2,
    stdout: '',
    stderr: `agent: ${path} is not text, and --file takes text bodies only — send it as a file with the directive MEDIA:${path}`,
  });
});
