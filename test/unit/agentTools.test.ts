import t from 'tap';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { MemoryStore, ToolRun } from '../../agent/ports.ts';
import { memoryTool } from '../../agent/tools/memory.ts';
import { CappedText, cutMiddle } from '../../agent/tools/outputCap.ts';
import { readFileTool } from '../../agent/tools/readFile.ts';
import { createTools, defineTool } from '../../agent/tools/registry.ts';
import type { FinishedCommand } from '../../agent/tools/runToEnd.ts';
import { terminalTool } from '../../agent/tools/terminal.ts';
import { limits } from '../../base/limits.ts';
import { groupAlive, startTimeOf } from '../../state/processIdentity.ts';
import { until } from '../harness/until.ts';

const dir = mkdtempSync(join(tmpdir(), 'agent-tools-'));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));

const quiet = (signal: AbortSignal = new AbortController().signal, progress: ToolRun['progress'] = () => {}): ToolRun => ({
  callId: 'c',
  signal,
  progress,
});
const PATH = process.env.PATH ?? '';

function terminal(env: Record<string, string> = { PATH }) {
  const groups: number[] = [];
  const tool = terminalTool({ cwd: dir, host: { env: () => env, groups: { started: (pgid) => void groups.push(pgid), ended() {} } } });
  return {
    groups,
    run: (args: Record<string, unknown>, signal?: AbortSignal, progress?: ToolRun['progress']) => tool.run(args, quiet(signal, progress)),
  };
}

t.test('a command returns its output of both kinds and its exit code', async (t) => {
  const { run } = terminal();
  t.match(await run({ command: 'echo out; echo err >&2; exit 3' }), {
    isError: false,
    data: { exit_code: 3, output: 'out\nerr\n', timed_out: false },
    text: 'out\nerr\n[exit code 3]',
  });
  t.match(await run({ command: 'true' }), { text: '[no output, exit code 0]' });
  t.match(await run({ command: 'kill -9 $$' }), { isError: true, text: '[ended by SIGKILL]' });
});

t.test('a command runs where it is told and sees only the environment it is given', async (t) => {
  mkdirSync(join(dir, 'sub'), { recursive: true });
  const { run } = terminal({ PATH, GREETING: 'hello' });
  process.env.AGENT_TEST_API_KEY = 'sk-secret';
  t.teardown(() => delete process.env.AGENT_TEST_API_KEY);
  t.match(await run({ command: 'pwd; echo "$GREETING [$AGENT_TEST_API_KEY]"', workdir: join(dir, 'sub') }), {
    text: `${join(dir, 'sub')}\nhello []`,
  });
  await t.rejects(run({ command: 'true', workdir: '/nowhere' }), { code: 'NOT_FOUND' });
});

