/** The tools of a worker whose configuration demands the sandbox: commands, scripts, files, background work, and its end. */
import t, { type Test } from 'tap';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { markedProcesses } from '../../state/marks.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { connect, useTool as use } from '../harness/agentClient.ts';
import { requirePackage } from '../harness/debianPackage.ts';
import { testHome } from '../harness/home.ts';
import { lastingFolder } from '../harness/lastingFolder.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.setTimeout(240_000);

async function stage(t: Test, sandbox: string) {
  await requirePackage('bubblewrap', '/usr/bin/bwrap');
  const home = testHome({ 'config.yaml': `approvals: { mode: 'off' }\nsandbox: ${sandbox}\n`, '.env': 'MY_API_KEY=CANARY\n' });
  const root = lastingFolder('sandbox');
  const work = join(root, 'work');
  mkdirSync(work);
  writeFileSync(join(root, 'outside'), 'outside\n');
  const worker = await startWorker(home, 'agent', { demo: true });
  t.teardown(async () => {
    await worker[Symbol.asyncDispose]();
    home[Symbol.dispose]();
    rmSync(root, { recursive: true, force: true });
  });
  const client = await connect(worker);
  t.teardown(() => client[Symbol.dispose]());
  const sessionId = await client.create({ source: 'cli', cwd: work });
  const tool = (name: string, args: Record<string, unknown>) => use(client, sessionId, name, args);
  return { home, root, work, worker, tool };
}

t.test('commands, scripts and file tools share the working directory and /tmp, and reach nothing else', async (t) => {
  const { home, root, work, tool } = await stage(t, '{ level: workspace }');
  const outside = join(root, 'outside');
  t.match(await tool('terminal', { command: `echo in > made; echo x > ${outside}` }), {
    result_text: /Read-only file system/,
  });
  t.equal(readFileSync(outside, 'utf8'), 'outside\n');
  t.equal(readFileSync(join(work, 'made'), 'utf8'), 'in\n');
  // Lines that the list of what is never run does not know.
  t.match(await tool('terminal', { command: `ls -A ${home.root}; for f in ${home.root}/.e* ${home.root}/ru*/to*; do cat "$f"; done` }), {
    result: { exit_code: 1, output: /No such file or directory/ },
  });

  t.match(await tool('write_file', { path: outside, content: 'EVIL' }), { is_error: true, result_text: /^TOOL_REFUSED/ });
  t.match(await tool('patch', { path: outside, old_string: 'outside', new_string: 'EVIL' }), { is_error: true });
  t.equal(readFileSync(outside, 'utf8'), 'outside\n');
  t.match(await tool('read_file', { path: outside }), { is_error: false }, 'the system is readable');
  t.match(await tool('read_file', { path: '/etc/shadow' }), { is_error: true, result_text: /^TOOL_REFUSED/ });
  t.match(await tool('search_files', { pattern: 'root', path: '/etc/ssh' }), { is_error: true });

  t.match(await tool('write_file', { path: '/tmp/script.sh', content: 'echo from /tmp' }), { is_error: false });
  t.equal(existsSync('/tmp/script.sh'), false, 'it is the /tmp of the session');
  t.match(await tool('terminal', { command: 'sh script.sh; ln -s /etc/shadow link', workdir: '/tmp' }), { result_text: /^from \/tmp$/ });
  t.match(await tool('read_file', { path: '/tmp/script.sh' }), { is_error: false, result_text: /from \/tmp/ });
  t.match(await tool('read_file', { path: '/tmp/link' }), { is_error: true, result_text: /^TOOL_REFUSED/ });
  t.match(await tool('terminal', { command: 'true', workdir: join(home.root, 'run') }), { is_error: true, result_text: /^TOOL_REFUSED/ });

  const code = `pwd; echo code > "$SESSION_DIR/coded"; echo x > ${outside}`;
  t.match(await tool('execute_code', { language: 'bash', code }), { result_text: /^\/tmp\/agent-code-\w+\n.*Read-only file system/ });
  t.equal(readFileSync(join(work, 'coded'), 'utf8'), 'code\n');
  t.match(await tool('terminal', { command: 'tty; stty size; echo "$((6 * 7))"', pty: true }), {
    result_text: /^\/dev\/\S+\n40 120\n42$/,
  });
});

t.test('a server in the background is reachable for the next command of its session, and ends with the worker', async (t) => {
  const { work, worker, tool } = await stage(t, '{ level: workspace }');
  writeFileSync(join(work, 'page'), 'served\n');
  await tool('terminal', { command: 'setsid sleep 31338 & exec python3 -m http.server 8123 --bind 127.0.0.1', background: true });
  await until(
    'the server answers',
    async () => (await tool('terminal', { command: 'curl -s -m 5 http://127.0.0.1:8123/page' })).result_text === 'served',
  );
  const pids = markedProcesses('AGENT_TOOL_MARK', () => true).map(({ pid }) => pid);
  const tree = pids.filter((pid) => /http\.server|31338/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')));
  t.ok(tree.length >= 3, 'bwrap, its first process, and both commands');
  worker.child.kill('SIGSTOP');
  worker.child.kill('SIGKILL');
  await until('nothing of it lives', () => tree.every((pid) => startTimeOf(pid) === undefined));
});

t.test('a new level is in force with the next turn', async (t) => {
  const { home, root, tool } = await stage(t, '{ level: read-only }');
  const line = { command: `echo x > f && echo written; echo y > ${join(root, 'outside')} && echo out` };
  t.notMatch((await tool('terminal', line)).result_text, /^(?:written|out)$/m);
  home.write('config.yaml', "approvals: { mode: 'off' }\nsandbox: { level: none }\n");
  t.match(await tool('terminal', line), { result_text: /^written\nout$/ });
});
