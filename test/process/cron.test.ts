import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { deferred } from '../../base/time.ts';
import * as cron from '../../ipc/contracts/cron.ts';
import { stop } from '../../ipc/contracts/peer.ts';
import type { Link } from '../../ipc/link.ts';
import type { InputOf } from '../../ipc/method.ts';
import { openReadOnly } from '../../state/db/open.ts';
import type { Home } from '../../state/home.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { fakeAgent, noProvider } from '../fakes/agentTurns.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

/** Each waits more than it works: they run side by side. */
t.jobs = 4;
const beside = () => ({ buffered: true });

type NewJob = InputOf<typeof cron.createJob>;

const create = async (link: Link, job: NewJob) => (await link.call(cron.createJob, job)).job;
const runsOf = async (link: Link, jobId: string) => (await link.call(cron.listRuns, { job_id: jobId, limit: 1_000 })).runs.toReversed();
const jobOf = async (link: Link, jobId: string) => (await link.call(cron.listJobs, {})).jobs.find((job) => job.id === jobId)!;
const ended = (link: Link, jobId: string, count = 1) =>
  until(`${count} run(s) of ${jobId} ended`, async () => {
    const runs = (await runsOf(link, jobId)).filter((run) => run.ended_at !== null);
    return runs.length >= count ? runs : undefined;
  });

/** Texts in the outbox of a gateway that has no server to send to. */
function outbox(home: Home): string[] {
  const db = openReadOnly(home.gatewayDb);
  try {
    return (db.prepare('SELECT text FROM outbox ORDER BY id').all() as { text: string }[]).map((row) => row.text);
  } finally {
    db.close();
  }
}

/** A chat platform that is configured and never answers: messages for it stay in the outbox. */
const deadIrc = 'platforms:\n  irc: { host: 127.0.0.1, port: 9, nick: agent, channels: ["#room"] }\n';

t.test('a job every three seconds keeps to its instants and does not drift', beside(), async (t) => {
  using home = testHome();
  await using agent = await fakeAgent(home, ({ text }) => `did ${text}`);
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  // Longer than a run may take on a busy machine. An instant that meets a run under way, or a machine that stood still, is
  // skipped with a record.
  const job = await create(link, { schedule: 'every 3s', prompt: 'it' });
  const runs = await until('three have run', async () => {
    const ok = (await runsOf(link, job.id)).filter(({ status }) => status === 'ok');
    return ok.length >= 3 && ok;
  });
  const offsets = runs.map((run) => Date.parse(run.scheduled_instant!) - Date.parse(job.created_at));
  t.ok(
    offsets.every((ms, n) => ms % 3_000 === 0 && ms > (offsets[n - 1] ?? 0)),
    `each at an instant of its own, none between: ${offsets.join(', ')}`,
  );
  t.ok(
    runs.every((run) => Date.parse(run.started_at!) >= Date.parse(run.scheduled_instant!)),
    'none early',
  );
  t.match(agent.turns[0], { text: 'it', session_key: null, surface: 'scheduled_task', idempotency_key: `cron:${runs[0]!.execution_id}` });
  t.match(readFileSync(runs[0]!.output_path!, 'utf8'), /did it/);
});

t.test('a cron worker killed between claim and answer joins the turn again: one turn, delivered once', beside(), async (t) => {
  using home = testHome({ 'config.yaml': deadIrc });
  const answer = deferred<string>();
  await using agent = await fakeAgent(home, () => answer.promise);
  await using gateway = await startWorker(home, 'gateway');
  const first = await startWorker(home, 'cron');
  const job = await first.dial().then((link) => create(link, { schedule: '1s', prompt: 'slow', name: 'slow', deliver: 'irc:#room' }));
  await until('the turn runs', () => agent.turns.length === 1);
  await first[Symbol.asyncDispose]();
  await using second = await startWorker(home, 'cron');
  using link = await second.dial();
  await until('the turn is joined', () => agent.calls() === 2);
  answer.resolve('done');
  const runs = await ended(link, job.id);
  await until('the delivery is accepted', async () => (await runsOf(link, job.id))[0]!.delivery === 'accepted');
  t.strictSame(
    { runs: runs.map((run) => run.status), turns: agent.turns.length, outbox: outbox(home) },
    { runs: ['ok'], turns: 1, outbox: ['[slow] done'] },
  );
  t.match(await jobOf(link, job.id), { state: 'completed', last_status: 'ok', repeat: { times: 1, completed: 1 } });
  t.equal(gateway.child.exitCode, null);
});

