/** `agent doctor` on homes with something wrong: it names it, gives the fix, repairs what is safe, and touches nothing else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { identityOf } from '../../state/processIdentity.ts';
import { cli } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { requirePackage } from '../harness/debianPackage.ts';
import { freePort, testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';

interface Row {
  id: string;
  status: 'ok' | 'warn' | 'fail' | 'skip';
  what: string;
  detail: string;
  fix: string | null;
  fixable: boolean;
  fixed: string | null;
}

async function doctor(home: TestHome, ...args: string[]): Promise<{ code: number | null; rows: Row[]; row(id: string): Row | undefined }> {
  const { code, stdout, stderr } = await cli(['doctor', '--json', ...args], { home });
  if (stderr) throw new Error(stderr);
  const rows = (JSON.parse(stdout) as { checks: Row[] }).checks;
  return { code, rows, row: (id) => rows.find((row) => row.id === id) };
}

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** Somebody's own service may hold the usual port. */
const ownPort = async () => ({ 'config.yaml': `dashboard: { port: ${await freePort()} }\n` });

t.test('a service in health: nothing fails, every row says what it saw, and each problem has a fix', async (t) => {
  const port = await freePort();
  await using service = cliService({ 'config.yaml': `dashboard: { port: ${port} }\n` });
  t.match(await service.agent('up', '--demo'), { code: 0 });
  const { code, rows, row } = await doctor(service.home);
  t.equal(code, 0);
  t.same(
    rows.filter(({ status }) => status === 'fail'),
    [],
  );
  for (const id of [
    'node',
    'native:better-sqlite3',
    'native:node-pty',
    'code',
    'home',
    'filesystem',
    'supervisor',
    'slots',
    'sockets',
    'orphans',
    'config',
    'port',
    'clock',
  ])
    t.match(row(id), { status: 'ok' }, id);
  for (const { id, detail, fix, status } of rows) t.ok(detail && (fix !== null || status === 'ok' || status === 'skip'), id);

  await t.test('a frozen supervisor is told from a dead one', async (t) => {
    const { supervisor } = await service.status();
    process.kill(supervisor.pid, 'SIGSTOP');
    t.match(await doctor(service.home).then((found) => found.row('supervisor')), {
      status: 'fail',
      detail: /stopped/,
      fix: `kill -CONT ${supervisor.pid}`,
    });
    process.kill(supervisor.pid, 'SIGCONT');
  });

  await t.test('workers whose supervisor was killed are named', async (t) => {
    const { supervisor, workers } = await service.status();
    process.kill(supervisor.pid, 'SIGKILL');
    await until('it is gone', async () => (await service.agent('status')).code === 3);
    const found = await doctor(service.home);
    t.match(found.row('supervisor'), { status: 'warn', fix: 'agent up' });
    for (const { pid } of workers.filter((worker) => worker.pid !== null)) t.match(found.row('orphans')?.detail, `process ${pid}`);
  });
});

t.test('it looks and changes nothing, also on a home that is not there', async (t) => {
  using home = testHome(await ownPort());
  const before = readdirSync(home.root, { recursive: true, encoding: 'utf8' }).toSorted();
  t.equal((await doctor(home)).code, 0);
  t.same(readdirSync(home.root, { recursive: true, encoding: 'utf8' }).toSorted(), before);
  const absent = { ...home, root: join(home.root, 'absent') };
  t.match((await cli(['doctor'], { home: absent })).stdout, /does not exist yet/);
  t.notOk(existsSync(absent.root));
});

t.test('a file in the place of profiles/ is named with what to do, and a start refuses it in the same words', async (t) => {
  using home = testHome({ profiles: 'not a directory' });
  const said = { status: 'fail', detail: `cannot use ${home.root}/profiles: it is not a directory`, fix: /^move it away: mv / };
  const { code, row } = await doctor(home);
  t.equal(code, 1);
  t.match(row('profiles'), said);
  t.match(row('config'), { status: 'ok' }, 'the rest is looked at all the same');
  for (const args of [['up'], ['profile', 'list'], ['up', '--foreground']]) {
    const refused = await cli([...args, '--json'], { home });
    t.notMatch({ code: refused.code }, { code: 0 }, args.join(' '));
    t.match(refused.stderr + refused.stdout, /profiles: it is not a directory[^]*move it away: mv /, args.join(' '));
    t.notMatch(refused.stderr, /ENOTDIR|\n +at /, args.join(' '));
  }
});

t.test('damaged settings are reported without a running service', async (t) => {
  using home = testHome({ ...(await ownPort()), '.env': 'GOOD=1\ndamaged line\n', 'webhook_subscriptions.json': '{broken' });
  const { code, row } = await doctor(home);
  t.equal(code, 1);
  t.match(row('env'), { status: 'warn', detail: `${home.env}:2:`, fix: /agent env set/ });
  t.match(row('webhooks'), { status: 'fail', detail: /webhook_subscriptions\.json cannot be read/, fix: /subscribe again/ });
});

