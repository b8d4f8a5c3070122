import t from 'tap';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dangerOfCommand } from '../../agent/approvals/commandLine.ts';
import { processTool } from '../../agent/tools/process.ts';
import { BackgroundProcesses } from '../../agent/tools/background.ts';
import type { CommandHost } from '../../agent/tools/command.ts';
import { executeCodeTool, findInterpreters } from '../../agent/tools/executeCode.ts';
import { createTools, defineTool } from '../../agent/tools/registry.ts';
import { plainText } from '../../agent/tools/runToEnd.ts';
import { SpilledText, SpillFolder } from '../../agent/tools/spill.ts';
import { terminalTool } from '../../agent/tools/terminal.ts';
import { limits } from '../../base/limits.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { tagCommand } from '../../state/limitTag.ts';
import { killTag } from '../../state/marks.ts';
import { until } from '../harness/until.ts';
import { z } from 'zod';

const dir = mkdtempSync(join(tmpdir(), 'agent-commands-'));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));

let marks = 0;
const host: CommandHost = {
  env: () => ({ PATH: process.env.PATH ?? '' }),
  spill: new SpillFolder(join(dir, 'spill')),
  trees: {
    mark() {
      const value = `${process.pid}.${++marks}`;
      return { value, env: { AGENT_TEST_MARK: value }, command: (file, args) => tagCommand(value, file, args) };
    },
    kill: (mark) => killTag('AGENT_TEST_MARK', mark),
  },
};
const run = { callId: 'c', signal: new AbortController().signal, progress() {} };
const terminal = (args: Record<string, unknown>) => terminalTool({ cwd: dir, host }).run(args, run);

t.test('what clears its environment and leaves the group of a command ends with it, also on a terminal', async (t) => {
  for (const [index, pty] of [false, true].entries()) {
    const { text } = await terminal({
      command: `mkfifo bare${index}; env -i setsid -f sh -c "echo bare \\$\\$ > bare${index}; exec sleep 321"; cat bare${index}`,
      pty,
    });
    t.equal(startTimeOf(Number(/bare (\d+)/.exec(text)![1])), undefined, pty ? 'on a terminal' : 'on pipes');
  }
});

t.test('lesson 33: what leaves the group of a command ends with it all the same', async (t) => {
  const { text } = await terminal({
    command: 'mkfifo told; setsid sh -c "echo stray \\$\\$; echo > told; exec sleep 321" & read -r _ < told',
  });
  const pid = Number(/stray (\d+)/.exec(text)![1]);
  t.notOk(startTimeOf(pid));
});

t.test('a command on a pseudoterminal sees one, and its output is plain text', async (t) => {
  const { text, data } = await terminal({
    command: 'test -t 0 && test -t 1 && stty size; printf "\\033[31mred\\033[0m 1%%\\r2%%\\n"; exit 5',
    pty: true,
  });
  t.match(text, /^40 120\nred 1%|2%/);
  t.match(text, /2%\n\[exit code 5\]$/);
  t.match(data, { exit_code: 5, signal: null });
  const slow = await terminal({ command: 'echo begun; trap "" TERM HUP; sleep 322', pty: true, timeout: 2 });
  t.match(slow, { isError: true, text: /begun[^]*stopped after 2 s/ });
});

t.test('a line that is drawn again and again is shown once', (t) => {
  t.equal(plainText('10%\r50%\r100%\r\nnext\r\n'), '100%\nnext\n');
  t.equal(plainText('\u001b[1mbold\u001b[0m'), 'bold');
  t.end();
});

t.test('a flood of lines is no flood of progress', async (t) => {
  const seen: string[] = [];
  await terminalTool({ cwd: dir, host }).run({ command: 'seq 1 20000' }, { ...run, progress: (line) => void seen.push(line) });
  t.ok(seen.length < 50, `${seen.length} previews`);
  t.equal(seen.at(-1), '20000', 'the last line is among them');
});

