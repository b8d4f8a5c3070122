/** Files over HTTP: what may be seen, what may not whatever one tries, and nothing half done. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';

const json = { 'Content-Type': 'application/json' };

/** A root with a few files; AGENT_HOME lies inside of it, as `~/.agent` does. */
function filesHome(files: Record<string, string> = {}): TestHome & { files: string } {
  const home = testHome({
    '.env': 'KEY=secret\n',
    'auth.json': '{"token":"secret"}',
    'mcp-tokens/github.json': '{}',
    'profiles/work/SOUL.md': 'You work.',
    'profiles/work/.env': 'KEY=secret\n',
    'config.yaml': '',
  });
  const root = join(home.root, '..', 'files');
  mkdirSync(join(root, 'notes'), { recursive: true });
  for (const [name, text] of Object.entries({ 'notes/a.md': '# A\n', 'b.txt': '0123456789', ...files }))
    writeFileSync(join(root, name), text);
  home.write('config.yaml', `dashboard:\n  files_root: ${root}\n`);
  return Object.assign(home, { files: root });
}

const get = (dashboard: TestDashboard, path: string, query = '') =>
  dashboard.ask(`/api/files${path}?${query.startsWith('path=') ? query : `path=${encodeURIComponent(query)}`}`);
const send = (dashboard: TestDashboard, method: string, path: string, body: object) =>
  dashboard.ask(path, { method, headers: json, body: JSON.stringify(body) });

