/** `agent files` without a service: the same files by the same rules as the page, whole or not at all, harmless on a terminal. */
import { execFileSync } from 'node:child_process';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { cli, errorOf, finished, run, spawnCli, cliEnv, type CliResult } from '../harness/cli.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { openTerminal } from '../harness/tmux.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

interface Place extends Disposable {
  home: TestHome;
  /** `dashboard.files_root`. */
  root: string;
  /** Where the user stands. */
  here: string;
  files(args: string[], stdin?: string): Promise<CliResult>;
  inRoot(path: string): string;
  mine(path: string): string;
}

function place(): Place {
  const home = testHome({ '.env': 'KEY=secret\n', 'auth.json': '{}' });
  const root = join(home.root, '..', 'files');
  const here = join(home.root, '..', 'here');
  mkdirSync(join(root, 'notes'), { recursive: true });
  mkdirSync(here);
  writeFileSync(join(root, 'notes', 'a.md'), '# A\n');
  writeFileSync(join(root, 'b.txt'), '0123456789');
  writeFileSync(join(root, '.hidden'), '');
  home.write('config.yaml', `dashboard:\n  files_root: ${root}\n`);
  return {
    home,
    root,
    here,
    files: (args, stdin) => cli(['files', ...args], { home, cwd: here, ...(stdin === undefined ? {} : { stdin }) }),
    inRoot: (path) => join(root, path),
    mine: (path) => join(here, path),
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
}

/** Two at a time. */
async function both<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let n = 0; n < items.length; n += 2) await Promise.all(items.slice(n, n + 2).map(work));
}

const json = <T>({ stdout }: CliResult): T => JSON.parse(stdout) as T;
const names = (result: CliResult): string[] => json<{ entries: { name: string }[] }>(result).entries.map(({ name }) => name);
/** What was written aside and never put in place. */
const leftovers = (dir: string): string[] => readdirSync(dir).filter((name) => name.endsWith('.upload'));

t.test('a folder is listed for people and as the document that the page reads', async (t) => {
  using at = place();
  const plain = await at.files([]);
  t.match(plain, { code: 0, stderr: '', stdout: /SIZE +CHANGED +NAME\n– .* notes\/\n10 B .* b\.txt\n$/ });
  t.notMatch(plain.stdout, '\u001b');
  t.same(await at.files(['ls']), plain);
  t.same(names(await at.files(['ls', '--all', '--json'])), ['notes', '.hidden', 'b.txt']);
  t.match(json(await at.files(['notes', '--json'])), {
    root: at.root,
    path: at.inRoot('notes'),
    parent: at.root,
    locked_root: true,
    truncated: false,
    entries: [{ name: 'a.md', path: at.inRoot('notes/a.md'), size: 4, is_directory: false, mime_type: 'text/markdown' }],
  });
  t.equal((await at.files(['ls', '--names', '--', 'notes/'])).stdout, 'notes/a.md\n');
  mkdirSync(at.inRoot('empty'));
  t.match(await at.files(['empty']), { code: 0, stdout: '', stderr: /empty is empty/ });
  for (const [args, code] of [
    [['ls', 'nowhere'], 'NOT_FOUND'],
    [['ls', 'b.txt'], 'FILE_FAILED'],
    [['cat', 'notes'], 'FILE_FAILED'],
  ] as const) {
    const failed = await at.files([...args, '--json']);
    t.same([failed.code, failed.stdout, errorOf(failed).code], [1, '', code], args.join(' '));
  }
  t.match(await at.files(['ls', 'a', 'b']), { code: 2 });
});