t.test('the recent output of a background command is bounded, and what is missed is said', async (t) => {
  const processes = new BackgroundProcesses(host);
  t.teardown(() => processes.close());
  const { process_id } = await processes.start({ sessionId: 's', command: 'seq 1 50000; exit 7', cwd: dir });
  await processes.wait(process_id, 's', { ms: 20_000, signal: run.signal });
  const row = processes.poll(process_id, 's');
  t.match(row, { state: 'ended', exit_code: 7, output: /49999\n50000\n$/ });
  t.equal(row.output.length, limits.tools.backgroundTailChars);
  t.equal(row.missed + row.output.length, 288_894);
  t.match(readFileSync(row.output_file!, 'utf8'), /^1\n2\n3\n/);
  t.throws(() => processes.poll(process_id, 'other'), { code: 'UNKNOWN_PROCESS' });
});

t.test('an interactive program in the background is talked to', async (t) => {
  const processes = new BackgroundProcesses(host);
  t.teardown(() => processes.close());
  const { process_id } = await processes.start({ sessionId: 's', command: 'read -p "name? " n; echo "hello $n"', cwd: dir, pty: true });
  await until('it asks', () => processes.log(process_id, 's').output.includes('name?'));
  processes.write(process_id, 's', { text: 'Ada\n', close: false, passed: true });
  await processes.wait(process_id, 's', { ms: 20_000, signal: run.signal });
  t.match(processes.log(process_id, 's').output, /hello Ada/);
});

t.test('what is written to a shell is judged as a whole, where the shell works', async (t) => {
  const processes = new BackgroundProcesses(host);
  t.teardown(() => processes.close());
  const { process_id } = await processes.start({ sessionId: 's', command: 'sleep 324', cwd: dir });
  const judged: [string, string | undefined][] = [];
  const tool = processTool({
    processes,
    sessionId: 's',
    dangerOf(command, workdir) {
      judged.push([command, workdir]);
      return dangerOfCommand(command, { cwd: '/elsewhere', workdir, home: '/home/u' });
    },
  });
  const write = async (text: string) => {
    const args = { action: 'write', process_id, text };
    const danger = tool.danger!(args);
    await tool.run(args, run);
    return danger;
  };
  t.equal(await write('cd /etc\n'), undefined);
  t.equal(await write('r'), undefined);
  t.match(await write('m -rf victim\n'), { command: 'm -rf victim\n', rule: undefined });
  t.same(judged.at(-2), ['cd /etc\nrm -rf victim\n', dir]);
  t.match(
    await write('echo x >> passwd\n'),
    { reasons: [/\/etc/] },
    'it is where cd led, and what was asked about is not asked about again',
  );
});

t.test('a waiting interrupt leaves the command alone', async (t) => {
  const processes = new BackgroundProcesses(host);
  const { process_id } = await processes.start({ sessionId: 's', command: 'sleep 323', cwd: dir });
  const stop = new AbortController();
  const waiting = processes.wait(process_id, 's', { ms: 60_000, signal: stop.signal });
  stop.abort(new Error('enough'));
  await t.rejects(waiting, { message: 'enough' });
  t.match(processes.list('s'), [{ state: 'running' }]);
  t.equal(processes.running, 1);
  await processes.close();
  t.same(processes.list(), []);
});

t.test('the folder of long outputs keeps to its bounds', (t) => {
  const folder = new SpillFolder(join(dir, 'bounded'));
  mkdirSync(folder.dir);
  const old = join(folder.dir, 'old.txt');
  writeFileSync(old, 'x');
  utimesSync(old, 1, 1);
  for (let n = 0; n < limits.tools.spillFilesMax + 5; n++) {
    const file = folder.open('x');
    file.write('some');
    file.close();
  }
  const names = readdirSync(folder.dir);
  t.equal(names.length, limits.tools.spillFilesMax);
  t.notOk(names.includes('old.txt'));
  t.equal(statSync(join(folder.dir, names[0]!)).mode & 0o777, 0o600);
  const large = folder.open('large');
  for (let n = 0; n < 20; n++) large.write('x'.repeat(1024 * 1024));
  t.equal(statSync(large.path).size, limits.tools.spillFileMaxBytes);
  t.match(large.problem, /only its first/);
  large.close();
  t.end();
});

