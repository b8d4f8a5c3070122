import t from 'tap';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionDelete, sessionInterrupt, sessionResume } from '../../ipc/contracts/rpc.ts';
import { commandDispatch } from '../../ipc/contracts/rpcCommands.ts';
import { sessionPlan } from '../../ipc/contracts/rpcSessions.ts';
import { processList, processStop, toolsList } from '../../ipc/contracts/rpcTools.ts';
import { markedProcesses } from '../../state/marks.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { connect, useTool as use, type AgentClient } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

// What is asked about is another story: agentDangers.test.ts.
const settings = "approvals: { mode: 'off' }\n";
const home = testHome({ 'config.yaml': settings });
const worker = await startWorker(home, 'agent', { demo: true });
const work = mkdtempSync(join(tmpdir(), 'agent-work-'));
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
  rmSync(work, { recursive: true, force: true });
});

const create = (client: AgentClient) => client.create({ source: 'cli', cwd: work });
/** Processes that carry the mark of this worker's tools. */
const marked = (pids: number[]) => markedProcesses('AGENT_TOOL_MARK', () => true).filter(({ pid }) => pids.includes(pid));

t.test('a background command survives its turn, can be read, written to and ended', async (t) => {
  using client = await connect(worker);
  const sessionId = await create(client);
  const started = await use(client, sessionId, 'terminal', {
    command: 'echo ready; while read line; do echo "got $line"; done',
    background: true,
  });
  const process_id = String(started.result.process_id);
  t.match(started, { is_error: false, result_text: new RegExp(`^Started ${process_id}`) });
  await until('it has said something', async () => (await client.link.call(processList, {})).processes[0]!.output_tail.includes('ready'));
  t.match(await use(client, sessionId, 'process', { action: 'poll', process_id }), { result_text: /^ready\n\[proc_\w+ is running\]/ });
  await use(client, sessionId, 'process', { action: 'write', process_id, text: 'one\n', close: true });
  t.match(await use(client, sessionId, 'process', { action: 'wait', process_id }), {
    result_text: /^got one\n\[proc_\w+ ended with exit code 0\]/,
  });
  t.match(
    await use(client, sessionId, 'process', { action: 'poll', process_id }),
    { result_text: /^\[proc/ },
    'what was read is not given twice',
  );
  t.match(await use(client, sessionId, 'process', { action: 'log', process_id }), { result_text: /^ready\ngot one\n/ });
  t.match(await use(client, sessionId, 'process', { action: 'write', process_id, text: 'x' }), {
    is_error: true,
    result_text: /it has ended/,
  });
  const other = await create(client);
  t.match(
    await use(client, other, 'process', { action: 'poll', process_id }),
    { is_error: true, result_text: /^UNKNOWN_PROCESS/ },
    'another session does not see it',
  );
});

t.test('process.stop ends a command with what left its group, and process.list says so', async (t) => {
  using client = await connect(worker);
  const sessionId = await create(client);
  await use(client, sessionId, 'terminal', { command: 'setsid sleep 311 & echo "stray $!"; sleep 312', background: true });
  const row = await until('the stray is there', async () => {
    const { processes } = await client.link.call(processList, { session_id: sessionId });
    return /stray \d+/.test(processes[0]!.output_tail) && processes[0];
  });
  const stray = Number(/stray (\d+)/.exec(row.output_tail)![1]);
  t.ok(startTimeOf(stray), 'it lives');
  t.same(await client.link.call(processStop, { process_id: row.process_id }), { stopped: true });
  t.notOk(startTimeOf(stray), 'it is gone with the answer');
  t.match((await client.link.call(processList, { session_id: sessionId })).processes, [{ state: 'ended', command: /setsid/ }]);
  t.same(await client.link.call(processStop, { process_id: row.process_id }), { stopped: false });
  await t.rejects(client.link.call(processStop, { process_id: 'proc_none' }), { code: 'UNKNOWN_PROCESS' });
});

t.test('the background commands of a session end with it, and a session has only so many', async (t) => {
  using client = await connect(worker);
  const sessionId = await create(client);
  const pids: number[] = [];
  for (let n = 0; n < 8; n++) {
    const { result } = await use(client, sessionId, 'terminal', { command: 'echo "pid $$"; sleep 313', background: true });
    const row = await until('it runs', async () =>
      (await client.link.call(processList, { session_id: sessionId })).processes.find(
        ({ process_id, output_tail }) => process_id === result.process_id && /pid \d+/.test(output_tail),
      ),
    );
    pids.push(Number(/\d+/.exec(row.output_tail)![0]));
  }
  t.match(await use(client, sessionId, 'terminal', { command: 'sleep 313', background: true }), {
    is_error: true,
    result_text: /^TOO_MANY_PROCESSES/,
  });
  t.equal(marked(pids).length, 8);
  await client.link.call(sessionDelete, { session_id: sessionId });
  await until('all of them are gone', () => marked(pids).length === 0);
});

t.test('after SIGKILL of the worker nothing that its tools started is left once the next one serves', async (t) => {
  using other = testHome({ 'config.yaml': settings });
  const first = await startWorker(other, 'agent', { demo: true });
  using client = await connect(first);
  const sessionId = await create(client);
  await use(client, sessionId, 'terminal', { command: 'setsid sleep 314 & echo "pids $$ $!"; sleep 315', background: true });
  await use(client, sessionId, 'terminal', { command: 'setsid sleep 316 & echo "pids $$ $!"; sleep 317', background: true, pty: true });
  const pids = await until('both run', async () => {
    const { processes } = await client.link.call(processList, {});
    const found = processes.flatMap(({ output_tail }) => /pids (\d+) (\d+)/.exec(output_tail)?.slice(1).map(Number) ?? []);
    return found.length === 4 && found;
  });
  // A foreground one as well, on another session.
  const busy = await create(client);
  await client.submit(busy, 'run: setsid sleep 318 & echo "pids $$ $!"; sleep 319');
  const { payload } = await client.next('tool.progress', (params) => /pids/.test(String(params.payload.preview)));
  pids.push(...String(payload.preview).match(/\d+/g)!.map(Number));
  t.equal(pids.filter((pid) => startTimeOf(pid)).length, 6);
  await first.kill('SIGKILL');
  await using second = await startWorker(other, 'agent', { demo: true });
  await until('nothing is left', () => pids.every((pid) => startTimeOf(pid) === undefined));
  using after = await connect(second);
  t.same((await after.link.call(processList, {})).processes, []);
  t.match(await use(after, sessionId, 'process', { action: 'poll', process_id: 'proc_x' }), {
    result_text: /those of an earlier worker ended with it/,
  });
});

t.test('the plan of a session is written with its event, and session.plan gives it', async (t) => {
  using client = await connect(worker);
  const session_id = await create(client);
  t.same(await client.link.call(sessionPlan, { session_id }), { todos: [], revision: 0 });
  const { events } = await client.turn(
    session_id,
    `tool: todo ${JSON.stringify({ todos: [{ id: 'a', content: 'first', status: 'in_progress' }] })}`,
  );
  const plan = { todos: [{ id: 'a', content: 'first', status: 'in_progress' }], revision: 1 };
  t.same(events.find(({ type }) => type === 'todo.updated')!.payload, plan);
  t.same(await client.link.call(sessionPlan, { session_id }), plan);
  t.same((await client.link.call(sessionResume, { session_id })).plan, plan);
  await use(client, session_id, 'todo', {
    todos: [
      { id: 'a', status: 'completed' },
      { id: 'b', content: 'second', parent: 'a' },
    ],
    merge: true,
  });
  t.match(await client.link.call(sessionPlan, { session_id }), {
    revision: 2,
    todos: [
      { id: 'a', status: 'completed', content: 'first' },
      { id: 'b', parent: 'a' },
    ],
  });
  const before = client.events.length;
  t.match(await use(client, session_id, 'todo', {}), { result_text: /^\[x\] a: first\n\[ \] b: second \(of a\)/ });
  t.notOk(
    client.events.slice(before).some(({ type }) => type === 'todo.updated'),
    'a reading changes nothing',
  );
});

t.test('files are written, changed and searched through the tools', async (t) => {
  using client = await connect(worker);
  const sessionId = await create(client);
  t.match(await use(client, sessionId, 'write_file', { path: 'src/deep/a.ts', content: 'const one = 1;\nconst two = 2;\n' }), {
    is_error: false,
    result: { created: true },
  });
  t.match(await use(client, sessionId, 'patch', { path: 'src/deep/a.ts', old_string: 'two = 2', new_string: 'two = 3' }), {
    result_text: /-const two = 2;\n\+const two = 3;/,
  });
  t.match(await use(client, sessionId, 'search_files', { pattern: 'two = \\d' }), {
    result: { hits: [{ line: 2, text: 'const two = 3;' }] },
  });
  t.match(await use(client, sessionId, 'search_files', { pattern: '*.ts', target: 'files' }), { result_text: /src\/deep\/a\.ts/ });
  for (const path of [join(home.root, 'state.db'), home.env])
    t.match(await use(client, sessionId, 'write_file', { path, content: '' }), {
      is_error: true,
      result: { denied: true },
      result_text: /^BLOCKED: this is never run here/,
    });
});

t.test('lesson 34: an expression that would never come back holds up nobody, and an interrupt ends it', async (t) => {
  using client = await connect(worker);
  const session_id = await create(client);
  writeFileSync(join(work, 'xs.txt'), `${'x'.repeat(250)}\n`);
  await client.submit(session_id, `tool: search_files ${JSON.stringify({ pattern: '(x+x+)+y', path: 'xs.txt' })}`);
  await client.next('tool.start');
  t.match(await client.turn(await create(client), 'say: 1 word'), { complete: { text: 'alpha' } }, 'another session goes on');
  await client.link.call(sessionInterrupt, { session_id });
  t.match((await client.next('tool.complete')).payload, { is_error: true, result_text: /^Interrupted/ });
});

t.test('a long output is shown in part, and the file with all of it can be read', async (t) => {
  using client = await connect(worker);
  const sessionId = await create(client);
  const { result, result_text } = await use(client, sessionId, 'terminal', { command: 'seq 1 100000' });
  t.ok(result_text.length <= 50_000);
  const path = String(result.output_file);
  t.match(result_text, new RegExp(`\\[full output: ${path}\\]$`));
  t.equal(readFileSync(path, 'utf8'), `${Array.from({ length: 100_000 }, (_, n) => n + 1).join('\n')}\n`);
  t.match(await use(client, sessionId, 'read_file', { path, offset: 54_321, limit: 1 }), { result_text: /54321 {2}54321/ });
});

t.test('execute_code runs a script in a folder of its own that is gone afterwards', async (t) => {
  using client = await connect(worker);
  const sessionId = await create(client);
  const { result_text } = await use(client, sessionId, 'execute_code', {
    language: 'node',
    code: 'console.log(process.cwd()); console.log(process.env.SESSION_DIR); console.log(Object.keys(process.env).filter((k) => /KEY|TOKEN/.test(k)).length)',
  });
  const [dir, cwd, secrets] = result_text.split('\n');
  t.match(dir, /agent-code-/);
  t.notOk(existsSync(dir!));
  t.same([cwd, secrets], [work, '0']);
  t.match(await use(client, sessionId, 'execute_code', { language: 'bash', code: 'exit 3' }), { result_text: '[exit code 3]' });
});

t.test(
  'terminal.env_passthrough opens names one by one, keys of the service never, and terminal.timeout_seconds is the time of a command',
  async (t) => {
    home.write('config.yaml', settings + 'terminal: { env_passthrough: [MY_FLAG, MY_API_KEY, AGENT_HOME, "*"] }\n');
    home.write('.env', 'MY_FLAG=on\nMY_API_KEY=sk-secret-of-the-service\n');
    t.teardown(() => {
      home.write('config.yaml', settings);
      home.write('.env', '');
    });
    using client = await connect(worker);
    const sessionId = await create(client);
    const { result_text } = await use(client, sessionId, 'terminal', { command: 'env' });
    t.match(result_text, /^MY_FLAG=on$/m);
    t.notMatch(result_text, /sk-secret|MY_API|AGENT_HOME/);
    home.write('config.yaml', settings + 'terminal: { timeout_seconds: 0.4 }\n');
    t.match(await use(client, sessionId, 'terminal', { command: 'sleep 333' }), { is_error: true, result_text: /stopped after 0\.4 s/ });
  },
);

t.test('a full disk costs neither the old file nor the command', async (t) => {
  const small = join(work, 'small');
  mkdirSync(small);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small], { stdio: 'ignore' });
  } catch {
    return void t.pass('mounting is not allowed here');
  }
  t.teardown(() => execFileSync('umount', [small]));
  using client = await connect(worker);
  const sessionId = await create(client);
  await use(client, sessionId, 'write_file', { path: 'small/a.txt', content: 'old\n' });
  t.match(await use(client, sessionId, 'write_file', { path: 'small/a.txt', content: 'x'.repeat(200_000) }), {
    is_error: true,
    result_text: /^DISK_FULL/,
  });
  t.equal(readFileSync(join(small, 'a.txt'), 'utf8'), 'old\n');
  const two = `--- a/small/a.txt\n+++ b/small/a.txt\n@@ -1 +1 @@\n-old\n+new\n--- /dev/null\n+++ b/small/b.txt\n@@ -0,0 +1 @@\n+${'y'.repeat(100_000)}\n`;
  t.match(await use(client, sessionId, 'patch', { mode: 'patch', patch: two }), { is_error: true, result_text: /^DISK_FULL/ });
  t.equal(readFileSync(join(small, 'a.txt'), 'utf8'), 'old\n', 'the first file is as it was');
  t.notOk(existsSync(join(small, 'b.txt')));
});

