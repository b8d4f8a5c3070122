/** Every door through which a tool can do harm: each is asked about, a no holds, a yes runs it. */
import t from 'tap';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionResume } from '../../ipc/contracts/rpc.ts';
import { commandDispatch } from '../../ipc/contracts/rpcCommands.ts';
import type { EventPayloads } from '../../ipc/contracts/rpcEvents.ts';
import { answerApproval, connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const home = testHome();
const root = mkdtempSync(join(tmpdir(), 'agent-dangers-'));
const [work, outside, temporary] = ['work', 'outside', 'temporary'].map((name) => {
  mkdirSync(join(root, name));
  return join(root, name);
}) as [string, string, string];
// Its own folder for temporary files: what is beside it is outside, as on a machine.
const worker = await startWorker(home, 'agent', { demo: true, env: { TMPDIR: temporary } });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
  rmSync(root, { recursive: true, force: true });
});

const victim = join(work, 'victim');
const written = join(outside, 'written.txt');
const patched = join(outside, 'patched.txt');

interface Source {
  name: string;
  tool: string;
  args: Record<string, unknown>;
  reason: RegExp;
  /** As it is before the call. */
  prepare(): void;
  ran(): boolean;
}

const deletes = { reason: /rm -r deletes folders/, prepare: () => mkdirSync(victim, { recursive: true }), ran: () => !existsSync(victim) };
const writes = (path: string, before: string) => ({
  reason: /outside the working directory/,
  prepare: () => writeFileSync(path, before),
  ran: () => readFileSync(path, 'utf8') === 'new\n',
});

const sources: Source[] = [
  { name: 'a command', tool: 'terminal', args: { command: `rm -r ${victim}` }, ...deletes },
  { name: 'a command in the background', tool: 'terminal', args: { command: `rm -r ${victim}`, background: true }, ...deletes },
  { name: 'a shell script', tool: 'execute_code', args: { language: 'bash', code: `rm -r ${victim}` }, ...deletes },
  {
    ...deletes,
    name: 'a program',
    tool: 'execute_code',
    args: { language: 'node', code: `import { rmdirSync } from 'node:fs'; rmdirSync(${JSON.stringify(victim)});` },
    reason: /node script/,
  },
  { name: 'a file outside', tool: 'write_file', args: { path: written, content: 'new\n' }, ...writes(written, 'old\n') },
  {
    name: 'a change of a file outside',
    tool: 'patch',
    args: { path: patched, old_string: 'old', new_string: 'new' },
    ...writes(patched, 'old\n'),
  },
  {
    name: 'a patch of a file outside',
    tool: 'patch',
    args: { mode: 'patch', patch: `--- ${patched}\n+++ ${patched}\n@@ -1 +1 @@\n-old\n+new\n` },
    ...writes(patched, 'old\n'),
  },
];

type Completed = EventPayloads['tool.complete'];

for (const { name, tool, args, reason, prepare, ran } of sources) {
  t.test(`${name} (${tool}) is asked about; a no holds, a yes runs it`, async (t) => {
    using client = await connect(worker);
    const session_id = await client.create({ source: 'cli', cwd: work });
    const ask = async (choice: 'once' | 'deny') => {
      const turn = client.turn(session_id, `tool: ${tool} ${JSON.stringify(args)}`);
      t.match(await answerApproval(client, session_id, choice), { tool_name: tool, reasons: [reason] });
      return (await turn).events.find(({ type }) => type === 'tool.complete')!.payload as Completed;
    };
    prepare();
    t.match(await ask('deny'), { is_error: true, result: { denied: true }, result_text: /^DENIED/ });
    t.notOk(ran(), 'nothing ran');
    t.match(await ask('once'), { is_error: false });
    await until('it ran', ran);
    prepare();
    t.match(await ask('deny'), { result_text: /^DENIED/ }, 'once was for that call alone');
    t.notOk(ran());
  });
}

t.test('what is written to a shell in the background is asked about as a command is', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create({ source: 'cli', cwd: work });
  const use = async (tool: string, args: object) =>
    (await client.turn(session_id, `tool: ${tool} ${JSON.stringify(args)}`)).events.find(({ type }) => type === 'tool.complete')!
      .payload as Completed & { result: Record<string, unknown> };
  const { process_id } = (await use('terminal', { command: 'sh', background: true })).result;
  const write = (text: string) => use('process', { action: 'write', process_id, text });
  deletes.prepare();
  const denied = write(`rm -r ${victim}; echo done > ${work}/said\n`);
  t.match(await answerApproval(client, session_id, 'deny'), { tool_name: 'process', reasons: [deletes.reason] });
  t.match(await denied, { is_error: true, result_text: /^DENIED/ });
  t.match(await write(`echo harmless > ${work}/said\n`), { is_error: false }, 'the shell lives, and what is harmless is not asked about');
  await until('it was read', () => existsSync(join(work, 'said')) && readFileSync(join(work, 'said'), 'utf8') === 'harmless\n');
  t.notOk(deletes.ran(), 'the shell never saw the other line');
  const allowed = write(`rm -r ${victim}\n`);
  await answerApproval(client, session_id, 'once');
  t.match(await allowed, { is_error: false });
  await until('it ran', deletes.ran);
});

t.test('what /bg works on asks in the conversation that began it, which goes on meanwhile', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create({ source: 'cli', cwd: work });
  const begin = () => client.link.call(commandDispatch, { session_id, line: `/bg run: rm -r ${victim}`, surface: 'cli' });
  deletes.prepare();
  for (const { choice, want } of [
    { choice: 'deny' as const, want: /DENIED: the user denied this/ },
    { choice: 'once' as const, want: /returned/ },
  ]) {
    const from = client.events.length;
    await begin();
    await client.next('status.update', ({ payload }) => payload.kind === 'waiting', from);
    t.equal((await client.link.call(sessionResume, { session_id })).status, 'waiting');
    t.match((await client.turn(session_id, 'say: 1 word')).complete, { status: 'complete' });
    t.match(await answerApproval(client, session_id, choice), { session_id, description: /^terminal \(for “Background: run: rm -r/ });
    t.match((await client.next('background.complete', undefined, from)).payload, { text: want });
    t.equal(deletes.ran(), choice === 'once');
    const said = client.events.slice(from).filter(({ type, session_id: of }) => type === 'status.update' && of === session_id);
    t.match(
      said.map(({ payload }) => payload),
      [
        { kind: 'waiting', phase: 'start' },
        { kind: 'waiting', phase: 'end', text: '' },
      ],
      'and says when it no longer waits',
    );
  }
});

t.test('approvals.mode off asks about none of them, and the blocklist holds', async (t) => {
  home.write('config.yaml', "approvals: { mode: 'off' }\n");
  t.teardown(() => home.write('config.yaml', ''));
  using client = await connect(worker);
  const session_id = await client.create({ source: 'cli', cwd: work });
  for (const { name, tool, args, prepare, ran } of sources) {
    prepare();
    await client.turn(session_id, `tool: ${tool} ${JSON.stringify(args)}`);
    await until(`${name} ran`, ran);
  }
  const { events } = await client.turn(session_id, `tool: write_file ${JSON.stringify({ path: home.env, content: 'x' })}`);
  t.match(events.find(({ type }) => type === 'tool.complete')?.payload, { is_error: true, result_text: /^BLOCKED/ });
});