function form(parts: { path: string; overwrite?: string; name: string; content: string | Buffer }): {
  headers: Record<string, string>;
  body: string;
} {
  const boundary = 'edge-of-the-test';
  const field = (name: string, value: string) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const file = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${parts.name}"\r\nContent-Type: text/html\r\n\r\n${String(parts.content)}\r\n`;
  const body = `${field('path', parts.path)}${parts.overwrite ? field('overwrite', parts.overwrite) : ''}${file}--${boundary}--\r\n`;
  return { headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` }, body };
}
const upload = (dashboard: TestDashboard, parts: Parameters<typeof form>[0]) =>
  dashboard.ask('/api/files/upload-stream', { method: 'POST', ...form(parts) });

t.test('a folder lists its folders first, a file is read as a data URL and downloaded in parts', async (t) => {
  using home = filesHome();
  await using dashboard = await startDashboard(home);
  const list = (await get(dashboard, '')).json<{ root: string; parent: null; entries: { name: string }[] }>();
  t.match(list, {
    root: home.files,
    parent: null,
    locked_root: true,
    truncated: false,
    entries: [
      { name: 'notes', is_directory: true, size: 0, mime_type: null },
      { name: 'b.txt', is_directory: false, size: 10, mime_type: 'text/plain' },
    ],
  });
  t.match((await get(dashboard, '', 'notes')).json(), { path: `${home.files}/notes`, parent: home.files, entries: [{ name: 'a.md' }] });
  t.match((await get(dashboard, '/read', 'notes/a.md')).json(), {
    name: 'a.md',
    mime_type: 'text/markdown',
    data_url: `data:text/markdown;base64,${Buffer.from('# A\n').toString('base64')}`,
  });
  const whole = await get(dashboard, '/download', 'b.txt');
  t.match(whole.headers, {
    'content-type': 'application/octet-stream',
    'content-disposition': /^attachment; filename="b.txt"/,
    'x-content-type-options': 'nosniff',
    'content-security-policy': /sandbox/,
    'content-length': '10',
  });
  t.equal(whole.text, '0123456789');
  for (const [range, status, text] of [
    ['bytes=2-4', 206, '234'],
    ['bytes=-3', 206, '789'],
    ['bytes=8-', 206, '89'],
    ['bytes=20-', 416, ''],
    ['lines=1-2', 200, '0123456789'],
  ] as const) {
    const answer = await dashboard.ask('/api/files/download?path=b.txt', { headers: { Range: range } });
    t.same([answer.status, answer.text], [status, text], range);
  }
});

t.test('no path leads out of the root: dots, encodings, absolute paths, links to files and folders', async (t) => {
  using home = filesHome();
  // Of the test alone: were a check missing, this is what would be changed.
  const theirs = join(home.files, '..', 'theirs');
  mkdirSync(theirs);
  writeFileSync(join(theirs, 'passwd'), 'root:');
  writeFileSync(join(home.files, '..', 'outside.txt'), 'outside');
  symlinkSync(join(home.files, '..', 'outside.txt'), join(home.files, 'way-out.txt'));
  symlinkSync(theirs, join(home.files, 'etc'));
  symlinkSync(join(home.files, 'b.txt'), join(home.files, 'inside.txt'));
  await using dashboard = await startDashboard(home);
  for (const raw of [
    'path=../outside.txt',
    'path=..%2foutside.txt',
    'path=%2e%2e%2foutside.txt',
    'path=notes/../../outside.txt',
    `path=${theirs}/passwd`,
    'path=way-out.txt',
    'path=etc/passwd',
    'path=etc',
  ]) {
    for (const place of ['', '/read', '/download']) {
      const { status, text } = await get(dashboard, place, raw);
      t.same([status, text.includes('outside"') || text.includes('root:')], [403, false], `${place} ${raw}`);
    }
  }
  for (const raw of ['path=a%00b', 'path=b.txt%00.png']) t.equal((await get(dashboard, '/read', raw)).status, 422, raw);
  // Decoded once: what is left names a file that is not there.
  t.equal((await get(dashboard, '/read', 'path=%252e%252e%252foutside.txt')).status, 404);
  t.equal((await get(dashboard, '/read', 'inside.txt')).status, 200, 'a link that stays inside is followed');
  t.match(
    (await get(dashboard, '')).json<{ entries: { name: string }[] }>().entries.find(({ name }) => name === 'etc'),
    { is_link: true, is_directory: false, size: 0 },
  );
  for (const path of ['../made', 'etc/made', join(theirs, 'made')]) {
    t.equal((await send(dashboard, 'POST', '/api/files/mkdir', { path })).status, 403, path);
  }
  t.equal((await upload(dashboard, { path: 'etc', name: 'made', content: 'x' })).status, 403);
  t.equal((await send(dashboard, 'DELETE', '/api/files', { path: '../outside.txt' })).status, 403);
  t.equal((await send(dashboard, 'DELETE', '/api/files', { path: '' })).status, 422);
  t.equal((await send(dashboard, 'DELETE', '/api/files', { path: '.', recursive: true })).status, 403, 'the root itself');
  t.ok(existsSync(join(home.files, '..', 'outside.txt')));
  // A link is deleted itself, not what it leads to.
  t.equal((await send(dashboard, 'DELETE', '/api/files', { path: 'way-out.txt' })).status, 200);
  t.ok(existsSync(join(home.files, '..', 'outside.txt')));
});

t.test('a root that holds AGENT_HOME shows none of its secrets, to read, list, replace or delete', async (t) => {
  using home = filesHome();
  home.write('config.yaml', `dashboard:\n  files_root: ${home.root}\n`);
  home.write('state.db', 'not a database');
  symlinkSync(home.env, join(home.root, 'innocent.txt'));
  await using dashboard = await startDashboard(home);
  const secrets = [
    '.env',
    'auth.json',
    'run/token',
    'run/dashboard-token',
    'mcp-tokens/github.json',
    'state.db',
    'profiles/work/.env',
    'innocent.txt',
  ];
  for (const path of secrets) {
    const { status, text } = await get(dashboard, '/read', path);
    t.same([status, text.includes(dashboard.token)], [403, false], path);
    t.equal((await get(dashboard, '/download', path)).status, 403, path);
  }
  const names = (await dashboard.ask('/api/files?hidden=true')).json<{ entries: { name: string }[] }>().entries.map(({ name }) => name);
  t.same(
    names.filter((name) => ['.env', 'auth.json', 'run', 'mcp-tokens', 'state.db'].includes(name)),
    [],
  );
  t.ok(names.includes('config.yaml'));
  t.equal((await upload(dashboard, { path: '', overwrite: 'true', name: '.env', content: 'KEY=mine' })).status, 403);
  t.equal((await send(dashboard, 'DELETE', '/api/files', { path: 'auth.json' })).status, 403);
  t.equal((await send(dashboard, 'POST', '/api/files/mkdir', { path: 'run/x' })).status, 403);
  t.equal(readFileSync(home.env, 'utf8'), 'KEY=secret\n');
  // In the trash they would be secrets no longer.
  home.write('config.yaml', `dashboard:\n  files_root: ${join(home.root, '..')}\n`);
  await until('the root is another one', async () => (await get(dashboard, '', 'home')).status === 200);
  for (const path of ['home', 'home/profiles/work']) {
    t.match((await send(dashboard, 'DELETE', '/api/files', { path, recursive: true })).json(), {
      status: 403,
      code: 'PATH_REFUSED',
      fix: String,
    });
  }
  t.ok(existsSync(home.profile('work').env));
});

t.test('an upload appears whole or not at all, replaces only when asked, and its name is a name', async (t) => {
  using home = filesHome();
  await using dashboard = await startDashboard(home);
  const first = await upload(dashboard, { path: 'notes', name: 'naïve <img src=x onerror=alert(1)>.txt', content: 'first' });
  t.equal(first.status, 201);
  t.match(first.json(), { ok: true, name: 'naïve <img src=x onerror=alert(1)>.txt', size: 5 });
  t.match((await upload(dashboard, { path: '', name: 'b.txt', content: 'again' })).json(), {
    status: 409,
    code: 'FILE_EXISTS',
    fix: String,
  });
  t.equal(readFileSync(join(home.files, 'b.txt'), 'utf8'), '0123456789');
  t.equal((await upload(dashboard, { path: '', overwrite: 'true', name: 'b.txt', content: 'again' })).status, 201);
  t.equal(readFileSync(join(home.files, 'b.txt'), 'utf8'), 'again');
  await upload(dashboard, { path: 'notes', name: '../../../escaped.txt', content: 'x' });
  t.notOk(existsSync(join(home.files, '..', 'escaped.txt')));
  t.equal((await upload(dashboard, { path: 'nowhere', name: 'c.txt', content: 'x' })).status, 404);
  const noFile = await dashboard.ask('/api/files/upload-stream', {
    method: 'POST',
    headers: form({ path: '', name: 'x', content: '' }).headers,
    body: '--edge-of-the-test--\r\n',
  });
  t.equal(noFile.status, 422);
  t.equal((await dashboard.ask('/api/files/upload-stream', { method: 'POST', headers: json, body: '{}' })).status, 415);
  // A form that breaks off.
  const cut = form({ path: '', name: 'cut.txt', content: 'half of it' });
  const broken = await dashboard.ask('/api/files/upload-stream', { method: 'POST', headers: cut.headers, body: cut.body.slice(0, -25) });
  t.ok(broken.status >= 400, String(broken.status));
  t.same(
    readdirSync(home.files).filter((name) => name.includes('cut') || name.endsWith('.upload')),
    [],
  );
});

t.test('deleting puts into the trash; a full folder and the end for good must be asked for', async (t) => {
  using home = filesHome();
  await using dashboard = await startDashboard(home);
  const remove = (body: object) => send(dashboard, 'DELETE', '/api/files', body);
  t.match((await remove({ path: 'notes' })).json(), { status: 409, code: 'FILE_EXISTS', fix: /recursive/ });
  const { trashed } = (await remove({ path: 'notes', recursive: true })).json<{ trashed: string }>();
  t.equal(readFileSync(join(trashed, 'a.md'), 'utf8'), '# A\n');
  t.match((await remove({ path: 'b.txt', permanent: true })).json(), { ok: true, trashed: null });
  t.match((await remove({ path: 'b.txt' })).json(), { status: 404, code: 'NOT_FOUND' });
  t.match((await remove({ path: trashed, recursive: true })).json(), { trashed: null });
  t.equal((await send(dashboard, 'POST', '/api/files/mkdir', { path: 'new' })).status, 201);
  t.match((await send(dashboard, 'POST', '/api/files/mkdir', { path: 'new' })).json(), { status: 409, code: 'FILE_EXISTS' });
});

t.test('a pipe or a device does not hold a request', async (t) => {
  using home = filesHome();
  execFileSync('mkfifo', [join(home.files, 'pipe')]);
  await using dashboard = await startDashboard(home);
  t.match((await get(dashboard, '/read', 'pipe')).json(), { status: 409, code: 'FILE_FAILED' });
  t.match((await get(dashboard, '/read', 'notes')).json(), { code: 'FILE_FAILED' });
});

t.test('a secret of the service does not come into view by way of the trash, nor does the service lose its home', async (t) => {
  using home = testHome({
    '.env': 'KEY=secret\n',
    'profiles/work/SOUL.md': 'You work.',
    'profiles/work/.env': 'KEY=secret\n',
    'skills/a/SKILL.md': 'a',
  });
  const root = join(home.root, '..');
  home.write('config.yaml', `dashboard:\n  files_root: ${root}\n`);
  await using dashboard = await startDashboard(home);
  for (const path of [home.root, join(home.root, 'profiles'), join(home.root, 'profiles', 'work')]) {
    for (const permanent of [false, true]) {
      const answer = await send(dashboard, 'DELETE', '/api/files', { path, recursive: true, permanent });
      t.match([answer.status, answer.json()], [403, { code: 'PATH_REFUSED', fix: /agent profile delete/ }], path);
    }
  }
  t.ok(existsSync(join(home.root, 'profiles/work/.env')), 'all of it stands');
  t.equal((await send(dashboard, 'DELETE', '/api/files', { path: join(home.root, 'skills/a'), recursive: true })).status, 200);
});

t.test('a name of any length and alphabet goes into the trash, and two of one name at once are both kept', async (t) => {
  const long = `${'文'.repeat(80)}.txt`;
  using home = filesHome({ [long]: 'long' });
  for (const folder of ['x', 'y']) {
    mkdirSync(join(home.files, folder));
    writeFileSync(join(home.files, folder, 'same.txt'), folder);
  }
  await using dashboard = await startDashboard(home);
  const remove = (path: string) => send(dashboard, 'DELETE', '/api/files', { path });
  t.equal((await remove(long)).status, 200);
  const both = await Promise.all(['x/same.txt', 'y/same.txt'].map(remove));
  const kept = both.map((answer) => readFileSync(answer.json<{ trashed: string }>().trashed, 'utf8'));
  t.same(kept, ['x', 'y']);
});
