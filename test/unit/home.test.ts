import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { writeFileAtomic, writeJsonAtomic, readJson } from '../../state/atomicFile.ts';
import { ensureToken, homeDirectory, listProfiles, openHome, prepareHome, requireProfile, type Home } from '../../state/home.ts';
import { projectRoot } from '../harness/worker.ts';

function directory(): { dir: string } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), 'agent-home-'));
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const longName = `${'long-directory-name-'.repeat(5)}end`;

t.test('where the home is: AGENT_HOME absolute, relative, with a tilde, or ~/.agent', async (t) => {
  const table = {
    '/srv/agent/': '/srv/agent',
    'data/agent': join(process.cwd(), 'data/agent'),
    '~/x': join(homedir(), 'x'),
    '  ': join(homedir(), '.agent'),
  };
  t.same(
    Object.keys(table).map((given) => homeDirectory({ AGENT_HOME: given })),
    Object.values(table),
  );
  t.equal(homeDirectory({}), join(homedir(), '.agent'));
});

t.test('a home is made private, and made private again', async (t) => {
  using place = directory();
  const home = openHome(join(place.dir, 'a', 'home'));
  prepareHome(home);
  chmodSync(home.logs, 0o755);
  prepareHome(home);
  t.same([home.root, home.logs, home.crash, home.run.dir].map(mode), ['700', '700', '700', '700']);
  t.equal(home.run.dir, join(home.root, 'run'));
});

t.test('a home behind a symbolic link is the home', async (t) => {
  using place = directory();
  mkdirSync(join(place.dir, 'disk'));
  symlinkSync(join(place.dir, 'disk'), join(place.dir, 'link'));
  prepareHome(openHome(join(place.dir, 'link')));
  t.ok(existsSync(join(place.dir, 'disk', 'run')));
});

t.test('a file in the way, a directory of someone else, one that cannot be written: HOME_UNUSABLE names it and the fix', async (t) => {
  using place = directory();
  writeFileSync(join(place.dir, 'file'), '');
  t.throws(() => prepareHome(openHome(join(place.dir, 'file'))), {
    code: 'HOME_UNUSABLE',
    message: `cannot use ${place.dir}/file: it is not a directory`,
    fix: /set AGENT_HOME/,
  });
  t.throws(() => prepareHome(openHome(join(place.dir, 'file', 'below'))), { code: 'HOME_UNUSABLE', message: /not a directory/ });
  t.throws(() => prepareHome(openHome('/proc/agent')), { code: 'HOME_UNUSABLE', message: /cannot use \/proc\/agent/ });
});

t.test('a long home: sockets move to a short private directory, the same for everyone, with a link to it', async (t) => {
  using place = directory();
  const root = join(place.dir, longName);
  const home = openHome(root);
  t.ok(Buffer.byteLength(home.run.socket('dashboard')) < limits.ipc.socketPathMaxBytes);
  t.not(home.run.dir, join(root, 'run'));
  prepareHome(home);
  prepareHome(home);
  t.same([mode(home.run.dir), readlinkSync(join(root, 'run'))], ['700', home.run.dir]);
  const before = process.env.XDG_RUNTIME_DIR;
  process.env.XDG_RUNTIME_DIR = place.dir;
  t.equal(openHome(root).run.dir, home.run.dir, 'the environment of another shell leads to the same place');
  if (before === undefined) delete process.env.XDG_RUNTIME_DIR;
  else process.env.XDG_RUNTIME_DIR = before;
  rmSync(home.run.dir, { recursive: true });
  prepareHome(openHome(root));
  t.equal(mode(home.run.dir), '700', 'swept away with /tmp, it is made again');
  rmSync(home.run.dir, { recursive: true });
});

t.test('the short directory must be ours: a link or a stranger in its place is refused', async (t) => {
  using place = directory();
  const home = openHome(join(place.dir, longName));
  symlinkSync(place.dir, home.run.dir);
  t.throws(() => prepareHome(home), { code: 'HOME_UNUSABLE', message: /not a directory/ });
  rmSync(home.run.dir);
  if (process.getuid?.() === 0) {
    mkdirSync(home.run.dir);
    chownSync(home.run.dir, 65_534, 65_534);
    t.throws(() => prepareHome(home), { code: 'HOME_UNUSABLE', message: /belongs to another user/ }, 'even for root');
    rmSync(home.run.dir, { recursive: true });
  }
});

t.test('a home of another user is refused, also to root, and stays as it was', { skip: process.getuid?.() !== 0 }, async (t) => {
  using place = directory();
  const home = openHome(join(place.dir, 'theirs'));
  mkdirSync(home.root, { mode: 0o700 });
  chownSync(home.root, 65_534, 65_534);
  t.throws(() => prepareHome(home), { code: 'HOME_UNUSABLE' });
  t.same(readdirSync(home.root), []);
});

