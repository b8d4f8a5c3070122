import { execFileSync } from 'node:child_process';
import t from 'tap';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolResult } from '../../agent/ports.ts';
import type { FileHost } from '../../agent/tools/fileAccess.ts';
import { patchTool } from '../../agent/tools/patch.ts';
import { pathDanger } from '../../agent/tools/pathDanger.ts';
import { replaceText } from '../../agent/tools/replaceText.ts';
import { scan, type ScanRequest } from '../../agent/tools/scan.ts';
import { searchFilesTool } from '../../agent/tools/searchFiles.ts';
import { writeFileTool } from '../../agent/tools/writeFile.ts';
import { createOffload } from '../../services/agent/tools/offload.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'agent-files-')));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));
const home = join(dir, 'service');
mkdirSync(home);

const host: FileHost = {
  cwd: dir,
  home,
  isSecret: (path) => path === join(home, '.env'),
  isStore: (path) => path === join(home, 'state.db'),
  replace: (path, text, mode) => writeFileAtomic(path, text, { mode }),
};
const run = { callId: 'c', signal: new AbortController().signal, progress() {} };
const write = (args: object) => writeFileTool(host).run(args as Record<string, unknown>, run);
const patch = (args: object): Promise<ToolResult> => patchTool(host).run(args as Record<string, unknown>, run);
const file = (name: string, text: string): string => {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
};
const read = (name: string) => readFileSync(join(dir, name), 'utf8');

t.test('write_file makes folders, keeps the mode, follows links and answers a diff', async (t) => {
  t.match(await write({ path: 'new/deep/a.txt', content: 'one\n' }), { text: /^Created .*a\.txt \(4 bytes\)/, data: { created: true } });
  chmodSync(join(dir, 'new/deep/a.txt'), 0o750);
  symlinkSync('new/deep/a.txt', join(dir, 'link'));
  t.match(await write({ path: 'link', content: 'one\ntwo\n' }), {
    text: /^Wrote .*link \(8 bytes\)\.\n@@ .* @@\n one\n\+two$/,
    data: { added: 1, removed: 0 },
  });
  t.equal(readlinkSync(join(dir, 'link')), 'new/deep/a.txt', 'the link is a link');
  t.equal(read('new/deep/a.txt'), 'one\ntwo\n');
  t.equal(statSync(join(dir, 'new/deep/a.txt')).mode & 0o777, 0o750);
  t.match(await write({ path: 'link', content: 'one\ntwo\n' }), { text: /has this content already/ });
});

t.test('write_file refuses secrets, own stores and what is no text file, also behind links', async (t) => {
  symlinkSync(home, join(dir, 'door'));
  symlinkSync(join(home, 'state.db'), join(dir, 'db'));
  const table: [string, object, object][] = [
    ['a secret', { path: 'service/.env', content: 'x' }, { code: 'TOOL_REFUSED', message: /holds secrets/ }],
    ['a secret through a linked folder', { path: 'door/.env', content: 'x' }, { code: 'TOOL_REFUSED' }],
    [
      'a database behind a link to a file that is not there yet',
      { path: 'db', content: 'x' },
      { code: 'TOOL_REFUSED', message: /alone writes it/ },
    ],
    ['a folder', { path: 'new', content: 'x' }, { code: 'BAD_REQUEST', message: /is a directory/ }],
    ['below a file', { path: 'new/deep/a.txt/b', content: 'x' }, { code: 'FILE_FAILED' }],
  ];
  for (const [name, args, want] of table) await t.rejects(write(args), want as { code: string }, name);
  file('binary', 'a\0b');
  await t.rejects(write({ path: 'binary', content: 'x' }), { code: 'BAD_REQUEST', message: /is binary/ });
  t.notOk(existsSync(join(home, '.env')));
});

