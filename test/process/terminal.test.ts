/** The terminal worker over its own socket: real shells on real pseudoterminals. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import * as contract from '../../ipc/contracts/terminal.ts';
import { report } from '../../ipc/contracts/peer.ts';
import { onNotice, type Link } from '../../ipc/link.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';

const size = { cols: 80, rows: 24 };

/** A link that collects what its terminals say. */
async function listen(worker: TestWorker): Promise<{ link: Link; said: () => string; exits: { pty_id: string; code: number | null }[] }> {
  let text = '';
  const exits: { pty_id: string; code: number | null }[] = [];
  const link = await worker.dial({
    notices: [onNotice(contract.data, ({ data }) => (text += data)), onNotice(contract.exit, (end) => void exits.push(end))],
  });
  return { link, said: () => text, exits };
}

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

t.test('a shell answers, knows its home and sees no secret of the worker', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'terminal', { env: { OPENAI_API_KEY: 'sk-hidden-in-the-worker', SHELL: '/bin/bash' } });
  const { link, said, exits } = await listen(worker);
  const { pty_id } = await link.call(contract.open, size);
  link.notify(contract.input, { pty_id, data: 'echo "[$TERM|$AGENT_HOME|$OPENAI_API_KEY|$(stty size)]"\r' });
  await until('the answer', () => said().includes(`[xterm-256color|${home.root}||24 80]`));
  await link.call(contract.resize, { pty_id, cols: 100, rows: 30 });
  link.notify(contract.input, { pty_id, data: 'stty size; exit 3\r' });
  await until('the end of the shell', () => exits.length === 1);
  t.match(said(), /30 100/, 'a new size reaches the shell');
  t.same(
    exits.map(({ code }) => code),
    [3],
  );
  link.close();
});

t.test('closing a terminal leaves nothing alive of what it started, whatever group it is in', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'terminal', { env: { SHELL: '/bin/bash' } });
  const { link, said } = await listen(worker);
  const { pty_id, pid } = await link.call(contract.open, size);
  link.notify(contract.input, { pty_id, data: `(trap "" HUP; sleep 600) & disown; echo "job=$!"\r` });
  const job = Number((await until('the job', () => /job=(\d+)/.exec(said())))[1]);
  t.ok(isAlive(pid) && isAlive(job));
  await link.call(contract.close, { pty_id });
  await until('shell and job are gone', () => !isAlive(pid) && !isAlive(job));
  await t.rejects(link.call(contract.resize, { pty_id, ...size }), { code: 'UNKNOWN_TERMINAL' });
  link.close();
});

t.test('a terminal ends with the link that opened it, and no other link may touch it', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'terminal');
  const owner = await listen(worker);
  const stranger = await listen(worker);
  const { pty_id, pid } = await owner.link.call(contract.open, size);
  await t.rejects(stranger.link.call(contract.close, { pty_id }), { code: 'UNKNOWN_TERMINAL' });
  owner.link.destroy();
  await until('the shell is gone', () => !isAlive(pid));
  await until('it is no longer counted', async () => (await stranger.link.call(report, {})).active.length === 0);
  stranger.link.close();
});

t.test('a shell whose page is lost goes on, and is taken over with its latest output by who has the key', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'terminal', { env: { SHELL: '/bin/bash' } });
  const first = await listen(worker);
  const { pty_id, pid, resume_key } = await first.link.call(contract.open, { ...size, keep: true });
  first.link.notify(contract.input, { pty_id, data: `echo before-$((40 + 2)); read line; echo "got $line"\r` });
  await until('it waits for a line', () => first.said().includes('before-42'));
  first.link.destroy();

  const second = await listen(worker);
  const again = { ...size, pty_id };
  await t.rejects(second.link.call(contract.resume, { ...again, resume_key: '0'.repeat(32) }), { code: 'UNKNOWN_TERMINAL' });
  await t.rejects(second.link.call(contract.resume, { ...again, resume_key, owner: 'somebody else' }), { code: 'UNKNOWN_TERMINAL' });
  t.match(await second.link.call(contract.resume, { ...again, resume_key, cols: 120 }), { pty_id, pid });
  await until('what was said before', () => second.said().includes('before-42'));
  second.link.notify(contract.input, { pty_id, data: 'back\rstty size\r' });
  await until('the answers', () => second.said().includes('got back') && second.said().includes('24 120'));

  const third = await listen(worker);
  await third.link.call(contract.resume, { ...again, resume_key });
  await second.link.closed;
  t.ok(isAlive(pid), 'the link that held it is closed, the shell is not');
  await third.link.call(contract.close, { pty_id });
  await until('the shell is gone', () => !isAlive(pid));
  third.link.close();
});

