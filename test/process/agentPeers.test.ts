import t from 'tap';
import type { EventParams } from '../../ipc/contracts/rpcEvents.ts';
import { listJobs } from '../../ipc/contracts/cron.ts';
import { listTools } from '../../ipc/contracts/mcp.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { everything, node } from '../harness/mcp.ts';
import { startWorker } from '../harness/worker.ts';

// A machine busy with other tests needs longer than tap's 30 s.
t.setTimeout(240_000);

t.test('a tool of an MCP server is called through the broker; without the broker the turn goes on and says so', async (t) => {
  using home = testHome({ 'config.yaml': JSON.stringify({ mcp_servers: { everything: node(everything) } }) });
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const sessionId = await client.create();
  const call = () => client.turn(sessionId, 'tool: mcp__everything__echo {"message":"hi"}');
  const toolsOf = (events: EventParams[]) => (events.findLast(({ type }) => type === 'session_info')!.payload as { tools: string[] }).tools;
  const first = await call();
  const pinned = toolsOf(first.events);
  t.match(first.complete, { status: 'complete', text: /^mcp__everything__echo failed:\nMCP_FAILED: .*not connected/ });
  const noticesOf = (events: EventParams[]) => events.filter(({ type }) => type === 'notice');
  t.equal(noticesOf(first.events).length, 1, 'the user is told that the tools are missing');
  {
    await using broker = await startWorker(home, 'mcp');
    using link = await broker.dial();
    // A turn waits only briefly for a broker that was away: here it has its tools before.
    await link.call(listTools, {});
    const { complete, events } = await call();
    t.match(complete, { status: 'complete', text: 'mcp__everything__echo returned:\nEcho: hi' });
    t.same(noticesOf(events), []);
    t.same(toolsOf(events).slice(0, pinned.length), pinned, 'tools that came later stand behind the pinned ones');
    t.match(await client.turn(sessionId, 'tool: mcp__everything__echo {"message":5}'), {
      complete: { text: /^mcp__everything__echo failed:\nWrong arguments for mcp__everything__echo: message: must be string/ },
    });
    t.ok(toolsOf(events).includes('mcp__everything__echo'));
    await broker.kill('SIGTERM');
  }
  t.match((await call()).complete, { status: 'complete', text: /MCP_FAILED/ });
});

t.test('every <schedule>: <prompt> makes a job in the cron worker; without the worker the tool says what to do', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const sessionId = await client.create();
  t.match((await client.turn(sessionId, 'every 1h: say: 5 words')).complete.text, /the cron worker does not answer.*agent start cron/);
  await using cron = await startWorker(home, 'cron', { demo: true });
  t.match((await client.turn(sessionId, 'every 1h: say: 5 words')).complete.text, /^cronjob returned:\nCreated: .*every 1h.*next \d{4}-/);
  const link = await cron.dial();
  t.teardown(() => link.destroy());
  t.match((await link.call(listJobs, {})).jobs, [{ prompt: 'say: 5 words', deliver: 'local', schedule: { display: 'every 1h' } }]);
  t.match((await client.turn(sessionId, 'every never: x')).complete.text, /BAD_SCHEDULE/);
});