t.test('a command over its time is ended with everything it started', async (t) => {
  const { run, groups } = terminal();
  const result = await run({ command: 'echo begun; sleep 300 & trap "" TERM; sleep 300', timeout: 2 });
  t.match(result, { isError: true, text: /^begun\n\[stopped after 2 s/, data: { timed_out: true } });
  await until('the group is gone', () => !groupAlive(groups[0]!));
});

t.test('an interrupt ends a command that ignores SIGTERM, and its children', async (t) => {
  const { run, groups } = terminal();
  const controller = new AbortController();
  let said = '';
  const running = run({ command: 'trap "" TERM; sleep 301 & echo $!; wait; sleep 301' }, controller.signal, (line) => (said = line));
  await until('it runs', () => said !== '');
  controller.abort();
  t.match(await running, { text: `${said}\n[ended by SIGKILL]` });
  await until('the grandchild is gone', () => startTimeOf(Number(said)) === undefined);
  await until('the group is gone', () => !groupAlive(groups[0]!));
});

t.test('a background process does not hold the command open and does not outlive it', async (t) => {
  const { run, groups } = terminal();
  t.match(await run({ command: 'sleep 302 & echo started' }), { text: 'started' });
  await until('the group is gone', () => !groupAlive(groups[0]!));
});

t.test('of a flood of output the head and the tail are kept', async (t) => {
  const { run } = terminal();
  const { text, data } = await run({ command: 'echo first; seq 1 200000; echo last' });
  t.match(text, /^first\n1\n/);
  t.match(text, /characters left out/);
  t.match(text, /200000\nlast$/);
  t.ok(text.length < limits.turn.toolOutputMaxChars + 100);
  t.equal((data as FinishedCommand).truncated, true);
});

t.test('capped text is the text itself until it is too long', async (t) => {
  const small = new CappedText(10);
  for (const part of ['abc', 'defg', 'hij']) small.push(part);
  t.equal(small.toString(), 'abcdefghij');
  const large = new CappedText(10);
  for (let n = 0; n < 100; n++) large.push(String(n % 10));
  t.equal(large.toString(), '0123\n[… 90 characters left out …]\n456789');
  t.equal(cutMiddle('0123456789abcdef', 10), '0123\n[… 6 characters left out …]\nabcdef');
});

const reader = readFileTool({ cwd: dir, isSecret: (path) => path.endsWith('/.env') });
const read = (args: Record<string, unknown>) => reader.run(args, quiet());

t.test('a file is read by lines, with numbers and a way to go on', async (t) => {
  writeFileSync(join(dir, 'lines.txt'), Array.from({ length: 30 }, (_, n) => `line ${n + 1}`).join('\n'));
  t.match(await read({ path: 'lines.txt', offset: 9, limit: 2 }), {
    isError: false,
    text: ' 9  line 9\n10  line 10\n[more lines follow: offset 11]',
    data: { more: true, lines: 2 },
  });
  t.match(await read({ path: join(dir, 'lines.txt'), offset: 30 }), { text: '30  line 30', data: { more: false } });
  t.match(await read({ path: 'lines.txt', offset: 31 }), { text: /fewer than 31 lines/ });
  writeFileSync(join(dir, 'empty'), '');
  t.match(await read({ path: 'empty' }), { text: /is empty/ });
  writeFileSync(join(dir, 'wide'), 'x'.repeat(100_000));
  t.ok((await read({ path: 'wide' })).text.length < limits.tools.readLineMaxChars + 100);
});

t.test('what is no readable text file is refused with the reason', async (t) => {
  writeFileSync(join(dir, 'binary'), Buffer.from([0x7f, 0x45, 0x00, 0x01]));
  writeFileSync(join(dir, 'huge'), '');
  truncateSync(join(dir, 'huge'), limits.tools.readFileMaxBytes + 1);
  writeFileSync(join(dir, '.env'), 'KEY=secret');
  symlinkSync(join(dir, '.env'), join(dir, 'innocent'));
  execFileSync('mkfifo', [join(dir, 'pipe')]);
  const table: [string, string, RegExp][] = [
    ['missing.txt', 'NOT_FOUND', /ENOENT/],
    ['.', 'BAD_REQUEST', /directory/],
    ['binary', 'BAD_REQUEST', /binary/],
    ['huge', 'BAD_REQUEST', /not read/],
    ['pipe', 'BAD_REQUEST', /not a regular file/],
    ['/dev/zero', 'BAD_REQUEST', /not a regular file/],
    ['.env', 'TOOL_REFUSED', /secrets/],
    ['innocent', 'TOOL_REFUSED', /secrets/],
  ];
  for (const [path, code, message] of table) await t.rejects(read({ path }), { code, message }, path);
});

function memory(): {
  run: (args: Record<string, unknown>) => ReturnType<ReturnType<typeof memoryTool>['run']>;
  files: Record<string, string>;
} {
  const files: Record<string, string> = { memory: '', user: '' };
  const store: MemoryStore = { read: (target) => files[target]!, write: (target, text) => void (files[target] = text) };
  const tool = memoryTool(store);
  return { files, run: (args) => tool.run(args, quiet()) };
}

t.test('memory adds, replaces and removes entries, and refuses what does not fit', async (t) => {
  const { run, files } = memory();
  await run({ action: 'add', content: 'likes tea' });
  await run({ action: 'add', content: 'lives in Bern' });
  await run({ action: 'add', content: 'likes tea' });
  t.equal(files.memory, 'likes tea\n§\nlives in Bern\n');
  await run({ action: 'replace', old_text: 'Bern', content: 'lives in Basel' });
  await run({ action: 'remove', old_text: 'tea' });
  t.equal(files.memory, 'lives in Basel\n');
  await t.rejects(run({ action: 'add', target: 'user', content: 'x'.repeat(limits.tools.userMaxChars + 1) }), {
    code: 'TOOL_REFUSED',
    fix: /remove or shorten/,
  });
  t.equal(files.user, '');
  await t.rejects(run({ action: 'remove', old_text: 'nothing like it' }), { code: 'NOT_FOUND' });
});

t.test('a bad call comes back as a result the model can act on', async (t) => {
  const echo = defineTool({
    name: 'echo',
    toolset: 'x',
    description: '',
    args: z.object({ value: z.string() }),
    run: async ({ value }) => ({ text: value, isError: false }),
  });
  const tools = createTools({ allowed: [echo], refused: new Map([['terminal', 'not here, because']]) });
  const call = (name: string, args: unknown) => tools.run({ id: '1', name, args }, quiet());
  t.match(await call('echo', { value: 'hi' }), { text: 'hi', isError: false });
  t.match(await call('echo', { value: 5 }), { isError: true, text: /Wrong arguments for echo: value: .*string/ });
  t.match(await call('echo', 'say hi'), { isError: true, text: /not a JSON object: "say hi".*\{"value"/ });
  t.match(await call('echo', '[1]'), { isError: true, text: /not a JSON object/ });
  t.match(await call('terminal', {}), { isError: true, text: 'TOOL_REFUSED: not here, because' });
  t.match(await call('nope', {}), { isError: true, text: /^TOOL_UNKNOWN: .*use one of echo/ });
  t.match(tools.specs, [{ name: 'echo', parameters: { type: 'object', properties: { value: { type: 'string' } } } }]);
});

t.test('the description of a tool never mentions what it does not take', async (t) => {
  const { parameters } = terminalTool({ cwd: dir, host: { env: () => ({}) } });
  t.same(Object.keys(parameters.properties as object), ['command', 'background', 'pty', 'workdir', 'timeout']);
  t.same(parameters.required, ['command']);
});