t.test('tools.list says what a place has, what not, and how to get it', async (t) => {
  using client = await connect(worker);
  const cli = await client.link.call(toolsList, {});
  t.equal(cli.platform, 'cli');
  t.same(
    cli.toolsets.filter(({ enabled }) => !enabled),
    [],
  );
  t.match(
    cli.toolsets.find(({ name }) => name === 'web')!.tools.find(({ name }) => name === 'web_search'),
    { description: /not offered: .*web\.search/, unavailable: /^no search service.*web\.search/ },
  );
  const session_id = await client.create({ source: 'cli' });
  const answer = await client.link.call(commandDispatch, { session_id, line: '/tools', surface: 'cli' });
  const output = 'text' in answer ? answer.text : '';
  t.notMatch(output, /^✓ web .*web_search/m);
  t.match(output, /^web_search is not available: no search service is configured\. For SearXNG: agent config set web\.search/m);
  const irc = await client.link.call(toolsList, { platform: 'irc' });
  t.same(
    irc.toolsets.filter(({ enabled }) => !enabled).map(({ name }) => name),
    ['terminal', 'file', 'code_execution'],
  );
  t.match(irc.toolsets.find(({ name }) => name === 'terminal')!.refused, /platform_toolsets\.irc/);
  t.match(
    (await client.link.call(toolsList, { platform: 'cron' })).toolsets.find(({ name }) => name === 'messaging'),
    { enabled: false },
  );
  await t.rejects(client.link.call(toolsList, { platform: '../x' }), { code: 'BAD_REQUEST', field: 'platform' });
});
