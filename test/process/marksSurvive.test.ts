/** Whatever a worker starts inherits the mark of its incarnation: tools, scripts, MCP servers, terminals. */
import t from 'tap';
import { INCARNATION_VARIABLE } from '../../base/envFilter.ts';
import * as terminal from '../../ipc/contracts/terminal.ts';
import { markedProcesses } from '../../state/marks.ts';
import { connect } from '../harness/agentClient.ts';
import { cli } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';
import { fixture, node } from '../harness/mcp.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';
import { callTool } from '../../ipc/contracts/mcp.ts';
import { createJob, runJob } from '../../ipc/contracts/cron.ts';

t.setTimeout(240_000);

const mark = (name: string) => `test.${name}.${process.pid}`;
const env = (name: string) => ({ env: { [INCARNATION_VARIABLE]: mark(name) } });
const carriers = (name: string) => markedProcesses(INCARNATION_VARIABLE, (value) => value === mark(name)).map(({ pid }) => pid);

t.test('a command of the terminal tool carries the mark', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true, ...env('agent') });
  using client = await connect(worker);
  const { events } = await client.turn(await client.create(), `run: echo "[$${INCARNATION_VARIABLE}]"`);
  t.match(JSON.stringify(events), new RegExp(`\\[${mark('agent')}\\]`));
});

t.test('an MCP server carries the mark', async (t) => {
  using home = testHome({ 'config.yaml': JSON.stringify({ mcp_servers: { s: node(fixture('crashesMidCall')) } }) });
  await using worker = await startWorker(home, 'mcp', env('mcp'));
  using link = await worker.dial();
  const { text } = await link.call(callTool, { server: 's', tool: 'pid' });
  t.ok(carriers('mcp').includes(Number(text)));
  await worker.kill('SIGTERM');
});

t.test('a shell of the terminal carries the mark', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'terminal', env('terminal'));
  using link = await worker.dial();
  const { pid } = await link.call(terminal.open, { cols: 80, rows: 24 });
  t.ok(await until('the shell carries it', () => carriers('terminal').includes(pid)));
});

t.test('a script of cron carries the mark', async (t) => {
  using home = testHome();
  home.write('scripts/slow.sh', 'sleep 30\n');
  await using worker = await startWorker(home, 'cron', env('cron'));
  using link = await worker.dial();
  const { job } = await link.call(createJob, { schedule: '0 0 1 1 *', prompt: null, script: 'slow.sh' });
  await link.call(runJob, { job_id: job.id });
  const found = await until('the script carries it', () => carriers('cron').length >= 2 && carriers('cron'));
  t.ok(found.includes(worker.child.pid!), 'and so does the worker');
  await worker.kill('SIGTERM');
});

t.test('a supervisor started from a tool does not carry it: it must not end with that worker', async (t) => {
  using home = testHome();
  const result = await cli(['up', '--port', '0'], { home, env: { [INCARNATION_VARIABLE]: mark('up') } });
  t.teardown(() => cli(['down'], { home }));
  t.equal(result.code, 0, result.stderr);
  t.same(carriers('up'), []);
  t.equal((await cli(['down'], { home })).code, 0);
});