t.test('a piece of text is replaced exactly, or without regard to white space and said so', async (t) => {
  const text = 'function a() {\n    return 1;\n}\n\nfunction b() {\n    return 2;\n}\n';
  t.same(replaceText(text, { old: 'return 1;', new: 'return 9;', all: false }), {
    text: text.replace('return 1;', 'return 9;'),
    count: 1,
    note: null,
  });
  t.throws(() => replaceText(text, { old: 'function', new: 'f', all: false }), {
    code: 'BAD_REQUEST',
    message: 'old_string occurs 2 times (lines 1, 5)',
  });
  t.match(replaceText(text, { old: 'function', new: 'f', all: true }), { count: 2, text: /^f a/ });
  t.match(replaceText(text, { old: 'function b() {\n  return 2;\n}', new: 'function b() {\n  return 3;\n}', all: false }), {
    text: text.replace('function b() {\n    return 2;\n}', 'function b() {\n  return 3;\n}'),
    note: /white space of old_string differed from line 5/,
  });
  t.match(
    replaceText('  if (x) {\n    go();\n  }\n', { old: 'if (x) {\n  go();\n}', new: 'if (y) {\n  stop();\n}', all: false }).text,
    '  if (y) {\n    stop();\n  }\n',
    'the new lines take on the indentation',
  );
  t.throws(() => replaceText(text, { old: 'function c() {\n    return 2;\n}', new: '', all: false }), {
    code: 'NOT_FOUND',
    message: /Nearest, from line 5:\nfunction b/,
  });
  t.throws(() => replaceText('abc', { old: 'xyz', new: '', all: false }), { code: 'NOT_FOUND', fix: /read the file again/ });
  t.match(replaceText('a\r\nb\r\nc', { old: 'b', new: 'x\ny', all: false }), { text: 'a\r\nx\r\ny\r\nc' }, 'a line that becomes two');
  t.match(replaceText('a\r\nb\nc', { old: 'b', new: 'x\ny', all: false }), { text: 'a\r\nx\ny\nc' }, 'a file of both kinds is left alone');
  t.match(replaceText('a\r\nb\r\nc', { old: 'a\nb', new: 'x\ny', all: false }), { text: 'x\r\ny\r\nc', note: /Windows line ends/ });
  t.equal(replaceText('price: 1', { old: '1', new: '$& $1', all: false }).text, 'price: $& $1', 'signs of patterns are text');
});

t.test('a unified diff over several files happens as a whole or not at all', async (t) => {
  file('a.txt', 'one\ntwo\nthree\n');
  file('b.txt', 'gone\n');
  const good =
    '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n+new\n';
  t.match(await patch({ patch: good }), { data: { files: [{ what: 'changed' }, { what: 'deleted' }, { what: 'created' }] } });
  t.same([read('a.txt'), existsSync(join(dir, 'b.txt')), read('c.txt')], ['one\n2\nthree\n', false, 'new\n']);
  const half = '--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/c.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-something else\n+x\n';
  await t.rejects(patch({ mode: 'patch', patch: half }), { code: 'BAD_REQUEST', message: /does not fit .*c\.txt; nothing was changed/ });
  t.equal(read('a.txt'), 'one\n2\nthree\n');
  const spaced = '--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-  2\n+two\n three\n';
  t.match(await patch({ mode: 'patch', patch: spaced }), { text: /white space .* differed/ });
  t.equal(read('a.txt'), 'one\ntwo\nthree\n');
  await t.rejects(patch({ mode: 'patch', patch: 'nonsense' }), { code: 'BAD_REQUEST' });
  await t.rejects(patch({ mode: 'patch', patch: '--- a/no.txt\n+++ b/no.txt\n@@ -1 +1 @@\n-a\n+b\n' }), { code: 'NOT_FOUND' });
});

t.test('a patch whose last write fails puts back the files before it', async (t) => {
  file('p.txt', 'p\n');
  file('q.txt', 'q\n');
  const full: FileHost = {
    ...host,
    replace(path, text, mode) {
      if (path.endsWith('q.txt')) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      host.replace(path, text, mode);
    },
  };
  const both = '--- a/p.txt\n+++ b/p.txt\n@@ -1 +1 @@\n-p\n+P\n--- a/q.txt\n+++ b/q.txt\n@@ -1 +1 @@\n-q\n+Q\n';
  await t.rejects(patchTool(full).run({ mode: 'patch', patch: both }, run), { code: 'DISK_FULL' });
  t.same([read('p.txt'), read('q.txt')], ['p\n', 'q\n']);
});

