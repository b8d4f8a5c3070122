/** Changing jobs, jobs of several profiles, and what is shown of them: a real cron worker. */
import { existsSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sleep } from '../../base/time.ts';
import * as cron from '../../ipc/contracts/cron.ts';
import { report } from '../../ipc/contracts/peer.ts';
import { deleteProfile, renameProfile } from '../../state/profiles.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

/** Empty for one that was closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

const soul = { 'profiles/work/SOUL.md': 'You work.' };

t.test('the jobs of each profile stand in its own store, ask its own agent, and survive the worker', async (t) => {
  using home = testHome({ ...soul, 'profiles/work/config.yaml': 'timezone: Asia/Tokyo\n' });
  await using root = await fakeAgent(home, () => 'root');
  await using work = await fakeAgent(home, () => 'work', { slot: 'agent@work' });
  const first = await startWorker(home, 'cron');
  const { job } = await first.dial().then((link) => link.call(cron.createJob, { schedule: 'every 1s', prompt: 'it', profile: 'work' }));
  t.match(job, { profile: 'work', is_default_profile: false, agent_home: home.profile('work').dir, schedule: { timezone: 'Asia/Tokyo' } });
  await until('the agent of the profile is asked', () => work.turns.length > 0);
  t.match(work.turns[0], { text: 'it', profile: 'work' });
  await first[Symbol.asyncDispose]();
  const before = work.turns.length;
  await using second = await startWorker(home, 'cron');
  await until('the next worker takes the profile up by itself', () => work.turns.length > before);
  using link = await second.dial();
  t.same((await link.call(cron.listJobs, {})).jobs, []);
  t.same(
    (await link.call(cron.listJobs, { every_profile: true })).jobs.map(({ id }) => id),
    [job.id],
  );
  t.ok(existsSync(home.profile('work').cronDb));
  t.equal(root.turns.length, 0);
  await t.rejects(link.call(cron.listJobs, { profile: 'nope' }), { code: 'UNKNOWN_PROFILE' });

  rmSync(home.profile('work').dir, { recursive: true });
  t.same((await link.call(cron.listJobs, { every_profile: true })).jobs, [], 'a deleted profile takes its jobs along');
  const asked = work.turns.length;
  await link.call(cron.createJob, { schedule: '1s', script: null, prompt: 'tick' });
  await until('the rest goes on', () => root.turns.length > 0);
  t.ok(work.turns.length <= asked + 1);
});

t.test('jobs go with their profile: renamed, they run under its new name; deleted, they end; nobody has to ask', async (t) => {
  using home = testHome({ ...soul, 'profiles/work/scripts/note.sh': 'echo x >> ran\n' });
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  const dir = (name: string) => home.profile(name).dir;
  const { job } = await link.call(cron.createJob, { schedule: 'every 1s', script: 'note.sh', profile: 'work' });
  const runs = async (profile: string) => (await link.call(cron.listRuns, { job_id: job.id, limit: 1_000, profile })).runs;
  await until('it runs', async () => (await runs('work')).some(({ status }) => status === 'ok'));

  await renameProfile(home, 'work', 'office');
  const renamedAt = Date.now();
  await until('it runs under the new name', () => {
    const output = join(dir('office'), 'cron', 'output', job.id);
    return existsSync(output) && readdirSync(output).some((name) => statSync(join(output, name)).mtimeMs > renamedAt + 1_000);
  });
  const all = await runs('office');
  t.ok(
    all.filter(({ scheduled_instant: at }) => at && Date.parse(at) > renamedAt).every(({ status }) => status !== 'error'),
    'none failed for want of its folder',
  );
  t.equal(new Set(all.map(({ scheduled_instant }) => scheduled_instant)).size, all.length, 'no instant ran twice');
  t.notOk(existsSync(dir('work')), 'nothing is made where it was');

  const { backup } = await deleteProfile(home, 'office');
  const open = () => readdirSync(`/proc/${worker.child.pid}/fd`).map((fd) => linkOf(`/proc/${worker.child.pid}/fd/${fd}`));
  await until('the worker has let go of it', () => !open().some((path) => path.startsWith(backup)));
  t.notOk(existsSync(dir('office')));
  t.ok(existsSync(join(backup, 'SOUL.md')));
});

t.test('a change moves the next run only when the schedule is another one', async (t) => {
  using home = testHome({ 'scripts/a.sh': 'echo a\n', 'profiles/bare/SOUL.md': 'x', 'profiles/bare/config.yaml': '{}' });
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  const { job } = await link.call(cron.createJob, { schedule: 'every 2h', prompt: 'x', name: 'one' });
  const change = async (updates: object) => (await link.call(cron.updateJob, { job_id: job.id, updates })).job;
  t.match(await change({ name: 'two', prompt: 'y', schedule: 'every  2h' }), { name: 'two', prompt: 'y', next_run_at: job.next_run_at });
  t.match(await change({ script: 'a.sh', prompt: null }), { script: 'a.sh', prompt: null, no_agent: true, next_run_at: job.next_run_at });
  const daily = await change({ schedule: 'every day 9am', timezone: 'Asia/Tokyo' });
  t.match(daily, { schedule: { words: 'every day at 09:00', timezone: 'Asia/Tokyo' }, state: 'scheduled' });
  t.not(daily.next_run_at, job.next_run_at);
  await link.call(cron.pauseJob, { job_id: job.id });
  t.match(await change({ schedule: 'every day 10am' }), { state: 'paused', schedule: { timezone: 'Asia/Tokyo' } });
  await t.rejects(change({ script: null }), { code: 'INVALID_PARAMS', field: 'prompt' });
  for (const script of ['../config.yaml', '../x', 'no/such.sh'])
    await t.rejects(
      link.call(cron.createJob, { schedule: '1s', script, profile: 'bare' }),
      { code: 'INVALID_PARAMS', field: 'script' },
      script,
    );
  await t.rejects(change({ schedule: 'never' }), { code: 'BAD_SCHEDULE', field: 'schedule' });
  await t.rejects(change({ deliver: 'to the moon' }), { code: 'INVALID_PARAMS', field: 'deliver' });
  await t.rejects(change({ color: 'red' }), { code: 'INVALID_PARAMS' });
  t.match((await link.call(cron.getJob, { job_id: 'two' })).job, { schedule: { display: 'every day 10am' }, script: 'a.sh' });
});

t.test('a job that has completed wakes with another schedule, and its output can be read', async (t) => {
  using home = testHome({ 'scripts/a.sh': 'echo out of a\n', 'scripts/big.sh': 'head -c 300000 /dev/zero | tr "\\0" x\n' });
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  const { job } = await link.call(cron.createJob, { schedule: '1s', script: 'a.sh' });
  const run = await until('it has run', async () =>
    (await link.call(cron.listRuns, { job_id: job.id })).runs.find(({ ended_at }) => ended_at),
  );
  t.match((await link.call(cron.getJob, { job_id: job.id })).job.state, 'completed');
  t.match(await link.call(cron.runOutput, { execution_id: run.execution_id }), { text: /out of a/, truncated: false });
  const { job: again } = await link.call(cron.updateJob, { job_id: job.id, updates: { schedule: 'every 1d', script: 'big.sh' } });
  t.match(again, { state: 'scheduled', repeat: { times: null, completed: 0 } });
  const { execution_id } = await link.call(cron.runJob, { job_id: job.id });
  const large = await until('its output', () => link.call(cron.runOutput, { execution_id }));
  t.ok(large.truncated && Buffer.byteLength(large.text) <= 256 * 1_024);
  rmSync(join(home.cronOutput, job.id), { recursive: true });
  await t.rejects(link.call(cron.runOutput, { execution_id }), { code: 'NOT_FOUND' });
  await t.rejects(link.call(cron.runOutput, { execution_id: '../../x' }), { code: 'NOT_FOUND' });
});

t.test('runs that waited for the agent keep to max_parallel_jobs when it comes', async (t) => {
  using home = testHome();
  writeFileSync(home.config, 'cron: { max_parallel_jobs: 1 }\n');
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  for (const prompt of ['a', 'b', 'c']) {
    const { job } = await link.call(cron.createJob, { schedule: 'every 1d', prompt });
    await link.call(cron.runJob, { job_id: job.id });
  }
  const held = async () => ((await link.call(report, {})).facts.waiting as { held: number }[])[0]?.held;
  await until('all wait for the agent', async () => (await held()) === 3);
  let running = 0;
  const atOnce: number[] = [];
  await using agent = await fakeAgent(home, async () => {
    atOnce.push(++running);
    // Longer than it takes the others to connect.
    await sleep(500);
    running--;
    return 'done';
  });
  await until('each had its turn', () => agent.turns.length === 3, 60_000);
  t.same(atOnce, [1, 1, 1]);
});

t.test('a name is taken by jobs of the same creator only, and an exact name is found behind ids that begin with it', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  const create = (name: string, createdBy: string | null) =>
    link.call(cron.createJob, { schedule: 'every 1d', prompt: 'go', name, created_by: createdBy });
  await create('report', null);
  await create('report', 'chat:irc:#room');
  await t.rejects(create('report', null), { code: 'INVALID_PARAMS' });
  await t.rejects(create('report', 'chat:irc:#room'), { code: 'INVALID_PARAMS' });
});