t.test('what others may read is closed by --fix, and only then', async (t) => {
  using home = testHome({ ...(await ownPort()), '.env': 'OPENAI_API_KEY=sk-none\n', 'auth.json': '{}' });
  chmodSync(home.root, 0o755);
  chmodSync(home.env, 0o644);
  const found = await doctor(home);
  t.equal(found.code, 1);
  t.match(found.row('home'), { status: 'fail', detail: /0755/, fixable: true });
  t.match(found.row('secrets'), { status: 'fail', detail: home.env, fix: `chmod 600 ${home.env}` });
  t.equal(modeOf(home.root), '755');
  const fixed = await doctor(home, '--fix');
  t.equal(fixed.code, 0);
  t.match(fixed.row('home'), { status: 'ok', fixed: /chmod 700/ });
  t.same([modeOf(home.root), modeOf(home.env)], ['700', '600']);
});

t.test('lesson 26: a lock of a dead process is cleared by proof; of a living one the very owner is named', async (t) => {
  using home = testHome();
  const dead = spawn(process.execPath, ['-e', '0']);
  const record = { ...identityOf(dead.pid!), nonce: 'a', holder: 'the supervisor', taken_at: '2026-01-01T00:00:00.000Z' };
  await once(dead, 'exit');
  const living = join(home.root, 'config.yaml.lock');
  writeFileSync(home.run.supervisorLock, JSON.stringify(record));
  writeFileSync(
    living,
    JSON.stringify({ ...identityOf(process.pid), nonce: 'b', holder: 'a change of the file', taken_at: '2026-01-02T00:00:00.000Z' }),
  );
  const found = (await doctor(home)).row('locks');
  t.match(found, { status: 'warn', detail: new RegExp(`supervisor\\.lock \\(process ${record.pid}, gone\\)`), fixable: true });
  t.ok(existsSync(home.run.supervisorLock), 'looking clears nothing');
  const fixed = (await doctor(home, '--fix')).row('locks');
  t.match(fixed, {
    status: 'ok',
    fixed: /cleared .*supervisor\.lock/,
    detail: `config.yaml.lock by a change of the file (process ${process.pid}, since 2026-01-02`,
  });
  t.notOk(existsSync(home.run.supervisorLock));
  t.ok(existsSync(living), 'a living owner keeps its lock');
});

t.test('lesson 26: a reused pid does not make a dead lock look alive', async (t) => {
  using home = testHome();
  const mine = identityOf(process.pid);
  writeFileSync(
    home.run.supervisorLock,
    JSON.stringify({ ...mine, start_time: mine.start_time - 1, nonce: 'a', holder: 'x', taken_at: '' }),
  );
  t.match((await doctor(home, '--fix')).row('locks'), { status: 'ok', fixed: /cleared/ });
});

t.test('a socket at which nobody listens is removed by --fix, a living one stays', async (t) => {
  using home = testHome();
  const holder = spawn(process.execPath, [
    '-e',
    `require('net').createServer().listen(${JSON.stringify(home.run.socket('cron'))}, () => console.log('listens'))`,
  ]);
  await once(holder.stdout, 'data');
  t.match((await doctor(home)).row('sockets'), { status: 'ok' });
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  t.match((await doctor(home)).row('sockets'), { status: 'warn', detail: home.run.socket('cron'), fixable: true });
  t.match((await doctor(home, '--fix')).row('sockets'), { status: 'ok', fixed: /removed/ });
  t.notOk(existsSync(home.run.socket('cron')));
});

t.test(
  'the stranger who holds the port is named',
  { skip: process.platform === 'linux' ? false : 'only Linux shows who holds a port' },
  async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
    const { port } = server.address() as { port: number };
    using home = testHome({ 'config.yaml': `dashboard: { port: ${port} }\n` });
    t.match((await doctor(home)).row('port'), {
      status: 'fail',
      detail: new RegExp(`process ${process.pid} .* holds ${port}`),
      fix: /dashboard\.port/,
    });
  },
);

