/** Files of the page while another program swaps folders and links under them, and files that the service keeps. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { isAgentError } from '../../base/errors.ts';
import { listFolder, makeFolder, takeIn } from '../../state/files/files.ts';
import { pinFolder } from '../../state/files/pinned.ts';
import { createFilePlaces } from '../../state/files/places.ts';
import { removeEntry } from '../../state/files/trash.ts';
import { testHome } from '../harness/home.ts';

const bytes = (text: string) => Readable.from([Buffer.from(text)]) as AsyncIterable<Buffer>;

async function codeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'done';
  } catch (thrown) {
    return isAgentError(thrown) ? thrown.code : String(thrown);
  }
}

/** Swaps a folder and a link that leads out of the root, as fast as it can. */
const swapper = `
const { renameSync } = require('node:fs');
const [folder, link, spare] = process.argv.slice(1);
process.stdout.write('ready');
for (;;) {
  renameSync(folder, spare); renameSync(link, folder);
  renameSync(folder, link); renameSync(spare, folder);
}`;

t.test('a folder that is swapped for a link leads no write, no folder and no listing out of the root', { timeout: 120_000 }, async (t) => {
  using home = testHome();
  const root = join(home.root, '..', 'files');
  const away = join(home.root, '..', 'away');
  mkdirSync(join(root, 'work'), { recursive: true });
  mkdirSync(join(away, 'private'), { recursive: true });
  symlinkSync(away, join(root, 'link'));
  const places = createFilePlaces(home, () => root);
  const child = spawn(process.execPath, ['-e', swapper, join(root, 'work'), join(root, 'link'), join(root, 'spare')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve));
    for (let n = 0; n < 2_000; n++) {
      await takeIn(places, { folder: join(root, 'work'), name: `file${n}`, overwrite: true }, bytes('x')).catch(() => {});
      await makeFolder(places, join(root, 'work', `folder${n}`)).catch(() => {});
      const listed = await listFolder(places, join(root, 'work'), true).catch(() => undefined);
      if (listed?.entries.some(({ name }) => name === 'private')) t.fail(`listing ${n} shows what is outside`);
    }
  } finally {
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
  }
  t.same(readdirSync(away), ['private'], 'nothing was made outside');
});

t.test('a pinned folder stays the one that was checked', async (t) => {
  using home = testHome();
  const root = join(home.root, '..', 'files');
  mkdirSync(join(root, 'work'), { recursive: true });
  mkdirSync(join(home.root, '..', 'away'));
  const places = createFilePlaces(home, () => root);
  await using pinned = await pinFolder(places, places.existing(join(root, 'work')));
  renameSync(join(root, 'work'), join(root, 'moved'));
  symlinkSync(join(home.root, '..', 'away'), join(root, 'work'));
  if (process.platform === 'linux') {
    mkdirSync(pinned.at('new'));
    t.same(readdirSync(join(root, 'moved')), ['new']);
  }
  t.equal(await codeOf(() => pinFolder(places, join(root, 'work'))), 'FILE_FAILED', 'a link is not a folder');
});

t.test('files that the service keeps are neither replaced nor deleted; those of the user are', async (t) => {
  using home = testHome({ 'config.yaml': '{}\n', 'logs/agent.log': '', 'profiles/work/SOUL.md': 'x', 'profiles/work/config.yaml': '{}\n' });
  const root = join(home.root, '..');
  const places = createFilePlaces(home, () => root);
  const put = (path: string) => {
    const at = join(home.root, path);
    return codeOf(() => takeIn(places, { folder: join(at, '..'), name: at.split('/').at(-1)!, overwrite: true }, bytes('{}')));
  };
  const kept = [
    'config.yaml',
    'agent.lock',
    'gateway_state.json',
    'active_profile',
    'ESTOP',
    'logs/agent.log',
    'profiles/work/config.yaml',
  ];
  for (const path of kept) t.equal(await put(path), 'PATH_REFUSED', path);
  for (const path of ['SOUL.md', 'notes.txt', 'profiles/work/SOUL.md']) t.equal(await put(path), 'done', path);
  for (const path of ['logs', 'config.yaml', 'logs/agent.log', 'profiles/work'])
    t.equal(await codeOf(() => removeEntry(places, join(home.root, path), { recursive: true })), 'PATH_REFUSED', path);
  t.equal(await codeOf(() => removeEntry(places, join(home.root, 'notes.txt'), {})), 'done');
  t.equal(await codeOf(() => makeFolder(places, join(home.root, 'cron'))), 'PATH_REFUSED');
});
