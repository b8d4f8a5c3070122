/** `agent status`, `why` and `down` from snapshots alone: whose supervisor lives, is gone, or never was. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { writeJsonAtomic } from '../../state/atomicFile.ts';
import { identityOf } from '../../state/processIdentity.ts';
import { engagePause } from '../../state/pause.ts';
import { cli, errorOf } from '../harness/cli.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { workerRow } from '../harness/records.ts';

type Worker = Status['workers'][number];

const worker = (slot: string, more: Partial<Worker> = {}): Worker =>
  workerRow(slot, { pid: process.pid, since: new Date(Date.now() - 5_000).toISOString(), ...more });

/** A snapshot as a supervisor with this pid would write it; by default that is this test, so it lives. */
function snapshot(home: TestHome, workers: Worker[], supervisor: Partial<Status['supervisor']> = {}): void {
  const at = new Date(Date.now() - 65_000).toISOString();
  const status: Status = {
    supervisor: {
      ...identityOf(process.pid),
      version: '0.1.0',
      code: 'source',
      started_at: at,
      home: home.root,
      managed_by: 'none',
      adopted: 0,
      dashboard: 'http://127.0.0.1:9119/?token=secret',
      demo: false,
      ...supervisor,
    },
    paused: null,
    problems: [],
    workers,
    at,
  };
  writeJsonAtomic(home.run.status, status);
}

/** A moment ago. */
const lastExit = () => ({ code: null, signal: 'SIGKILL', at: new Date().toISOString(), signature: 'sig', summary: 'killed by SIGKILL' });

t.test('the exit code says whether all that is wanted is ready', async (t) => {
  const cases: { name: string; workers: Worker[]; want: number }[] = [
    { name: 'all ready', workers: [worker('agent'), worker('cron')], want: 0 },
    { name: 'one in backoff', workers: [worker('agent'), worker('cron', { state: 'backoff', pid: null })], want: 1 },
    {
      name: 'one stopped on purpose',
      workers: [worker('agent'), worker('gateway', { desired: 'down', state: 'down', pid: null })],
      want: 0,
    },
    {
      name: 'one that starts when needed',
      workers: [worker('agent'), worker('terminal', { desired: 'demand', state: 'down', pid: null })],
      want: 0,
    },
  ];
  for (const { name, workers, want } of cases) {
    using home = testHome();
    snapshot(home, workers);
    t.equal((await cli(['status'], { home })).code, want, name);
  }
});

t.test('JSON is the whole status, with the memory as it is now', async (t) => {
  using home = testHome();
  snapshot(home, [worker('agent')]);
  const { code, stdout, stderr } = await cli(['status', '--json'], { home });
  t.same({ code, stderr }, { code: 0, stderr: '' });
  const status = JSON.parse(stdout) as Status;
  t.match(status, { supervisor: { pid: process.pid, home: home.root }, paused: null, workers: [{ slot: 'agent', state: 'ready' }] });
  if (process.platform === 'linux') t.ok(status.workers[0]!.rss_bytes! > 10_000_000, 'the snapshot said 1 byte');
});

t.test('the table names what is not ready and why, the pause, problems, and never the token of the page', async (t) => {
  using home = testHome();
  snapshot(home, [
    worker('agent', { restarts: 3, last_exit: lastExit() }),
    worker('cron', { state: 'parked', pid: null, reason: 'parked: a restart cannot help — correct it' }),
  ]);
  engagePause(home.estop, { reason: 'maintenance', ttlMs: 600_000, scope: ['cron'] });
  const { code, stdout } = await cli(['status'], { home });
  t.equal(code, 1);
  t.match(stdout, /agent +ready +\d+ +[\d.]+ s +3 +\d+ MiB +0% +20 +killed by SIGKILL, [\d.]+ m?s ago/);
  t.match(stdout, /Not ready: cron is parked: a restart cannot help — correct it/);
  t.match(stdout, /Paused: cron has been held for .*, ends in .* \(maintenance\) — agent resume lifts it/);
  t.match(stdout, /Dashboard: http:\/\/127\.0\.0\.1:9119\/$/m);
  t.notMatch(stdout, /secret/);
});

t.test('with the supervisor gone the last snapshot is shown with its age, and the exit code is 3', async (t) => {
  const child = spawn('/bin/sh', ['-c', 'exit 0']);
  const identity = identityOf(child.pid!);
  await once(child, 'exit');
  using home = testHome();
  snapshot(home, [worker('agent'), worker('cron', { pid: child.pid! })], identity);
  const { code, stdout, stderr } = await cli(['status'], { home });
  t.equal(code, 3);
  t.match(stdout, /No supervisor runs on .*\. This is its last snapshot \(1 min old\)/);
  t.match(stdout, /agent +alone/, 'a worker outlives its supervisor');
  t.match(stdout, /cron +gone/);
  t.match(stderr, /no supervisor runs on .* — start it with `agent up`/);
  const json = await cli(['status', '--json'], { home });
  t.match(JSON.parse(json.stdout), { stale_ms: Number, workers: [{ slot: 'agent' }, { slot: 'cron' }] });
  t.equal(errorOf(json).code, 'NO_SUPERVISOR');
});

t.test('a reused pid does not make a dead supervisor look alive', async (t) => {
  using home = testHome();
  snapshot(home, [worker('agent')], { start_time: identityOf(process.pid).start_time - 1 });
  t.equal((await cli(['status'], { home })).code, 3);
  snapshot(home, [worker('agent')], { boot_id: 'another boot' });
  t.equal((await cli(['status'], { home })).code, 3);
});

