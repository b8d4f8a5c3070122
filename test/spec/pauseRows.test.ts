import t from 'tap';
import * as cron from '../../ipc/contracts/cron.ts';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { report } from '../../ipc/contracts/peer.ts';
import { engagePause, liftPause } from '../../state/pause.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { freePort, testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const runsOf = async (link: Awaited<ReturnType<Awaited<ReturnType<typeof startWorker>>['dial']>>, job_id: string) =>
  (await link.call(cron.listRuns, { job_id, limit: 1_000 })).runs.toReversed();

t.test('cli.7 pause holds cron back at the moment of claim, resume lets one late run through and then the schedule', async (t) => {
  using home = testHome();
  await using agent = await fakeAgent(home, () => 'ok');
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  const { job } = await link.call(cron.createJob, { schedule: 'every 2s', prompt: 'go', name: 'go' });
  await until('it runs', async () => (await runsOf(link, job.id)).length >= 1);
  engagePause(home.estop, { reason: 'test' });
  await until('the due job is held', async () => (await link.call(report, {})).facts.held === 1);
  const before = (await runsOf(link, job.id)).length;
  await t.rejects(link.call(cron.runJob, { job_id: 'go' }), { code: 'PAUSED', fix: /agent resume/, retryAfterMs: 60_000 });
  await t.rejects(link.call(cron.claimJob, { job_id: 'go' }), { code: 'PAUSED', retryAfterMs: 60_000 });
  // Time has to pass for the rule of missed occurrences: three of them.
  const due = Date.parse((await link.call(cron.listJobs, {})).jobs[0]!.next_run_at!);
  await until('some occurrences have passed', () => Date.now() > due + 6_400);
  t.equal((await runsOf(link, job.id)).length, before, 'nothing was claimed meanwhile');
  liftPause([home.estop]);
  const runs = await until('the schedule goes on', async () => {
    const since = (await runsOf(link, job.id)).slice(before);
    return since.filter((run) => run.trigger === 'on_time').length >= 1 ? since : undefined;
  });
  t.strictSame(
    runs
      .map(({ trigger, status }) => `${trigger} ${status === 'skipped' ? status : 'claimed'}`)
      .slice(0, 2)
      .toSorted(),
    ['catch_up skipped', 'late claimed'],
    'one late run, one record of those folded into it, and on time again by now',
  );
  t.ok(agent.turns.length >= 2);
  t.equal(worker.child.exitCode, null, 'without a restart');
});

t.test('cli.7 pause holds new gateway turns, of its own profile or of all, and resume releases them', async (t) => {
  const port = await freePort();
  using home = testHome({
    'profiles/work/SOUL.md': 'work\n',
    'profiles/work/config.yaml': `platforms:\n  webhook: { port: ${port}, routes: { say: { secret: INSECURE_NO_AUTH } } }\n`,
  });
  await using agent = await fakeAgent(home, () => 'ok', { slot: 'agent@work' });
  const { estop } = home.profile('work');
  engagePause(estop, { reason: 'only here' });
  await using worker = await startWorker(home, 'gateway', { profile: 'work' });
  using link = await worker.dial();
  const held = () => link.call(gateway.platforms, {}).then((answer) => answer.held);
  await until('the route is open', async () => (await link.call(gateway.platforms, {})).platforms[0]?.state === 'connected');
  const say = (text: string) =>
    fetch(`http://127.0.0.1:${port}/webhooks/say`, { method: 'POST', body: text, headers: { 'content-type': 'text/plain' } });
  t.equal((await say('one')).status, 202);
  await until('it is held', async () => (await held()) === 1);
  engagePause(home.estop, { reason: 'everywhere' });
  liftPause([estop]);
  t.equal((await say('two')).status, 202);
  await until('both are held', async () => (await held()) === 2);
  t.equal(agent.turns.length, 0);
  liftPause([home.estop]);
  await until('both are released', () => agent.turns.length === 2);
  t.strictSame(
    agent.turns.map(({ text, profile }) => ({ text, profile })),
    [
      { text: 'one', profile: 'work' },
      { text: 'two', profile: 'work' },
    ],
  );
});

t.test('cli.7 a sentinel that is empty or unreadable pauses as well, and one that has expired does not', async (t) => {
  using home = testHome({ ESTOP: '' });
  await using agent = await fakeAgent(home, () => 'ok');
  await using worker = await startWorker(home, 'cron');
  using link = await worker.dial();
  await link.call(cron.createJob, { schedule: '1d', prompt: 'go', name: 'go' });
  await t.rejects(link.call(cron.runJob, { job_id: 'go' }), { code: 'PAUSED' });
  home.write('ESTOP', '{"reason":');
  await t.rejects(link.call(cron.runJob, { job_id: 'go' }), { code: 'PAUSED' });
  engagePause(home.estop, { ttlMs: 0 });
  await link.call(cron.runJob, { job_id: 'go' });
  await until('it runs', () => agent.turns.length === 1);
  t.equal(worker.child.exitCode, null);
});