t.test('get fetches the very bytes, under its own name, another one or into a pipe, and replaces only when asked', async (t) => {
  using at = place();
  const bytes = Buffer.from(Array.from({ length: 700_000 }, (_, n) => n % 251));
  writeFileSync(at.inRoot('data.bin'), bytes);
  t.match(json(await at.files(['get', 'data.bin', '--json'])), { ok: true, target: at.mine('data.bin'), size: bytes.length });
  t.ok(readFileSync(at.mine('data.bin')).equals(bytes));
  writeFileSync(at.mine('data.bin'), 'mine');
  const refused = await at.files(['get', 'data.bin', '--json']);
  t.same([refused.code, errorOf(refused).code, readFileSync(at.mine('data.bin'), 'utf8')], [1, 'FILE_EXISTS', 'mine']);
  t.match(errorOf(refused).fix, /--overwrite/);
  t.equal((await at.files(['get', 'data.bin', 'data.bin', '--overwrite'])).code, 0);
  t.equal(statSync(at.mine('data.bin')).size, bytes.length);
  // A link stays one: what it leads to is replaced.
  writeFileSync(at.mine('real'), 'old');
  symlinkSync('real', at.mine('link'));
  t.equal((await at.files(['get', 'b.txt', 'link', '--overwrite'])).code, 0);
  t.equal(readFileSync(at.mine('real'), 'utf8'), '0123456789');
  const piped = await at.files(['get', 'b.txt', '-']);
  t.same([piped.code, piped.stdout, piped.stderr], [0, '0123456789', '']);
  t.equal((await at.files(['cat', 'b.txt'])).stdout, '0123456789');
  t.match(json(await at.files(['cat', 'notes/a.md', '--json'])), { name: 'a.md', data_url: 'data:text/markdown;base64,IyBBCg==' });
  t.match(errorOf(await at.files(['get', 'b.txt', 'none/here', '--json'])), { code: 'NOT_FOUND', message: /none/ });
  execFileSync('mkfifo', [at.mine('pipe')]);
  t.match(errorOf(await at.files(['get', 'b.txt', 'pipe', '--overwrite', '--json'])), { code: 'FILE_FAILED' }, 'no device is replaced');
  t.same(leftovers(at.here), []);
});

t.test('put brings a file, an empty one or stdin, refuses to overwrite and what is too large', async (t) => {
  using at = place();
  writeFileSync(at.mine('report.txt'), 'first');
  t.match(json(await at.files(['put', 'report.txt', 'notes', '--json'])), { ok: true, path: at.inRoot('notes/report.txt'), size: 5 });
  writeFileSync(at.mine('report.txt'), 'second');
  const refused = await at.files(['put', 'report.txt', 'notes', '--json']);
  t.same([refused.code, errorOf(refused).code, readFileSync(at.inRoot('notes/report.txt'), 'utf8')], [1, 'FILE_EXISTS', 'first']);
  t.match(errorOf(refused).fix, /--overwrite/);
  t.equal((await at.files(['put', 'report.txt', 'notes', '--overwrite'])).code, 0);
  t.equal(readFileSync(at.inRoot('notes/report.txt'), 'utf8'), 'second');
  writeFileSync(at.mine('nothing'), '');
  t.equal((await at.files(['put', 'nothing'])).code, 0);
  t.equal(statSync(at.inRoot('nothing')).size, 0);
  t.equal((await at.files(['put', '-', '--name', 'said.txt'], 'from a pipe')).code, 0);
  t.equal(readFileSync(at.inRoot('said.txt'), 'utf8'), 'from a pipe');
  t.equal((await at.files(['put', '-', '--name', 'silent.txt'], '')).code, 0);
  t.equal(statSync(at.inRoot('silent.txt')).size, 0);
  t.match(await at.files(['put', '-'], 'x'), { code: 2, stderr: /stdin has no name/ });
  t.match(await at.files(['put', at.here]), { code: 2, stderr: /is not a file/ });
  t.equal(errorOf(await at.files(['put', 'report.txt', 'nowhere', '--json'])).code, 'NOT_FOUND');
  t.equal(errorOf(await at.files(['put', 'report.txt', '--name', '../out.txt', '--json'])).code, 'PATH_REFUSED');
  truncateSync(at.mine('nothing'), 512 * 1_024 * 1_024 + 1);
  t.match(errorOf(await at.files(['put', 'nothing', '--name', 'huge', '--json'])), { code: 'FILE_TOO_LARGE' });
  t.notOk(existsSync(at.inRoot('huge')));
  t.same([...leftovers(at.root), ...leftovers(at.inRoot('notes'))], []);
});