t.test('without room for a file the output is shown in part and says so', (t) => {
  writeFileSync(join(dir, 'nofolder'), '');
  const text = new SpilledText(100, 'x', new SpillFolder(join(dir, 'nofolder')));
  text.push('y'.repeat(500));
  text.close();
  t.equal(text.path, null);
  t.match(text.note, /the full output was not kept: (?:EEXIST|ENOTDIR)/);
  t.match(text.toString(), /400 characters left out/);
  t.end();
});

t.test('scripts run by the interpreters that are there', async (t) => {
  const interpreters = findInterpreters(process.env.PATH ?? '');
  t.ok(interpreters.has('node') && interpreters.has('bash'));
  t.same([...findInterpreters('/nowhere').keys()], []);
  const tool = executeCodeTool({ cwd: dir, host, interpreters });
  t.match(await tool.run({ language: 'node', code: 'console.log(6 * 7)' }, run), { text: '42' });
  t.match(await tool.run({ language: 'node', code: 'while (true);', timeout: 0.3 }, run), { isError: true, text: /stopped after/ });
  t.match(await tool.run({ language: 'ruby', code: 'x' }, run), { isError: true, text: /Wrong arguments/ });
  t.match(tool.danger!({ language: 'node', code: 'x' }), { rule: /^this node script \([0-9a-f]{16}\)$/, reasons: [/node script/] });
  t.equal(tool.danger!({ language: 'bash', code: 'x' }), undefined, 'a shell script is judged as a command');
});

t.test('a slip in the syntax of arguments is mended for a tool that only reads, and only the log hears of it', async (t) => {
  const echo = defineTool({
    name: 'echo',
    toolset: 'x',
    description: '',
    readsOnly: true,
    args: z.object({ value: z.string().optional() }),
    run: async ({ value = '' }) => ({ text: value, isError: false }),
  });
  const repaired: string[] = [];
  const tools = createTools({ allowed: [echo], refused: new Map(), onRepair: ({ name }) => void repaired.push(name) });
  const call = (args: unknown) => tools.run({ id: 'c', name: 'echo', args }, run);
  for (const args of ['{"value": "hi",}', "{'value': 'hi'}", '```json\n{"value":"hi"}\n```', '{value: "hi",}'])
    t.match(await call(args), { text: 'hi', isError: false }, args);
  t.match(await call(''), { isError: false }, 'nothing is no arguments');
  t.equal(repaired.length, 4);
  for (const args of ['hi', '[1]', 5, null, '{"value": "hi"', '{"value": "hi'])
    t.match(await call(args), { isError: true, text: /not a JSON object/ });
});

t.test('unreadable arguments never reach a tool that changes something', async (t) => {
  const received: unknown[] = [];
  const write = defineTool({
    name: 'write',
    toolset: 'x',
    description: '',
    args: z.object({ value: z.string() }),
    run: async ({ value }) => (received.push(value), { text: value, isError: false }),
  });
  const tools = createTools({ allowed: [write], refused: new Map() });
  const call = (args: unknown) => tools.run({ id: 'c', name: 'write', args }, run);
  const texts = ['{"value": "hi"', '{"value": "rm ${HOME}', '{"value": "hi",}', "{'value': 'hi'}", '```json\n{"value":"hi"}\n```'];
  for (const args of texts) t.match(await call(args), { isError: true, text: /^Not run/ }, args);
  t.same(received, []);
  t.match(await call({ value: 'hi' }), { isError: false });
});

t.test('a result that is too long for the model is kept whole in a file', async (t) => {
  const long = 'z'.repeat(120_000);
  const flood = defineTool({
    name: 'flood',
    toolset: 'x',
    description: '',
    args: z.object({}),
    run: async () => ({ text: long, isError: false }),
  });
  const { text } = await createTools({ allowed: [flood], refused: new Map(), spill: host.spill }).run(
    { id: 'c', name: 'flood', args: {} },
    run,
  );
  t.ok(text.length <= limits.turn.toolOutputMaxChars);
  t.equal(readFileSync(/\[full output: (.*)\]$/.exec(text)![1]!, 'utf8'), long);
});