t.test('changes outside the working directory, and files that run or open something later, are dangerous', (t) => {
  const where = { cwd: dir, home, isSecret: (path: string) => path.endsWith('.env'), isStore: (path: string) => path.endsWith('.db') };
  const user = homedir();
  const table: [string, RegExp | undefined][] = [
    ['a.txt', undefined],
    [join(tmpdir(), 'x.txt'), undefined],
    [join(user, '.bashrc'), /whenever a shell starts/],
    [join(user, '.config/fish/config.fish'), /whenever a shell starts/],
    [join(user, '.ssh/authorized_keys'), /SSH/],
    [join(user, '.config/systemd/user/x.service'), /start by themselves/],
    ['/etc/cron.d/x', /cron/],
    ['/var/spool/cron/crontabs/root', /cron/],
    ['/etc/hosts', /outside the working directory/],
    [join(user, '.gitconfig'), /settings file of the home/],
    ['service/config.yaml', /changes what the service does/],
    ['.git/hooks/pre-commit', /git runs/],
    ['../../../../../etc/sudoers', /who may do what/],
  ];
  for (const [path, want] of table) {
    const danger = pathDanger('write', [path], where);
    if (want) t.match(danger?.reasons.join('; '), want, path);
    else t.equal(danger, undefined, path);
  }
  for (const own of ['service/.env', 'service/state.db'])
    t.match(pathDanger('change', ['/etc/hosts', own], where), { blocked: true, reasons: [/service/] }, `${own} is never written`);
  symlinkSync('/etc', join(dir, 'etc'));
  t.match(
    pathDanger('write', ['etc/cron.d/x'], where),
    { command: /etc\/cron\.d\/x → \/etc\/cron\.d\/x/, rule: 'file:/etc/cron.d/x' },
    'behind a link, too',
  );
  t.match(patchTool(host).danger?.({ mode: 'patch', patch: '--- a/a.txt\n+++ b/a.txt\n--- /dev/null\n+++ b/.git/hooks/x\n' }), {
    reasons: [/git runs/],
  });
  t.end();
});

t.test('however a patch names a file, nothing is changed that nobody was asked about', async (t) => {
  const inner = { ...host, cwd: join(dir, 'inner') };
  mkdirSync(inner.cwd);
  const target = join(home, 'SOUL.md');
  const hunk = '@@ -0,0 +1 @@\n+mine\n';
  const spelled = [
    `--- /dev/null\n+++ "${target}"\n${hunk}`,
    `--- /dev/null\n+++\t${target}\n${hunk}`,
    `--- /dev/null\n+++ \t ${target}\n${hunk}`,
    `--- /dev/null\n+++ "\\${Buffer.from('/')[0]!.toString(8).padStart(3, '0')}${target.slice(1)}"\n${hunk}`,
    `diff --git a/../service/SOUL.md b/../service/SOUL.md\nnew file mode 100644\n${hunk}`,
  ];
  for (const text of spelled) {
    const tool = patchTool(inner);
    const asked = tool.danger?.({ mode: 'patch', patch: text });
    if (!asked?.command.includes(target)) await t.rejects(tool.run({ mode: 'patch', patch: text }, run), { code: 'BAD_REQUEST' }, text);
    if (!asked) t.notOk(existsSync(target), text);
  }
});

// --- searching ---

const tree = join(dir, 'tree');
const request = (more: Partial<ScanRequest>): ScanRequest => ({
  root: tree,
  target: 'content',
  pattern: 'needle',
  literal: false,
  ignoreCase: false,
  glob: null,
  context: 0,
  limit: 100,
  ...more,
});
const paths = (more: Partial<ScanRequest>) => [...new Set(scan(request(more)).hits.map(({ path }) => path.slice(tree.length + 1)))];

t.test('a named pipe called .gitignore holds up no search', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-test-'));
  t.teardown(() => rmSync(dir, { recursive: true }));
  execFileSync('mkfifo', [join(dir, '.gitignore')]);
  writeFileSync(join(dir, 'a.ts'), 'needle');
  const program = `import { scan } from ${JSON.stringify(join(import.meta.dirname, '../../agent/tools/scan.ts'))};
    console.log(scan(${JSON.stringify({ ...request({}), root: dir, pattern: 'needle' })}).hits.length);`;
  // In a process of its own: a read of a pipe is ended by nothing else.
  t.equal(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', timeout: 30_000 }).trim(), '1');
});