t.test('a script under way when the worker is killed is stopped, recorded as unknown and not run again', beside(), async (t) => {
  using home = testHome({ 'scripts/slow.sh': 'echo $$ >> pids\nsleep 60 &\nwait\n' });
  const first = await startWorker(home, 'cron');
  const job = await first.dial().then((link) => create(link, { schedule: '1s', script: 'slow.sh' }));
  const pid = Number(
    await until('the script runs', () => existsSync(join(home.root, 'pids')) && readFileSync(join(home.root, 'pids'), 'utf8').trim()),
  );
  await first[Symbol.asyncDispose]();
  t.ok(alive(pid), 'the script outlives the worker that was killed');
  await using second = await startWorker(home, 'cron');
  using link = await second.dial();
  const runs = await ended(link, job.id);
  t.match(runs, [{ status: 'unknown', error: /ended while the script ran; what was left of it has been stopped/ }]);
  await until('the script is gone', () => !alive(pid));
  t.equal(readFileSync(join(home.root, 'pids'), 'utf8').trim().split('\n').length, 1, 'it ran once');
});

t.test('a result waits for a gateway that is down and is handed over once when it comes', beside(), async (t) => {
  using home = testHome({ 'config.yaml': deadIrc, 'scripts/hi.sh': 'echo "hi   "\n' });
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  const job = await create(link, { schedule: '1s', script: 'hi.sh', name: 'greet', deliver: 'irc:#room, irc:#other, local' });
  t.equal((await ended(link, job.id))[0]!.delivery, 'queued');
  await using gateway = await startWorker(home, 'gateway');
  await until('the delivery is accepted', async () => (await runsOf(link, job.id))[0]!.delivery === 'accepted');
  t.strictSame(outbox(home), ['[greet] hi', '[greet] hi']);
  const lost = await create(link, { schedule: '1s', script: 'hi.sh', deliver: 'irc:north' });
  // As a job of an earlier release whose platform is gone.
  const db = new Database(home.cronDb);
  db.prepare("UPDATE jobs SET deliver = 'pigeon:north' WHERE id = ?").run(lost.id);
  db.close();
  await until('it has failed', async () => (await runsOf(link, lost.id))[0]?.delivery === 'failed');
  t.match(await jobOf(link, lost.id), { last_status: 'delivery_failed', last_error: /pigeon:north/ });
  t.equal(gateway.child.exitCode, null);
});

t.test('scripts: bounded, clean, inside their folder, and ended with everything they started', beside(), async (t) => {
  using home = testHome({
    '.env': 'OPENAI_API_KEY=sk-not-for-scripts\n',
    'scripts/env.sh': 'env\n',
    'scripts/hangs.sh': 'sleep 60 & echo $! > child\nwait\n',
    'scripts/leaves.sh': "trap '' TERM; sleep 60 & echo $! > left\n",
    'scripts/fails.sh': 'echo out; echo "bad thing" >&2; exit 3\n',
    'scripts/loud.sh': 'head -c 400000 /dev/zero | tr "\\0" x\n',
    'scripts/tells.mjs': 'console.log(JSON.stringify({ node: process.version.length > 0 }));\n',
    'secret.sh': 'echo outside\n',
  });
  await using worker = await startWorker(home, 'cron', { env: { MY_TOKEN: 'not-for-scripts', AGENT_CRON_FIRE_SECRET: 'not-for-scripts' } });
  using link = await worker.dial();
  const run = async (script: string) => {
    const job = await create(link, { schedule: '1d', script, name: script });
    await link.call(cron.runJob, { job_id: job.id });
    const [end] = await ended(link, job.id);
    return { ...end!, output: readFileSync(end!.output_path!, 'utf8') };
  };
  const env = await run('env.sh');
  t.match(env, { status: 'ok', trigger: 'manual', scheduled_instant: null, output: /AGENT_JOB_NAME=env\.sh/ });
  t.notMatch(env.output, /not-for-scripts/, 'no secret reaches a script');
  t.match(await run('tells.mjs'), { status: 'ok', output: /"node":true/ });
  t.match(await run('fails.sh'), { status: 'error', error: 'script fails.sh: it exited with code 3: bad thing', output: /out/ });
  t.match(await run('loud.sh'), { status: 'ok', output: /… 137856 more bytes were dropped/ });
  t.match(await run('leaves.sh'), { status: 'ok' });
  // Only now: what does its work may take its time on a busy machine.
  home.write('config.yaml', 'cron: { script_timeout_seconds: 2 }\n');
  t.match(await run('hangs.sh'), { status: 'error', error: 'script hangs.sh: it ran longer than 2 s and was killed' });
  const strays = ['child', 'left'].map((file) => Number(readFileSync(join(home.root, file), 'utf8')));
  await until('what they started is gone', () => !strays.some(alive));
  for (const script of ['../secret.sh', '/bin/true', 'nope.sh', '..', '']) {
    await t.rejects(create(link, { schedule: '1d', script }), { code: 'INVALID_PARAMS', field: 'script' }, JSON.stringify(script));
  }
});