t.test('no path leads out of the root or to a secret of the service, in any command', async (t) => {
  using at = place();
  writeFileSync(at.mine('x'), 'x');
  // Of the test alone: were a check missing, this is what would be lost.
  const outside = join(at.root, '..', 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'theirs.txt'), 'theirs');
  symlinkSync(join(outside, 'theirs.txt'), at.inRoot('way-out.txt'));
  symlinkSync(outside, at.inRoot('out'));
  await both(
    [
      ['ls', outside],
      ['cat', 'way-out.txt'],
      ['get', 'notes/../../outside/theirs.txt', '-'],
      ['put', 'x', 'out'],
      ['mkdir', 'out/made'],
      ['rm', 'out/theirs.txt'],
    ],
    async (args) => {
      const { code, stdout, stderr } = await at.files(args);
      t.same([code, stdout], [1, ''], args.join(' '));
      t.match(stderr, /is not below the root/, args.join(' '));
    },
  );
  // The root holds the home of the service, as `~` holds `~/.agent`.
  at.home.write('config.yaml', `dashboard:\n  files_root: ${join(at.root, '..')}\n`);
  await both(
    [
      ['cat', 'home/.env'],
      ['put', 'x', 'home', '--name', '.env', '--overwrite'],
      ['rm', 'home', '--recursive'],
    ],
    async (args) => {
      const result = await at.files([...args, '--json']);
      t.same([result.code, errorOf(result).code], [1, 'PATH_REFUSED'], args.join(' '));
    },
  );
  t.equal(readFileSync(at.home.env, 'utf8'), 'KEY=secret\n');
  t.same(readdirSync(outside), ['theirs.txt']);
});

t.test('what is deleted goes into the trash and comes back where it was; for good must be asked for', async (t) => {
  using at = place();
  t.match(await at.files(['trash']), { code: 0, stdout: '', stderr: /the trash is empty/ });
  t.match(await at.files(['rm', 'notes']), { code: 1, stderr: /holds files — add --recursive/ });
  t.match(await at.files(['rm', 'notes', '--recursive']), { code: 0, stdout: /lies in the trash/ });
  t.notOk(existsSync(at.inRoot('notes')));
  t.match(json(await at.files(['trash', '--json'])), { entries: [{ origin: 'notes', is_directory: true }] });
  t.match(await at.files(['trash']), { code: 0, stdout: /WHERE IT LAY\n.* notes\/\n$/ });
  t.match(json(await at.files(['restore', 'notes', '--json'])), { ok: true, path: at.inRoot('notes') });
  t.equal(readFileSync(at.inRoot('notes/a.md'), 'utf8'), '# A\n');
  t.match(await at.files(['rm', 'b.txt', '--permanent']), { code: 0, stdout: 'b.txt is gone\n' });
  t.match(await at.files(['restore', 'b.txt']), { code: 1, stderr: /does not lie in the trash — look with: agent files trash/ });
});

t.test(
  'a disk that becomes full leaves the old file and nothing half written',
  { skip: process.getuid?.() !== 0 && 'needs root to mount' },
  async (t) => {
    using at = place();
    const small = at.inRoot('small');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small]);
    using mounted = new DisposableStack();
    mounted.defer(() => execFileSync('umount', ['-l', small]));
    writeFileSync(join(small, 'a.bin'), 'old');
    // Less than one piece of the copy: the disk takes its beginning without a word.
    writeFileSync(at.mine('a.bin'), Buffer.alloc(100_000, 7));
    writeFileSync(at.inRoot('large.bin'), Buffer.alloc(3_000_000, 7));
    for (const args of [
      ['put', 'a.bin', 'small', '--overwrite'],
      ['get', 'large.bin', join(small, 'a.bin'), '--overwrite'],
    ]) {
      const result = await at.files([...args, '--json']);
      t.same([result.code, errorOf(result).code, errorOf(result).fix], [1, 'DISK_FULL', 'free some disk space'], args.join(' '));
      t.same(readdirSync(small), ['a.bin'], args.join(' '));
      t.equal(readFileSync(join(small, 'a.bin'), 'utf8'), 'old');
    }
    t.match(errorOf(await at.files(['rm', 'small/a.bin', '--json'])), { code: 'FILE_FAILED', fix: 'delete it for good' }, 'no trash there');
    const outOfRoom = `exec "${process.execPath}" "${projectRoot}/bin/main.ts" files get large.bin - > small/out`;
    t.match(await run('/bin/sh', ['-c', outOfRoom], { home: at.home, cwd: at.root }), {
      code: 1,
      stderr: /free some disk space/,
    });
  },
);