t.test('config.yaml: the line that is wrong, the key that is unset, the program that is not there', async (t) => {
  using broken = testHome({ 'config.yaml': 'model:\n  default: [\n' });
  t.match((await doctor(broken)).row('config'), { status: 'fail', detail: /config\.yaml:\d+:\d+: / });
  using home = testHome({
    'config.yaml': `
providers:
  box: { kind: openai-compatible, base_url: "http://127.0.0.1:1/v1", key_env: BOX_KEY }
platforms:
  webhook: { enabled: true, routes: { build: { prompt: hi } } }
  irc: { enabled: true, host: 127.0.0.1 }
mcp_servers:
  here: { command: sh }
  gone: { command: no-such-program }
  secret: { url: "https://example.org", headers: { X-Key: "\${REMOTE_KEY}" } }
services:
  bridge: { command: /nonexistent/bridge }
`,
  });
  const { code, row } = await doctor(home);
  t.equal(code, 1);
  t.match(row('providers:box'), { status: 'fail', detail: /BOX_KEY, which is not set/, fix: /\.env/ });
  t.match(row('platforms:webhook'), { status: 'fail', fix: /WEBHOOK_SECRET/ });
  t.match(row('platforms:irc'), { status: 'warn', detail: 'nobody may talk to it' });
  t.match(row('mcp:here'), { status: 'ok' });
  t.match(row('mcp:gone'), { status: 'fail', detail: /not on the PATH/ });
  t.match(row('mcp:secret'), { status: 'fail', detail: 'REMOTE_KEY is not set' });
  t.match(row('sidecars:bridge'), { status: 'fail', detail: /not there/ });
  using elsewhere = testHome({ 'config.yaml': 'timezone: Mars/Olympus\n' });
  t.match((await doctor(elsewhere)).row('config'), { status: 'fail', detail: /timezone/ });
  using newer = testHome({ 'config.yaml': '_config_version: 46\n' });
  t.match((await doctor(newer)).row('config'), { status: 'warn', detail: /newer release \(_config_version 46/, fix: String }, 'lesson 15');
});

t.test('providers of every kind that can answer are healthy, with a key in .env alone, too', async (t) => {
  using home = testHome({
    'config.yaml': `
providers:
  an: { kind: anthropic }
  google: { key_env: MY_KEY }
  openrouter: {}
  ollama: {}
  chat: { kind: openai-chat }
  work: { base_url: "https://llm.example.com/v1", oauth: { flow: device_code, device_url: "https://id.example.com/d", token_url: "https://id.example.com/t", client_id: agent } }
  signed: { base_url: "https://llm.example.com/v1", oauth: { flow: device_code, device_url: "https://id.example.com/d", token_url: "https://id.example.com/t", client_id: agent } }
`,
    '.env': ['ANTHROPIC_API_KEY', 'MY_KEY', 'OPENROUTER_API_KEY', 'OPENAI_API_KEY'].map((name) => `${name}=value-of-it\n`).join(''),
    'auth.json': JSON.stringify({ providers: { signed: { access_token: 'token-of-it' } } }),
  });
  const { row } = await doctor(home);
  for (const name of ['an', 'google', 'openrouter', 'ollama', 'chat', 'signed']) t.match(row(`providers:${name}`), { status: 'ok' }, name);
  t.match(row('providers:work'), { status: 'fail', fix: 'agent auth login work' });
  using bare = testHome({ '.env': 'ANTHROPIC_API_KEY=value-of-it\n' });
  t.match((await doctor(bare)).row('providers:anthropic'), { status: 'ok' });
});

t.test('--online asks a provider for its address alone, and without it nothing is asked', async (t) => {
  let requests = 0;
  const server = createServer((socket) => {
    requests++;
    socket.once('data', () => socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  using home = testHome({ 'config.yaml': `providers: { box: { base_url: "http://127.0.0.1:${port}/v1" } }\n` });
  t.match((await doctor(home)).row('providers:box'), { status: 'ok', detail: 'needs no key' });
  t.equal(requests, 0);
  t.match((await doctor(home, '--online')).row('providers:box'), { status: 'ok', detail: /answers \(404\)/ });
  t.equal(requests, 1);
});

t.test('for people: groups, one line each, the fix below a problem; no secret anywhere', async (t) => {
  using home = testHome({ ...(await ownPort()), '.env': 'OPENAI_API_KEY=sk-verysecret\n' });
  chmodSync(home.env, 0o644);
  const { code, stdout } = await cli(['doctor'], { home });
  t.equal(code, 1);
  for (const group of ['Installation', 'Home', 'Service', 'Configuration', 'Machine']) t.match(stdout, new RegExp(`^${group}$`, 'm'));
  t.match(stdout, /FAIL {2}files with secrets: .*\n +→ chmod 600 .*agent doctor --fix does it/);
  t.match(stdout, /checks: .*1 to put right/);
  t.notMatch(stdout, /verysecret/);
  t.equal(readFileSync(home.env, 'utf8'), 'OPENAI_API_KEY=sk-verysecret\n');
});

t.setTimeout(240_000);

t.test('a home that the first start could not make is a failure', async (t) => {
  using home = testHome({ 'a-file': '' });
  const { code, stdout } = await cli(['doctor', '--json'], { home: { root: join(home.root, 'a-file', 'home') } });
  t.equal(code, 1);
  const { checks } = JSON.parse(stdout) as { checks: Row[] };
  t.match(
    checks.find(({ id }) => id === 'home'),
    { status: 'fail', fix: /AGENT_HOME/ },
  );
});

t.test('the sandbox is tried, and its level is shown', async (t) => {
  await requirePackage('bubblewrap', '/usr/bin/bwrap');
  using home = testHome(await ownPort());
  t.match((await doctor(home)).row('sandbox'), { status: 'ok', detail: /^switched off/ });
  writeFileSync(join(home.root, 'config.yaml'), 'sandbox: { level: read-only }\n');
  t.match((await doctor(home)).row('sandbox'), { status: 'ok', detail: 'read-only, by bubblewrap' });
});
