/** Files that the tools may not read whatever their path: those of the kernel, which hold environments and block readers. */
import t from 'tap';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForChange } from '../../agent/tools/fileAccess.ts';
import { readFileTool } from '../../agent/tools/readFile.ts';
import { scan } from '../../agent/tools/scan.ts';
import { readTextFile } from '../../agent/context/textFile.ts';

const dir = mkdtempSync(join(tmpdir(), 'guarded-reads-'));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));
writeFileSync(join(dir, 'plain.txt'), 'one\n');
symlinkSync('/proc/self/environ', join(dir, 'link.txt'));

const run = { callId: 'c', signal: new AbortController().signal, progress() {} };
const readFile = readFileTool({ cwd: dir, isSecret: () => false });

const kernelFiles = [
  '/proc/self/environ',
  `/proc/${process.ppid}/environ`,
  '/proc/self/mem',
  '/proc/kmsg',
  '/sys/kernel/mm/transparent_hugepage/enabled',
  join(dir, 'link.txt'),
];

t.test('no file of the kernel is read, whatever its name', async (t) => {
  for (const path of kernelFiles) {
    await t.rejects(readFile.run({ path }, run), { code: /BAD_REQUEST|NOT_FOUND/ }, path);
    const request = {
      root: path,
      target: 'content',
      pattern: '.',
      literal: false,
      ignoreCase: false,
      glob: null,
      context: 0,
      limit: 5,
    } as const;
    t.same(scan(request).hits, [], path);
    t.notMatch(readTextFile(path, 1_000_000), { kind: 'text' }, path);
  }
  const host = { cwd: dir, home: dir, isSecret: () => false, isStore: () => false, replace() {} };
  t.throws(() => openForChange('/proc/self/environ', host), { code: 'BAD_REQUEST' });
});

t.test('files that would block a reader leave the threads to the others', async (t) => {
  await Promise.all(Array.from({ length: 8 }, () => t.rejects(readFile.run({ path: '/proc/kmsg' }, run))));
  t.match(await readFile.run({ path: 'plain.txt' }, run), { text: '1  one', isError: false });
});