t.test('ctrl-C in the middle of a put leaves nothing behind', async (t) => {
  using at = place();
  const child = spawnCli(['files', 'put', '-', '--name', 'half.txt'], { home: at.home, stdin: '' });
  const said = text(child.stderr!);
  child.stdin!.write('the first half');
  await until('the first half is written aside', () => {
    const [aside] = leftovers(at.root);
    return aside !== undefined && statSync(at.inRoot(aside)).size > 0;
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.kill('SIGINT');
  t.equal(await ended, 1);
  child.stdin!.destroy();
  t.match(await said, /stopped; nothing was left behind/);
  t.same(readdirSync(at.root).toSorted(), ['.hidden', 'b.txt', 'notes']);
});

t.test('stdin that never ends is cut off at the limit', async (t) => {
  using at = place();
  const child = spawnCli(['files', 'put', '-', '--name', 'endless', '--json'], { home: at.home, stdin: '' });
  const endless = createReadStream('/dev/zero', { highWaterMark: 1_024 * 1_024 });
  child.stdin!.on('error', () => endless.destroy());
  endless.pipe(child.stdin!);
  const [said, code] = await Promise.all([text(child.stderr!), new Promise<number | null>((resolve) => child.once('exit', resolve))]);
  endless.destroy();
  t.match([code, JSON.parse(said)], [1, { error: { code: 'FILE_TOO_LARGE' } }]);
  t.same(readdirSync(at.root).toSorted(), ['.hidden', 'b.txt', 'notes']);
});

t.test('names that steer a terminal, and names that are not UTF-8, are listed and steer nothing', async (t) => {
  using at = place();
  const evil = 'evil\u001b[2J\u009b31m\nnext\u202e.txt';
  writeFileSync(at.inRoot(evil), 'x');
  writeFileSync(Buffer.concat([Buffer.from(`${at.root}/caf`), Buffer.from([0xe9])]), 'x');
  const { stdout } = await at.files(['ls']);
  t.match(stdout, 'evil\\x1b[2J\\x9b31m\\nnext\\u202e.txt');
  t.match(stdout, /caf\ufffd/);
  t.notMatch(stdout, /[\u001b\u009b\u202e]/);
  t.ok(names(await at.files(['ls', '--json'])).includes(evil), 'as it is in JSON');
  t.match(await at.files(['ls', '--names']), {
    stdout: 'notes/\nb.txt\ncaf\ufffd\n',
    stderr: /1 with control characters in the name is left out/,
  });
  t.match(await at.files(['get', 'caf\ufffd']), { code: 1, stderr: /not UTF-8 — rename it with another program/ });
  t.equal((await at.files(['cat', evil])).stdout, 'x');
  for (const args of [
    ['rm', evil],
    ['get', evil],
    ['restore', evil],
    ['cat', `${evil}/none`],
  ]) {
    const said = await at.files(args);
    t.notMatch(said.stdout + said.stderr, /[\u001b\u009b\u202e]/, args[0]!);
    t.equal((said.stdout + said.stderr).trim().split('\n').length, 1, 'one line');
  }
});

t.test('on a terminal a text is shown without what steers it, bytes are refused, and a long put says how far it is', async (t) => {
  using at = place();
  writeFileSync(at.inRoot('steers.txt'), 'one\u001b[2Jtwo\nthree\n');
  writeFileSync(at.inRoot('bytes.bin'), Buffer.from([0, 1, 2]));
  const agent = `"${process.execPath}" "${projectRoot}/bin/main.ts" files`;
  await using terminal = await openTerminal('/bin/sh', { env: cliEnv({ home: at.home, env: { PS1: '> ' } }) });
  await terminal.type(`${agent} cat steers.txt; echo ended $?`);
  await terminal.press('Enter');
  await terminal.shows(/one\\x1b\[2Jtwo\nthree\nended 0/);
  await terminal.type(`${agent} get bytes.bin -; echo ended $?`);
  await terminal.press('Enter');
  await terminal.shows(/a terminal takes no bytes[^]*ended 2/);
  await terminal.type(`${agent} cat bytes.bin; echo ended $?`);
  await terminal.press('Enter');
  await terminal.shows(/is no text[^]*ended 1/);
  await terminal.type('clear');
  await terminal.press('Enter');
  await terminal.type(`(printf 12345; sleep 60) | ${agent} put - --name slow.txt; echo ended $?`);
  await terminal.press('Enter');
  await terminal.shows(/putting slow\.txt: 5 B/);
  await terminal.press('C-c');
  await terminal.shows(/stopped; nothing was left behind — the same command starts it again\s+ended 1/);
  t.same([...leftovers(at.root), existsSync(at.inRoot('slow.txt'))], [false]);
});

t.test('without a configuration the root is the home directory', async (t) => {
  using at = place();
  at.home.write('config.yaml', '');
  t.match(json(await finished(spawnCli(['files', '--json'], { home: at.home, env: { HOME: at.here } }))), { root: at.here });
});
