import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { acquireLock, lockHolder, readLock, withFileLock, type LockRecord } from '../../state/lock.ts';
import { bootId, groupAlive, identityOf, isSameProcess, startTimeOf } from '../../state/processIdentity.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

function directory(): { dir: string; path: string; file: string } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), 'agent-lock-'));
  const file = join(dir, 'number');
  return { dir, path: join(dir, 'a.lock'), file, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

const record = (change: Partial<LockRecord> = {}): string =>
  JSON.stringify({ ...identityOf(process.pid), nonce: 'n', holder: 'an earlier one', taken_at: '2026-01-01T00:00:00.000Z', ...change });

t.test('one holder at a time; the refusal names the holder; releasing leaves nothing behind', async (t) => {
  using place = directory();
  {
    using held = await acquireLock(place.path, 'the first');
    t.match(lockHolder(place.path), { pid: process.pid, holder: 'the first', nonce: held.record.nonce });
    await t.rejects(acquireLock(place.path, 'the second'), {
      code: 'LOCK_HELD',
      message: new RegExp(`the first \\(process ${process.pid}, since 20.*holds ${place.path}`),
      facts: { pid: process.pid },
    });
  }
  t.same(readdirSync(place.dir), []);
});

t.test('lesson 24: a dead lock is cleared, whatever makes it dead, our own pid included', async (t) => {
  const dead: Record<string, string> = {
    'a process that is gone': record({ pid: 2 ** 22 + 1 }),
    'a reused pid: another start time': record({ start_time: 1 }),
    'our own pid, of an earlier start': record({ start_time: identityOf(process.pid).start_time - 1 }),
    'an earlier boot': record({ boot_id: 'another' }),
    'a start time that was never known': record({ start_time: 0 }),
    'half a record': '{"pid":1,"nonce":"x',
    'an empty file': '',
  };
  for (const [name, content] of Object.entries(dead)) {
    using place = directory();
    writeFileSync(place.path, content);
    t.equal(lockHolder(place.path), undefined, name);
    using held = await acquireLock(place.path, 'me');
    t.same([readLock(place.path)?.nonce, readdirSync(place.dir)], [held.record.nonce, ['a.lock']], name);
  }
});

t.test('what another program left in the way is cleared too, also a claim of one that died while clearing', async (t) => {
  using place = directory();
  mkdirSync(`${place.file}.lock`);
  t.equal(await withFileLock(place.file, () => 'changed'), 'changed', 'a directory, as other lock libraries make');
  writeFileSync(place.path, record({ start_time: 1 }));
  writeFileSync(`${place.path}.clearing`, record({ start_time: 2, nonce: 'm' }));
  using _held = await acquireLock(place.path, 'me');
  t.same(readdirSync(place.dir), ['a.lock']);
});

t.test('processes race for a dead lock: exactly one gets it, and a kill frees it at once', async (t) => {
  using place = directory();
  writeFileSync(place.path, record({ start_time: 1 }));
  const children = Array.from({ length: 6 }, () =>
    spawn(process.execPath, [`${projectRoot}/test/fixtures/takesLock.ts`, place.path], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const said = children.map(async (child) => String((await once(child.stdout, 'data'))[0]).trim());
  for (const child of children) child.stdin.end();
  const answers = await Promise.all(said);
  t.same(answers.toSorted(), ['got', ...Array.from({ length: 5 }, () => 'refused LOCK_HELD')]);
  const winner = children[answers.indexOf('got')]!;
  winner.kill('SIGKILL');
  await once(winner, 'exit');
  using _held = await acquireLock(place.path, 'the next');
  t.same(readdirSync(place.dir), ['a.lock']);
});

t.test('inside one process too: of many at once, one gets a dead lock', async (t) => {
  using place = directory();
  writeFileSync(place.path, record({ start_time: 1 }));
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => acquireLock(place.path, 'x')));
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
});

t.test('changes of a file are not lost when processes make them at once', async (t) => {
  using place = directory();
  writeFileSync(place.file, '0');
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, [`${projectRoot}/test/fixtures/countsUp.ts`, place.file, '50'], { stdio: 'inherit' }),
  );
  t.same(await Promise.all(children.map((child) => once(child, 'exit').then(([code]) => code as number))), [0, 0, 0, 0]);
  t.equal(readFileSync(place.file, 'utf8'), '200');
  t.same(readdirSync(place.dir), ['number']);
});

t.test('a change that throws releases the file; a directory that is not there is said', async (t) => {
  using place = directory();
  await t.rejects(
    withFileLock(place.file, () => Promise.reject(new Error('no'))),
    /no/,
  );
  t.equal(await withFileLock(place.file, () => 1), 1);
  await t.rejects(
    withFileLock(join(place.dir, 'nowhere', 'x'), () => 1),
    { code: 'HOME_UNUSABLE', fix: /permissions/ },
  );
});

t.test('lesson 23: a process is known by boot, pid and start time; a zombie is dead, alone or in its group', async (t) => {
  const parent = spawn('sh', ['-c', 'sleep 0.01 & exec sleep 30'], { detached: true, stdio: 'ignore' });
  const identity = identityOf(parent.pid!);
  t.match(identity, { pid: parent.pid!, start_time: Number, boot_id: bootId() });
  t.ok(isSameProcess(identity));
  t.notOk(isSameProcess({ ...identity, start_time: identity.start_time + 1 }));
  t.equal(startTimeOf(2 ** 22 + 1), undefined);
  t.ok(groupAlive(parent.pid!));
  process.kill(-parent.pid!, 'SIGKILL');
  await once(parent, 'exit');
  await until('nothing of the group lives', () => !groupAlive(parent.pid!), 2_000);
  t.notOk(isSameProcess(identity));
});