t.test('a reader that stops reading holds the shell instead of filling the worker', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'terminal', { env: { SHELL: '/bin/bash' } });
  const { link, said } = await listen(worker);
  const other = await worker.dial();
  const { pty_id, pid } = await link.call(contract.open, size);
  const before = (await other.call(report, {})).rss_bytes;
  link.notify(contract.input, { pty_id, data: 'exec yes a-line-that-is-repeated-for-ever\r' });
  await until('output', () => said().length > 10_000);
  link.pause();
  const written = () => Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1]);
  let last = -1;
  let unchanged = 0;
  await until('the writer stands still', () => {
    const now = written();
    unchanged = now === last ? unchanged + 1 : 0;
    last = now;
    return unchanged === 10;
  });
  t.ok((await other.call(report, {})).rss_bytes - before < 64 * 2 ** 20, 'the worker did not swallow the flood');
  const heldAt = written();
  link.resume();
  await until('it goes on', () => written() > heldAt);
  other.close();
  link.destroy();
  await until('the writer is gone', () => !isAlive(pid));
});

t.test('one terminal more than allowed, an unknown profile and a missing directory are refused with the reason', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'terminal');
  const { link } = await listen(worker);
  await t.rejects(link.call(contract.open, { ...size, profile: 'nobody' }), { code: 'UNKNOWN_PROFILE' });
  await t.rejects(link.call(contract.open, { ...size, cwd: '/no/such/place' }), { code: 'NOT_FOUND' });
  await Promise.all(Array.from({ length: limits.terminal.sessionsPerOwnerMax }, () => link.call(contract.open, size)));
  await t.rejects(link.call(contract.open, size), { code: 'TOO_MANY_TERMINALS', message: /8 terminals of this person/ });
  t.match(await link.call(contract.open, { ...size, owner: 'somebody else' }), { shell: /sh/ }, 'nobody else is kept out by it');
  link.destroy();
});

t.test('a profile has its own home in the shell', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': 'You work.' });
  await using worker = await startWorker(home, 'terminal', { env: { SHELL: '/bin/bash' } });
  const { link, said } = await listen(worker);
  const { pty_id } = await link.call(contract.open, { ...size, profile: 'work' });
  link.notify(contract.input, { pty_id, data: 'echo "[$AGENT_HOME]"\r' });
  t.ok(await until('the home', () => said().includes(`[${home.root}/profiles/work]`)));
  link.destroy();
});

t.test('without a terminal the worker leaves by itself with 0, and an open one keeps it', async (t) => {
  using home = testHome({ 'config.yaml': 'supervisor: { workers: { terminal: { idle_ms: 4000 } } }\n' });
  await using worker = await startWorker(home, 'terminal');
  const { link, said } = await listen(worker);
  const { pty_id } = await link.call(contract.open, size);
  link.notify(contract.input, { pty_id, data: 'sleep 6; echo still-$((40 + 2))\r' });
  await until('more than the idle time', () => said().includes('still-42'));
  t.equal(worker.child.exitCode, null, 'still there while a terminal is open');
  await link.call(contract.close, { pty_id });
  await until('it left', () => worker.child.exitCode !== null);
  t.equal(worker.child.exitCode, exitCodes.ok);
});
