/** The rules of files, for the page and `agent files` alike: what may be seen, what a name is, the trash. */
import { existsSync, lutimesSync, mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { spokenLines } from '../../base/spokenText.ts';
import { steadyText, visibleLines, visibleText } from '../../base/visibleText.ts';
import { listFolder, makeFolder, openFile, takeIn } from '../../state/files/files.ts';
import { createFilePlaces, type FilePlaces } from '../../state/files/places.ts';
import { listTrash, removeEntry, restoreEntry } from '../../state/files/trash.ts';
import { writeWhole } from '../../state/files/wholeFile.ts';
import { testHome, type TestHome } from '../harness/home.ts';

interface Ground extends Disposable {
  home: TestHome;
  root: string;
  places: FilePlaces;
  at(path: string): string;
}

/** A root beside the home; with `around`, the root holds the home as `~` holds `~/.agent`. */
function ground({ around = false } = {}): Ground {
  const home = testHome({
    '.env': 'KEY=secret\n',
    '.env~': 'KEY=older\n',
    'auth.json': '{}',
    'profiles/work/SOUL.md': 'You work.',
    'profiles/work/.env': 'KEY=x\n',
  });
  const root = join(home.root, '..', around ? '' : 'files');
  mkdirSync(join(root, 'notes'), { recursive: true });
  writeFileSync(join(root, 'notes', 'a.md'), '# A\n');
  writeFileSync(join(root, 'b.txt'), 'b');
  return {
    home,
    root: join(root, '.'),
    places: createFilePlaces(home, () => root),
    at: (path) => join(root, path),
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
}

const bytes = (text: string) => Readable.from([Buffer.from(text)]) as AsyncIterable<Buffer>;
const put = (places: FilePlaces, folder: string, name: string, overwrite = false) =>
  takeIn(places, { folder, name, overwrite }, bytes('new'));

/** The code of what was thrown. */
async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return 'done';
  } catch (thrown) {
    return isAgentError(thrown) ? thrown.code : String(thrown);
  }
}

/** A folder beside the root with a file in it. Of the test alone: were a check missing, this is what would be lost. */
function outside(here: Ground): string {
  const dir = here.at('../outside');
  mkdirSync(dir);
  writeFileSync(join(dir, 'theirs.txt'), 'theirs');
  return join(dir, '.');
}

t.test('no path leads out of the root, whatever is done with it', async (t) => {
  using here = ground();
  const { places } = here;
  const dir = outside(here);
  symlinkSync(join(dir, 'theirs.txt'), here.at('way-out.txt'));
  symlinkSync(dir, here.at('out'));
  for (const path of ['..', dir, 'out', '../outside/theirs.txt', 'way-out.txt', 'out/theirs.txt', 'notes/../../outside', 'a\0b']) {
    t.equal(await codeOf(() => listFolder(places, path, true)), 'PATH_REFUSED', `list ${path}`);
    t.equal(await codeOf(() => openFile(places, path)), 'PATH_REFUSED', `open ${path}`);
    t.equal(await codeOf(() => put(places, path, 'x')), 'PATH_REFUSED', `put into ${path}`);
  }
  for (const path of ['../outside/made', 'out/made', join(dir, 'made')])
    t.equal(await codeOf(() => makeFolder(places, path)), 'PATH_REFUSED', path);
  for (const path of ['../outside/theirs.txt', 'out/theirs.txt', '.', ''])
    t.equal(await codeOf(() => removeEntry(places, path, { recursive: true })), 'PATH_REFUSED', path);
  for (const name of ['../out.txt', '..', '.', '', 'a/b', 'x'.repeat(256), 'a\0'])
    t.equal(await codeOf(() => put(places, '', name)), 'PATH_REFUSED', name);
  t.same(readdirSync(dir), ['theirs.txt']);
});

