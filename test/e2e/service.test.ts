/** The whole service as a user has it: every worker under the supervisor, a real IRC server, a real MCP server. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { createJob, listRuns } from '../../ipc/contracts/cron.ts';
import { platforms } from '../../ipc/contracts/gateway.ts';
import { dial, type DialOptions } from '../../ipc/dial.ts';
import { readToken } from '../../state/home.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { everything } from '../harness/mcp.ts';
import { startNgircd } from '../harness/ngircd.ts';
import { startService, type TestService } from '../harness/service.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

const workers = ['agent', 'dashboard', 'cron', 'mcp', 'gateway'];

const configOf = (ircPort: number): string => `
platforms:
  irc: { enabled: true, host: 127.0.0.1, port: ${ircPort}, tls: false, nick: agent, channels: ["#room"], allowed_users: ["*"] }
mcp_servers:
  everything: { command: "${process.execPath}", args: ["${everything}"] }
`;

const agentOf = (home: TestHome) => ({
  dial: (options: Partial<DialOptions>) =>
    dial(home.run.socket('agent'), { token: readToken(home)!, slot: 'test', startingMs: 10_000, ...options }),
});

function agentCommand(home: TestHome, ...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(projectRoot, 'bin/main.ts'), ...args], {
    env: { PATH: process.env.PATH, HOME: home.root, AGENT_HOME: home.root },
    encoding: 'utf8',
  });
  return { code: status, out: stdout, err: stderr };
}

async function connected(service: TestService): Promise<void> {
  await until('the gateway is on IRC', async () => {
    using link = await service.link('gateway');
    return (await link.call(platforms, {})).platforms.some(({ platform, state }) => platform === 'irc' && state === 'connected');
  });
}

t.test('chat, MCP, IRC, cron and pause work together, and survive the death of every worker', { timeout: 200_000 }, async (t) => {
  await using irc = await startNgircd();
  using home = testHome({ 'config.yaml': configOf(irc.port) });
  await using service = await startService(home, { env: { AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' } });
  await service.ready();
  using person = await irc.join('ada', '#room');
  await connected(service);

  await t.test('every slot is ready and the command says so', async (t) => {
    const { code, out } = agentCommand(home, 'status', '--json');
    t.equal(code, 0);
    const status = JSON.parse(out) as { workers: { slot: string; state: string; desired: string }[] };
    for (const slot of workers)
      t.match(
        status.workers.find((worker) => worker.slot === slot),
        { state: 'ready', desired: 'up' },
        slot,
      );
  });

  await t.test('a tool of an MCP server answers in the chat', async (t) => {
    using chat = await connect(agentOf(home));
    const { complete, events } = await chat.turn(await chat.create(), 'tool: mcp__everything__echo {"message":"hi"}');
    t.equal(complete.status, 'complete');
    t.match(events.find(({ type }) => type === 'tool.complete')?.payload, {
      name: 'mcp__everything__echo',
      is_error: false,
      result_text: /hi/,
    });
  });

  await t.test('a line on IRC is answered there, also when the gateway is killed in between, once', async (t) => {
    person.say('#room', 'slow: 2');
    await until('the agent works on it', async () => {
      using link = await service.link('gateway');
      const { report } = await import('../../ipc/contracts/peer.ts');
      return (await link.call(report, {})).active.length > 0;
    });
    process.kill((await service.worker('gateway')).pid!, 'SIGKILL');
    await until('the answer is there', () => person.said('agent', '#room').length > 0);
    person.say('#room', 'marker');
    await until('the marker is answered', () => person.said('agent', '#room').some((text) => text.includes('marker')));
    t.equal(person.said('agent', '#room').filter((text) => !text.includes('marker')).length, 1);
  });

  await t.test('a scheduled prompt posts to the room; pause holds it, resume lets it go on', async (t) => {
    using cron = await service.link('cron');
    const { job } = await cron.call(createJob, { schedule: 'every 1s', prompt: 'say: 5 words', deliver: 'irc:#room', name: 'five' });
    const before = person.lines.length;
    await until('it posted twice', () => person.lines.length >= before + 2);
    t.equal(agentCommand(home, 'pause', '--reason', 'lunch').code, 0);
    const runs = async () => (await cron.call(listRuns, { job_id: job.id, limit: 1_000 })).runs;
    // What was claimed before the sentinel stood is finished; from then on nothing is claimed.
    // One that was still going on a busy machine kept the next instant away, which has a record too.
    await until('nothing runs any more', async () => (await runs()).every(({ status }) => status === 'ok' || status === 'skipped'));
    const held = (await runs()).length;
    const instant = Date.now();
    await until('two instants have passed', () => Date.now() - instant > 2_500);
    t.equal((await runs()).length, held, 'no run while paused');
    t.match((await service.status()).paused, { reason: 'lunch' });
    t.equal(agentCommand(home, 'resume').code, 0);
    await until('it runs again', async () => (await runs()).length > held);
    const { removeJob } = await import('../../ipc/contracts/cron.ts');
    await cron.call(removeJob, { job_id: job.id });
  });

  for (const slot of workers) {
    await t.test(`${slot} killed with SIGKILL is ready again, and status counts and names it`, async (t) => {
      const before = await until(`${slot} has served for a second`, async () => {
        const worker = await service.worker(slot);
        return worker.state === 'ready' && Date.now() - Date.parse(worker.since) > 1_000 && worker;
      });
      process.kill(before.pid!, 'SIGKILL');
      const after = await until(`${slot} is back`, async () => {
        const worker = await service.worker(slot);
        return worker.state === 'ready' && worker.pid !== before.pid && worker;
      });
      t.match(after, { restarts: before.restarts + 1, last_exit: { signal: 'SIGKILL', code: null } });
    });
  }

  await t.test('after all that the chat and the room still answer', async (t) => {
    using chat = await connect(agentOf(home));
    const { complete } = await chat.turn(await chat.create(), 'say: 3 words');
    t.equal(complete.status, 'complete');
    await connected(service);
    person.say('#room', 'still there?');
    await until('the room answers', () => person.said('agent', '#room').some((text) => text.includes('still there?')));
  });
});
