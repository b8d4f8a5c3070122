/** Row cli.14 and the ways to ask once: the real command against the real service. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { cliEnv } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(240_000);

const service = cliService();
t.before(async () => t.equal((await service.agent('up', '--demo', '--port', '0')).code, 0));
t.teardown(() => service[Symbol.asyncDispose]());

/** Through a shell, so that stdin is the pipe a user would make. */
async function shell(line: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const agent = `${process.execPath} ${join(projectRoot, 'bin', 'main.ts')}`;
  const child = spawn('/bin/sh', ['-c', line.replaceAll('AGENT ', `${agent} `)], {
    env: cliEnv({ home: service.home }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close') as Promise<[number]>]);
  return { code, stdout, stderr };
}

t.test('cli.14 chat flags: --cli, --tui and --safe-mode are taken, and contradict where they must', async (t) => {
  t.match(await service.agent('chat', '--cli', '-q', 'say: 1 word'), { code: 0, stdout: 'alpha\n', stderr: '' });
  t.match(await service.agent('chat', '--tui', '-q', 'say: 1 word'), { code: 0, stdout: 'alpha\n', stderr: '' });
  t.match(await service.agent('chat', '--safe-mode', '-q', 'say: 1 word'), { code: 0, stdout: 'alpha\n', stderr: '' });
  t.match(await service.agent('chat', '--cli', '--tui'), { code: 2, stderr: /exclude each other/ });
  t.match(await service.agent('chat', '--safe-mode', '-c', '-q', 'x'), { code: 2, stderr: /is for a new conversation/ });
});

t.test('one prompt comes from -q, -z, a file, a pipe, or a prompt and a pipe together', async (t) => {
  const file = join(service.home.root, 'prompt.txt');
  writeFileSync(file, 'say: 2 words\n');
  t.match(await shell('AGENT -z "say: 3 words"'), { code: 0, stdout: 'alpha bravo charlie\n', stderr: '' });
  t.match(await service.agent('chat', '--query-file', file), { code: 0, stdout: 'alpha bravo\n' });
  t.match(await shell('echo "say: 4 words" | AGENT chat'), { code: 0, stdout: 'alpha bravo charlie delta\n' });
  t.match(await shell('echo "say: 1 word" | AGENT chat --query-file -'), { code: 0, stdout: 'alpha\n' });
  t.match(
    (await shell('printf "line one\\nline two\\n" | AGENT chat -q "look at this"')).stdout,
    /You said: "look at this\n\nline one\nline two"/,
  );
  t.match(await shell('printf "" | AGENT chat'), { code: 2, stderr: /the prompt is empty/ });
  t.match(await service.agent('chat', '--query-file', '/no/such/file'), { code: 1, stderr: /cannot be read/ });
  t.match(await service.agent('chat', '-q', 'x', '-z', 'y'), { code: 2, stderr: /more than one prompt/ });
});

t.test('what failed has exit code 1, its reason on stderr, and its usage in the file all the same', async (t) => {
  const file = join(service.home.root, 'usage.json');
  const good = await service.agent('chat', '-q', 'say: 2 words', '--usage-file', file);
  t.equal(good.code, 0);
  t.match(JSON.parse(readFileSync(file, 'utf8')), {
    status: 'complete',
    usage: { output: 2 },
    tool_calls: 0,
    error: null,
    session_id: /^ses_/,
  });
  t.match(await service.agent('chat', '-q', 'fail: 500', '--usage-file', file), { code: 1, stdout: '', stderr: /answered 500/ });
  t.match(JSON.parse(readFileSync(file, 'utf8')), { status: 'error', error: { code: 'PROVIDER_FAILED' } });
});

t.test('--json is one document, --events one a line; both are for one prompt', async (t) => {
  const { stdout } = await service.agent('chat', '-q', 'run: echo hi', '--json');
  t.match(JSON.parse(stdout), { status: 'complete', tools: [{ name: 'terminal', is_error: false }] });
  const events = (await service.agent('chat', '-q', 'say: 2 words', '--events')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string });
  t.equal(events.at(-1)!.type === 'message.complete' || events.some(({ type }) => type === 'message.complete'), true);
  t.ok(events.some(({ type }) => type === 'message.delta'));
  t.match(await shell('AGENT chat -i -q x --json'), { code: 2, stderr: /--json needs one prompt/ });
});

t.test('--continue and --resume go on with a conversation; --source tool hides a new one', async (t) => {
  const first = JSON.parse((await service.agent('chat', '-q', 'say: 2 words', '--json')).stdout) as { session_id: string };
  const same = JSON.parse((await service.agent('chat', '-c', '-q', 'say: 1 word', '--json')).stdout) as { session_id: string };
  const named = JSON.parse((await service.agent('chat', '-r', first.session_id, '-q', 'say: 1 word', '--json')).stdout) as {
    session_id: string;
  };
  t.same([same.session_id, named.session_id], [first.session_id, first.session_id]);
  t.match(await service.agent('chat', '-r', 'nobody', '-q', 'x'), { code: 1, stderr: /nobody/ });
  t.equal((await service.agent('chat', '--source', 'tool', '-q', 'say: 1 word')).code, 0);
});