t.test('secrets of the home are neither seen, replaced nor moved to where they would be none', async (t) => {
  using here = ground({ around: true });
  const { places } = here;
  here.home.write('run/token', 'secret');
  here.home.write('skills/own/.env', 'KEY=x\n');
  here.home.write('skills/plain/SKILL.md', 'x');
  symlinkSync(here.home.env, here.at('innocent.txt'));
  for (const path of [
    'home/.env',
    'home/.env~',
    'home/auth.json',
    'home/run/token',
    'home/profiles/work/.env',
    'innocent.txt',
    'home/skills/own/.env',
  ]) {
    t.equal(await codeOf(() => openFile(places, path)), 'PATH_REFUSED', path);
  }
  t.equal(await codeOf(() => put(places, 'home', '.env', true)), 'PATH_REFUSED');
  for (const path of ['home', 'home/.env', 'home/profiles', 'home/profiles/work', 'home/run', 'home/skills/own']) {
    for (const permanent of [false, true]) {
      t.equal(await codeOf(() => removeEntry(places, path, { recursive: true, permanent })), 'PATH_REFUSED', `${path} ${permanent}`);
    }
  }
  t.equal(await codeOf(() => removeEntry(places, 'home/skills/plain', { recursive: true })), 'done');
  t.equal(await codeOf(() => removeEntry(places, 'innocent.txt', {})), 'done', 'the link alone');
  t.equal(readFileSync(here.home.env, 'utf8'), 'KEY=secret\n');
});

t.test('what is deleted comes back where it was, or into another folder, and replaces nothing', async (t) => {
  using here = ground();
  const { places } = here;
  t.equal(await codeOf(() => removeEntry(places, 'notes', {})), 'FILE_EXISTS');
  const trashed = await removeEntry(places, 'notes', { recursive: true });
  t.equal(readFileSync(join(trashed!, 'a.md'), 'utf8'), '# A\n');
  t.match(await listTrash(places), {
    entries: [{ origin: 'notes', is_directory: true, deleted_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ }],
  });
  t.equal(await restoreEntry(places, 'notes'), here.at('notes'));
  t.equal(readFileSync(here.at('notes/a.md'), 'utf8'), '# A\n');

  // Two of one name in one moment stay two; the one deleted last comes first.
  await removeEntry(places, 'b.txt', {});
  writeFileSync(here.at('b.txt'), 'second');
  await removeEntry(places, here.at('b.txt'), {});
  t.equal((await listTrash(places)).entries.length, 2);
  await restoreEntry(places, here.at('b.txt'));
  t.equal(readFileSync(here.at('b.txt'), 'utf8'), 'second');
  t.equal(await codeOf(() => restoreEntry(places, 'b.txt')), 'FILE_EXISTS');
  t.equal(await codeOf(() => restoreEntry(places, 'b.txt', '..')), 'PATH_REFUSED');
  t.equal(await restoreEntry(places, 'b.txt', 'notes'), here.at('notes/b.txt'));
  t.equal(readFileSync(here.at('notes/b.txt'), 'utf8'), 'b');

  // Its folder is gone; named by its place in the trash.
  const place = await removeEntry(places, 'notes/b.txt', {});
  await removeEntry(places, 'notes', { recursive: true, permanent: true });
  t.equal(await codeOf(() => restoreEntry(places, 'notes/b.txt')), 'NOT_FOUND');
  await removeEntry(places, 'b.txt', {});
  t.equal(await restoreEntry(places, place!, '.'), here.at('b.txt'));
  t.equal(await codeOf(() => restoreEntry(places, 'never')), 'NOT_FOUND');
  const [entry] = (await listTrash(places)).entries;
  t.equal(await removeEntry(places, entry!.path, {}), null, 'for good');
  t.same(readdirSync(here.at('.agent-trash/.origins')), []);
});

t.test('the trash forgets after a month, with where it came from, and keeps what was put there by hand', async (t) => {
  using here = ground();
  const { places } = here;
  await removeEntry(places, 'b.txt', {});
  const trash = here.at('.agent-trash');
  const old = '2020-01-01T00-00-00-000Z old.txt';
  writeFileSync(join(trash, old), 'old');
  writeFileSync(join(trash, '.origins', old), 'old.txt');
  writeFileSync(join(trash, '.origins', '2020-01-02T00-00-00-000Z taken out by hand'), 'x');
  writeFileSync(join(trash, 'put here by hand'), 'kept');
  await removeEntry(places, 'notes/a.md', {});
  t.same(
    readdirSync(trash).filter((name) => /old|hand/.test(name)),
    ['put here by hand'],
  );
  t.equal(readdirSync(join(trash, '.origins')).length, 2);
});