t.test('without any snapshot it says that none has run, of one that cannot be read that it cannot', async (t) => {
  using home = testHome();
  for (const content of [undefined, '', '{"workers":', '[]', 'null', '{"supervisor":1}']) {
    if (content !== undefined) home.write('run/status.json', content);
    const { code, stdout, stderr } = await cli(['status'], { home });
    t.same({ code, stdout }, { code: 3, stdout: '' }, String(content));
    t.match(stderr, content === undefined ? /none has run there yet/ : /run\/status\.json cannot be read/, String(content));
  }
  t.same(JSON.parse((await cli(['status', '--json'], { home })).stdout), {
    supervisor: null,
    paused: null,
    paused_profiles: [],
    problems: [],
    workers: [],
    at: null,
    home: home.root,
  });
});

t.test('what strangers and programs said steers no terminal: the reason of a pause, a summary, a problem', async (t) => {
  using home = testHome();
  const evil = 'x\u001b[2J\u001b]0;title\u0007\ny';
  engagePause(home.estop, { reason: evil });
  snapshot(home, [worker('cron', { state: 'backoff', pid: null, last_exit: { ...lastExit(), summary: evil }, reason: evil })]);
  const { stdout } = await cli(['status'], { home });
  // eslint-disable-next-line no-control-regex -- what must not be there
  t.notMatch(stdout, /[\u0000-\u0009\u000b-\u001f]/);
  t.match(stdout, /Paused: .*\(x\\x1b\[2J/);
  t.match(stdout, /Not ready: cron is backoff: x\\x1b/);
});

t.test('--watch needs a terminal', async (t) => {
  using home = testHome();
  t.match(await cli(['status', '--watch'], { home }), { code: 2, stderr: /--watch draws on a terminal/ });
});

t.test('why answers from the last snapshot with everything down', async (t) => {
  using home = testHome();
  snapshot(home, [worker('cron', { state: 'down', pid: null, last_exit: lastExit() }), worker('agent')], { boot_id: 'another boot' });
  t.match(await cli(['why', 'cron'], { home }), { code: 0, stdout: /^killed by SIGKILL\n/, stderr: /from its last snapshot/ });
  t.match(await cli(['why', 'agent'], { home }), { code: 0, stdout: /agent \(process \d+\) ended when the host restarted/ });
});

t.test('commands that need the service exit 3 and say how to start it', async (t) => {
  using home = testHome();
  for (const args of [
    ['start', 'agent'],
    ['stop', 'agent'],
    ['cron', 'list'],
    ['sessions', 'list'],
    ['send', '--to', 'irc', 'x'],
    ['why', 'agent'],
    ['gateway', 'run'],
  ]) {
    const result = await cli([...args, '--json'], { home });
    t.same(
      { code: result.code, stdout: result.stdout, error: errorOf(result).code },
      { code: 3, stdout: '', error: 'NO_SUPERVISOR' },
      args.join(' '),
    );
  }
  t.match(await cli(['down'], { home }), { code: 0, stdout: /Nothing runs on/ });
});

t.test(
  'a pause of one profile alone is shown, in the table, as JSON, in the list of profiles, and with no service ever started',
  async (t) => {
    using home = testHome({ 'profiles/work/SOUL.md': 'mail\n', 'profiles/idle/SOUL.md': 'rest\n' });
    const { estop } = home.profile('work');
    engagePause(estop, { reason: 'on holiday', scope: ['cron'] });
    t.match(
      (await cli(['status'], { home })).stdout,
      /^Paused: cron of work has been held for .* \(on holiday\) — agent -p work resume lifts it$/m,
    );
    snapshot(home, [worker('agent')]);
    t.match((await cli(['status'], { home })).stdout, /^Paused: cron of work has been held/m);
    t.match(JSON.parse((await cli(['status', '--json'], { home })).stdout), {
      paused: null,
      paused_profiles: [{ profile: 'work', path: estop, reason: 'on holiday', scope: ['cron'] }],
    });
    const list = await cli(['profile', 'list'], { home });
    t.match(list.stdout, /^ +idle +- +0 +- +-$/m);
    t.match(list.stdout, /^ +work +- +0 +- +cron$/m);
    engagePause(home.estop, {});
    t.match((await cli(['profile', 'list'], { home })).stdout, /^ +idle +- +0 +- +with default$/m);
    t.match(JSON.parse((await cli(['profile', 'list', '--json'], { home })).stdout), {
      profiles: [
        { name: 'default', paused: { path: home.estop } },
        { name: 'idle', paused: null },
        { name: 'work', paused: { path: estop } },
      ],
    });
  },
);

t.test('a pause is told although no service has run yet', async (t) => {
  using home = testHome();
  engagePause(home.estop, { reason: 'moving house' });
  t.match(await cli(['status'], { home }), { code: 3, stdout: /^Paused: automation .*moving house/ });
  t.match(JSON.parse((await cli(['status', '--json'], { home })).stdout), { supervisor: null, paused: { path: home.estop, held: 0 } });
});

t.test('-p without a name is a mistake on the command line', async (t) => {
  using home = testHome();
  for (const args of [['-p'], ['--profile'], ['--profile=', 'status']])
    t.match(await cli(args, { home }), { code: 2, stdout: '' }, args.join(' '));
});