t.test('the socket of the longest profile name fits, and differs from that of another', async (t) => {
  const home = openHome(`/home/${'u'.repeat(50)}/.agent`);
  const names = ['a', 'b'].map((letter) => `gateway@${letter.repeat(64)}`);
  const paths = names.map((name) => home.run.socket(name));
  t.ok(paths.every((path) => Buffer.byteLength(path) + 5 <= limits.ipc.socketPathMaxBytes));
  t.equal(new Set(paths).size, 2);
  t.equal(home.run.socket('gateway'), join(home.run.dir, 'gateway.sock'), 'short names stay readable');
});

t.test('profiles: a directory with a valid name and a SOUL.md', async (t) => {
  using place = directory();
  const home = openHome(place.dir);
  const make = (name: string, soul = true) => {
    mkdirSync(home.profile(name).dir, { recursive: true });
    if (soul) writeFileSync(home.profile(name).soul, '');
  };
  t.same(listProfiles(home), ['default']);
  for (const name of ['work', 'a_b-1', 'UPPER', '-dash', 'x'.repeat(65), 'default']) make(name);
  make('no-soul', false);
  t.same(listProfiles(home), ['default', 'a_b-1', 'work']);
  t.equal(requireProfile(home, 'work').config, join(place.dir, 'profiles/work/config.yaml'));
  t.equal(requireProfile(home, 'default').dir, place.dir);
  for (const name of ['no-soul', 'UPPER', '../..', ''])
    t.throws(() => requireProfile(home, name), { code: 'UNKNOWN_PROFILE', fix: /known profiles: default, a_b-1, work/ });
});

t.test('the token: one for all, however many processes start at once; an empty file is not a token', async (t) => {
  using place = directory();
  const home: Home = openHome(place.dir);
  prepareHome(home);
  const script = `import { ensureToken, openHome } from '${projectRoot}/state/home.ts'; process.stdout.write(ensureToken(openHome(process.argv[1])));`;
  const children = Array.from({ length: 5 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script, place.dir], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  const tokens = await Promise.all(children.map(async (child) => String((await once(child.stdout, 'data'))[0])));
  t.same(new Set(tokens), new Set([readFileSync(home.run.token, 'utf8').trim()]));
  t.match([tokens[0], mode(home.run.token)], [/^[0-9a-f]{64}$/, '600']);
  writeFileSync(home.run.token, '');
  t.match(ensureToken(home), /^[0-9a-f]{64}$/);
});

t.test('whole files: old or new, private, through a link, and nothing left beside them', async (t) => {
  using place = directory();
  const path = join(place.dir, 'f.json');
  writeJsonAtomic(path, { a: 1 });
  t.same([readJson(path), mode(path), readFileSync(path, 'utf8')], [{ a: 1 }, '600', '{\n  "a": 1\n}\n']);
  t.equal(readJson(join(place.dir, 'absent')), undefined);
  mkdirSync(join(place.dir, 'dotfiles'));
  symlinkSync('dotfiles/real.yaml', join(place.dir, 'config.yaml'));
  writeFileAtomic(join(place.dir, 'config.yaml'), 'through');
  t.ok(lstatSync(join(place.dir, 'config.yaml')).isSymbolicLink(), 'a link stays a link');
  t.equal(readFileSync(join(place.dir, 'dotfiles/real.yaml'), 'utf8'), 'through');
  t.throws(() => writeFileAtomic(join(place.dir, 'no', 'f'), ''), { code: 'HOME_UNUSABLE', message: /cannot write .*no\/f \(ENOENT\)/ });
  mkdirSync(join(place.dir, 'taken'));
  t.throws(() => writeFileAtomic(join(place.dir, 'taken'), ''), { code: 'HOME_UNUSABLE' });
  t.same(
    readdirSync(place.dir, { recursive: true }).filter((name) => String(name).includes('.tmp')),
    [],
  );
});

t.test('a full disk while a file is written: DISK_FULL, and the old content stays', async (t) => {
  using place = directory();
  const script = `
    import { writeFileAtomic } from '${projectRoot}/state/atomicFile.ts';
    import { readdirSync, readFileSync } from 'node:fs';
    const path = process.argv[1] + '/f';
    writeFileAtomic(path, 'old');
    try { writeFileAtomic(path, 'n'.repeat(100_000)); } catch ({ code, message, fix }) {
      console.log(JSON.stringify({ code, message, fix, content: readFileSync(path, 'utf8'), files: readdirSync(process.argv[1]) }));
    }`;
  // A limit on the size of files stands for the disk.
  const said = execFileSync(
    'sh',
    ['-c', 'ulimit -f 8; trap "" XFSZ; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', script, place.dir],
    { encoding: 'utf8' },
  );
  t.match(JSON.parse(said), {
    code: 'DISK_FULL',
    message: /no room to write .*it keeps its old content/,
    fix: /free some disk space/,
    content: 'old',
    files: ['f'],
  });
});