t.test('a trash that is a link is not used', async (t) => {
  using here = ground();
  mkdirSync(here.at('../elsewhere'));
  symlinkSync(here.at('../elsewhere'), here.at('.agent-trash'));
  t.equal(await codeOf(() => removeEntry(here.places, 'b.txt', {})), 'PATH_REFUSED');
  t.equal(await codeOf(() => listTrash(here.places)), 'PATH_REFUSED');
  t.ok(existsSync(here.at('b.txt')));
});

t.test('a name as long as a file system allows goes into the trash and comes back whole', async (t) => {
  using here = ground();
  for (const name of ['漢'.repeat(85), `x${'🦑'.repeat(63)}`]) {
    writeFileSync(here.at(name), 'long');
    await removeEntry(here.places, name, {});
    t.equal(await restoreEntry(here.places, name), here.at(name));
  }
});

t.test('a file that is written appears at the end, and whoever was faster keeps the name', async (t) => {
  using here = ground();
  const target = here.at('slow.txt');
  async function* slowly() {
    yield Buffer.from('one');
    t.notOk(existsSync(target), 'not there yet');
    writeFileSync(here.at('faster'), 'faster');
    renameSync(here.at('faster'), target);
    yield Buffer.from('two');
  }
  t.equal(await codeOf(() => writeWhole({ target, overwrite: false, mode: 0o600 }, slowly())), 'FILE_EXISTS');
  t.equal(readFileSync(target, 'utf8'), 'faster');
  t.equal(await codeOf(() => writeWhole({ target, overwrite: true, maxBytes: 2, mode: 0o600 }, bytes('new'))), 'FILE_TOO_LARGE');
  t.equal(
    await codeOf(() => writeWhole({ target, overwrite: true, mode: 0o600, signal: AbortSignal.abort('stopped') }, bytes('new'))),
    'stopped',
  );
  t.equal(readFileSync(target, 'utf8'), 'faster');
  t.same(
    readdirSync(here.root).filter((name) => name.endsWith('.upload')),
    [],
  );
});

t.test('what a killed process left of a file is never listed, and gone an hour later; nothing else is touched', async (t) => {
  using here = ground();
  const hour = limits.files.asideMs / 1_000;
  const now = Date.now() / 1_000;
  const old = {
    left: '.0123456789abcdef.upload',
    theirs: '.0123456789abcdeF.upload',
    longer: '.0123456789abcdef0.upload',
    named: 'x.upload',
  };
  for (const name of Object.values(old)) {
    writeFileSync(here.at(name), 'half');
    utimesSync(here.at(name), now - hour - 60, now - hour - 60);
  }
  writeFileSync(here.at('.1111111111111111.upload'), 'still comes');
  mkdirSync(here.at('.2222222222222222.upload'));
  symlinkSync('b.txt', here.at('.3333333333333333.upload'));
  for (const name of ['.2222222222222222.upload', '.3333333333333333.upload']) lutimesSync(here.at(name), now - 2 * hour, now - 2 * hour);
  const listed = (await listFolder(here.places, '', true)).entries.map(({ name }) => name);
  t.same(listed.toSorted(), [old.longer, old.theirs, 'b.txt', 'notes', old.named].toSorted());
  const found = readdirSync(here.root);
  t.notOk(found.includes(old.left), 'what nobody writes any more is gone');
  for (const name of [
    '.1111111111111111.upload',
    '.2222222222222222.upload',
    '.3333333333333333.upload',
    old.theirs,
    old.longer,
    old.named,
  ])
    t.ok(found.includes(name), name);
});

t.test('text of strangers is spelled out where it would steer a terminal, and left alone elsewhere', async (t) => {
  t.equal(visibleText('a\u001b[2J\u009b\n\t\u202e\u2028\u007f é 漢 🦑'), 'a\\x1b[2J\\x9b\\n\\t\\u202e\\u2028\\x7f é 漢 🦑');
  t.equal(visibleLines('a\n\tb\r\u001b'), 'a\n\tb\\r\\x1b');
  t.equal(spokenLines('a\u001b[2J\u001b]0;title\u0007b\r\n\t\u001b c\u009b\u200f'), 'ab\n\t\\x1b c\\x9b\u200f', 'sequences are left out');
  t.equal(steadyText('\u001b[1;31mred\u001b[0m\u001b[2J\r\u0007'), '\u001b[1;31mred\u001b[0m\\x1b[2J\\r\\x07', 'our own styles stay');
});