t.test('a search honours .gitignore files as git does, and skips binaries and dependencies', (t) => {
  for (const [name, text] of Object.entries({
    '.gitignore': '*.log\n/build/\nsub/*.gen\n',
    'a.ts': 'needle',
    'a.log': 'needle',
    'build/x.ts': 'needle',
    'sub/build/x.ts': 'needle',
    'sub/b.gen': 'needle',
    'sub/.gitignore': '!keep.log\nsecret/\n',
    'sub/keep.log': 'needle',
    'sub/secret/c.ts': 'needle',
    'node_modules/d.ts': 'needle',
    '.git/config': 'needle',
    'bin.dat': 'needle\0',
    'Upper.TS': 'NEEDLE here',
  })) {
    mkdirSync(join(tree, name, '..'), { recursive: true });
    writeFileSync(join(tree, name), text);
  }
  symlinkSync('/', join(tree, 'root'));
  t.same(paths({}), ['a.ts', 'sub/build/x.ts', 'sub/keep.log']);
  t.same(paths({ ignoreCase: true }), ['Upper.TS', 'a.ts', 'sub/build/x.ts', 'sub/keep.log']);
  t.same(paths({ glob: '*.{ts,js}' }), ['a.ts', 'sub/build/x.ts']);
  t.same(paths({ glob: 'sub/**' }), ['sub/build/x.ts', 'sub/keep.log']);
  t.same(paths({ target: 'files', pattern: 'x.*' }), ['sub/build/x.ts']);
  t.same(paths({ root: join(tree, 'sub'), pattern: 'n..dle$' }), ['sub/build/x.ts', 'sub/keep.log'], 'rules above the root count');
  t.same(paths({ pattern: 'n.edle', literal: true }), []);
  t.match(scan(request({ limit: 2 })), { stopped: 'limit', hits: { length: 2 } });
  t.end();
});

t.test('search_files shows hits with their lines, and what is wrong with a pattern', async (t) => {
  const offload = createOffload(join(import.meta.dirname, '..', '..', 'services', 'agent', 'thread.ts'));
  const tool = searchFilesTool({ cwd: dir, offload, isSecret: (path) => path.endsWith('secret.txt') });
  const search = (args: Record<string, unknown>) => tool.run(args, run);
  const lines = join(dir, 'lines');
  mkdirSync(lines);
  writeFileSync(join(lines, 'n.txt'), Array.from({ length: 20 }, (_, n) => (n % 6 === 2 ? 'hit' : `line ${n + 1}`)).join('\r\n'));
  writeFileSync(join(lines, 'secret.txt'), 'hit');
  t.match(await search({ pattern: 'hit', path: 'lines', context: 1 }), {
    text: [
      `Below ${lines}:`,
      'n.txt',
      '  2- line 2',
      '  3: hit',
      '  4- line 4',
      '  --',
      '  8- line 8',
      '  9: hit',
      '  10- line 10',
      '  --',
      '  14- line 14',
      '  15: hit',
      '  16- line 16',
    ].join('\n'),
    data: { hits: { length: 3 } },
  });
  t.match(await search({ pattern: 'hit', path: 'lines/n.txt', limit: 1 }), { text: /3: hit\n\[there are more; raise limit/ });
  t.match(await search({ pattern: 'nothing', path: 'lines' }), { text: /^Nothing found in 2 files/ });
  await t.rejects(search({ pattern: '(', path: 'lines' }), { code: 'BAD_REQUEST', fix: /literal/ });
  t.match(await search({ pattern: '(', literal: true, path: 'lines' }), { text: /^Nothing/ });
  await t.rejects(search({ pattern: 'x', path: 'no/such' }), { code: 'NOT_FOUND' });
});

t.test('a text of another encoding is not patched: what cannot be shown would be lost', async (t) => {
  const bytes = Buffer.concat([Buffer.from('caf'), Buffer.from([0xe9]), Buffer.from(' one\ntwo\n')]);
  writeFileSync(join(dir, 'latin1.txt'), bytes);
  const refusal = { code: 'BAD_REQUEST', message: /another encoding than UTF-8/, fix: /iconv/ };
  await t.rejects(patch({ path: 'latin1.txt', old_string: 'two', new_string: '2' }), refusal);
  await t.rejects(patch({ patch: '--- a/latin1.txt\n+++ b/latin1.txt\n@@ -2 +2 @@\n-two\n+2\n' }), refusal);
  t.same(readFileSync(join(dir, 'latin1.txt')), bytes);
});

t.test('a patch keeps Windows line ends, and a file that has no line end at its end', async (t) => {
  file('dos.txt', 'one\r\ntwo\r\nthree');
  await patch({ patch: '--- a/dos.txt\n+++ b/dos.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n\\ No newline at end of file\n' });
  t.equal(read('dos.txt'), 'one\r\n2\r\n2b\r\nthree');
  file('open.txt', 'one\ntwo');
  await patch({ path: 'open.txt', old_string: 'two', new_string: 'zwei' });
  t.equal(read('open.txt'), 'one\nzwei');
});