t.test('the gate spares the model, the mark spares the chat, and a failure is told once', beside(), async (t) => {
  using home = testHome({
    'config.yaml': deadIrc,
    'scripts/idle.sh': 'echo nothing new\necho \'{"wakeAgent": false}\'\n',
    'scripts/news.sh': 'echo fresh news\n',
  });
  await using agent = await fakeAgent(home, ({ text }) => {
    if (text.includes('broken')) throw noProvider();
    return text.includes('quiet') ? '[SILENT] nothing to say' : `about: ${text.split('\n').at(-1)}`;
  });
  await using gateway = await startWorker(home, 'gateway');
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  const run = async (job: Omit<NewJob, 'schedule'>, times = 1) => {
    const { id } = await create(link, { schedule: '1d', deliver: 'irc:#room', ...job });
    for (let n = 1; n <= times; n++) {
      await link.call(cron.runJob, { job_id: id });
      await ended(link, id, n);
    }
    return jobOf(link, id);
  };
  await run({ name: 'idle', script: 'idle.sh', prompt: 'tell me' });
  await run({ name: 'quiet', prompt: 'quiet' });
  t.strictSame(
    agent.turns.map((turn) => turn.text),
    ['quiet'],
    'the gate kept the model asleep',
  );
  await run({ name: 'news', script: 'news.sh', prompt: 'tell me' });
  t.match(await run({ name: 'broken', prompt: 'broken' }, 3), {
    last_status: 'blocked_config',
    last_error: /no model provider is configured — set one/,
  });
  await until('the last is handed over', () => outbox(home).some((text) => text.startsWith('[broken]')));
  t.strictSame(
    outbox(home).map((text) => text.slice(0, 40)),
    ['[news] about: fresh news', '[broken] the job failed: no model provid'],
  );
  t.equal(gateway.child.exitCode, null);
});

t.test('a job is found by name or the beginning of its id, paused, resumed and removed', beside(), async (t) => {
  using home = testHome({ 'scripts/hi.sh': 'echo hi\n' });
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  const job = await create(link, { schedule: 'every 1d', script: 'hi.sh', name: 'greet', repeat: 2 });
  await create(link, { schedule: 'every 1d', script: 'hi.sh', name: 'twin' });
  await t.rejects(create(link, { schedule: 'every 1d', script: 'hi.sh', name: 'twin' }), { code: 'INVALID_PARAMS', field: 'name' });
  t.equal((await link.call(cron.pauseJob, { job_id: 'greet' })).job.state, 'paused');
  t.match(await link.call(cron.claimJob, { job_id: 'greet' }), { claimed: false, execution_id: null }, 'a paused job is not fired');
  t.match((await link.call(cron.resumeJob, { job_id: job.id.slice(0, 8) })).job, { state: 'scheduled', next_run_at: job.next_run_at });
  await t.rejects(link.call(cron.runJob, { job_id: 'nobody' }), { code: 'UNKNOWN_JOB', fix: /cron list/ });
  await t.rejects(create(link, { schedule: 'sometimes', prompt: 'x' }), { code: 'BAD_SCHEDULE' });
  await t.rejects(create(link, { schedule: '1d' }), { code: 'INVALID_PARAMS', field: 'prompt' });
  for (const deliver of ['irc:a b', 'nowhere:#x', 'telegram:123', 'local, bogus', 'webhook:x'])
    await t.rejects(create(link, { schedule: '1d', prompt: 'x', deliver }), { code: 'INVALID_PARAMS', field: 'deliver' }, deliver);
  await link.call(cron.runJob, { job_id: 'greet' });
  await ended(link, job.id);
  t.equal(readdirSync(join(home.cronOutput, job.id)).length, 1);
  t.equal((await link.call(cron.removeJob, { job_id: 'greet' })).job.id, job.id);
  t.strictSame(
    (await link.call(cron.listJobs, {})).jobs.map(({ name }) => name),
    ['twin'],
  );
});

t.test('a drained worker leaves with 0 and its prompt run goes on in the next one', beside(), async (t) => {
  using home = testHome();
  const answer = deferred<string>();
  await using agent = await fakeAgent(home, () => answer.promise);
  const first = await startWorker(home, 'cron');
  const job = await first.dial().then((link) => create(link, { schedule: '1s', prompt: 'slow' }));
  await until('the turn runs', () => agent.turns.length === 1);
  await first.dial().then((link) => link.call(stop, { deadline_ms: 50 }));
  t.equal(await until('it has left', () => first.child.exitCode !== null && `code ${first.child.exitCode}`), 'code 0');
  await using second = await startWorker(home, 'cron');
  using link = await second.dial();
  answer.resolve('done');
  t.match(await ended(link, job.id), [{ status: 'ok' }]);
  t.equal(agent.turns.length, 1);
});

/** A zombie that nobody has collected yet is not alive. */
const alive = (pid: number): boolean => startTimeOf(pid) !== undefined;
