/** Files of a conversation over HTTP: bytes decide what is shown, records decide who may have what, nothing of a request becomes a path. */
import { createHash, randomBytes } from 'node:crypto';
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { promptSubmit, sessionDelete, sessionHistory } from '../../ipc/contracts/rpc.ts';
import { sessionAttachment, sessionAttachments } from '../../ipc/contracts/rpcAttachments.ts';
import { sessionExport, sessionImport } from '../../ipc/contracts/rpcSessions.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

const home = testHome({ 'profiles/work/SOUL.md': 'You work.', '.env': 'SECRET=1' });
const agent = await startWorker(home, 'agent', { demo: true });
const work = await startWorker(home, 'agent', { demo: true, profile: 'work' });
const dashboard = await startDashboard(home);
const client = await connect(agent);
t.teardown(async () => {
  client[Symbol.dispose]();
  for (const worker of [dashboard, work, agent]) await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

const magic = Buffer.from('89504e470d0a1a0a', 'hex');
const small = Buffer.concat([magic, Buffer.from('small')]);
/** More than one part. */
const large = Buffer.concat([magic, randomBytes(2 * limits.attachments.partBytes + 17)]);
const script = '<script>document.title = "taken over"</script>';
const given: { name: string; bytes: Buffer; ending: string }[] = [
  { name: 'small.png', bytes: small, ending: 'png' },
  { name: 'large.png', bytes: large, ending: 'png' },
  { name: 'page.png', bytes: Buffer.from(`<!doctype html>${script}`), ending: 'txt' },
  { name: 'drawing.svg', bytes: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`), ending: 'txt' },
  { name: 'both.gif', bytes: Buffer.from(`GIF89a/*${script}*/`), ending: 'gif' },
  { name: 'paper.pdf', bytes: Buffer.from('%PDF-1.7 x'), ending: 'pdf' },
  { name: 'a"; x=\r\nSet-Cookie: a=b; ü.txt', bytes: Buffer.from('a hostile name'), ending: 'txt' },
];
const idOf = ({ bytes, ending }: { bytes: Buffer; ending: string }) => `${createHash('sha256').update(bytes).digest('hex')}.${ending}`;

async function sent(to: AgentClient, files: readonly { name: string; bytes: Buffer }[]): Promise<string> {
  const session_id = await to.create();
  const attachments = files.map(({ name, bytes }) => ({ name, data_base64: bytes.toString('base64') }));
  const from = to.events.length;
  await to.link.call(promptSubmit, { session_id, text: 'say: 1 word', attachments });
  await to.next('message.complete', (event) => event.session_id === session_id, from);
  return session_id;
}

const session = await sent(client, given);
const addressOf = (id: string, of = session, query = '') => `/api/sessions/${of}/attachments/${id}${query}`;

async function fetched(path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(new URL(path, dashboard.address), { headers: { 'X-Agent-Session-Token': dashboard.token, ...headers } });
  return { status: answer.status, headers: Object.fromEntries(answer.headers), bytes: Buffer.from(await answer.arrayBuffer()) };
}

t.test('pictures are shown by the type of their bytes, everything else is a file to save, and all of it is closed in', async (t) => {
  const table: Record<string, { type: string; how: RegExp }> = {
    'small.png': { type: 'image/png', how: /^inline; filename="small\.png"/ },
    'large.png': { type: 'image/png', how: /^inline/ },
    'page.png': { type: 'application/octet-stream', how: /^attachment; filename="page\.png"/ },
    'drawing.svg': { type: 'application/octet-stream', how: /^attachment/ },
    'both.gif': { type: 'image/gif', how: /^inline/ },
    'paper.pdf': { type: 'application/octet-stream', how: /^attachment/ },
  };
  for (const file of given) {
    const { status, headers, bytes } = await fetched(addressOf(idOf(file)));
    const want = table[file.name] ?? {
      type: 'application/octet-stream',
      how: /^attachment; filename="[^"\r\n]*"; filename\*=UTF-8''[\w%.~-]+$/,
    };
    t.equal(status, 200, file.name);
    t.ok(bytes.equals(file.bytes), `${file.name} arrives as it was sent`);
    t.match(headers, {
      'content-type': want.type,
      'content-disposition': want.how,
      'content-length': String(file.bytes.length),
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      etag: `"${idOf(file)}"`,
      'cache-control': 'private, max-age=31536000, immutable',
      vary: /X-Agent-Session-Token/,
    });
    t.notOk(headers['set-cookie'], file.name);
  }
});

t.test('a browser that has it is told so in a few bytes, as long as the session still names it', async (t) => {
  const address = addressOf(idOf(given[1]!));
  const known = { 'If-None-Match': `"${idOf(given[1]!)}"` };
  t.match(await fetched(address, known), { status: 304, bytes: { length: 0 } });
  t.equal((await fetched(address, { 'If-None-Match': '"other"' })).status, 200);
  const head = await fetch(new URL(address, dashboard.address), { method: 'HEAD', headers: { 'X-Agent-Session-Token': dashboard.token } });
  t.match([head.status, head.headers.get('content-length')], [200, String(large.length)]);
  const gone = await sent(client, [given[0]!]);
  await client.link.call(sessionDelete, { session_id: gone });
  t.equal((await fetched(addressOf(idOf(given[0]!), gone), { 'If-None-Match': `"${idOf(given[0]!)}"` })).status, 404);
});

t.test('nobody gets a file without a token, of a session that does not name it, or of another profile', async (t) => {
  const id = idOf(given[0]!);
  t.equal((await dashboard.ask(addressOf(id), { token: false })).status, 401);
  const other = await sent(client, [{ name: 'own.txt', bytes: Buffer.from('of another session') }]);
  t.match((await dashboard.ask(addressOf(id, other))).json(), { status: 404, code: 'NOT_FOUND', fix: /agent sessions attachments/ });
  t.match((await dashboard.ask(addressOf(id, 'ses_nobody'))).json(), { status: 404, code: 'UNKNOWN_SESSION' });
  t.match((await dashboard.ask(addressOf(id, session, '?profile=work'))).json(), { status: 404, code: 'UNKNOWN_SESSION' });
  t.match((await dashboard.ask(addressOf(id, session, '?profile=nobody'))).json(), { status: 404, code: 'UNKNOWN_PROFILE' });
  using elsewhere = await connect(work);
  const theirs = { name: 'theirs.txt', bytes: Buffer.from('of the other profile'), ending: 'txt' };
  const their = await sent(elsewhere, [theirs]);
  t.equal((await fetched(addressOf(idOf(theirs), their, '?profile=work'))).status, 200);
  t.equal((await fetched(addressOf(idOf(theirs), their))).status, 404);
});

t.test('junk and ways out of the folder are refused in words, and never read a file', async (t) => {
  const junk = [
    '..%2f.env',
    '..%2f..%2f..%2fetc%2fpasswd',
    '%2e%2e%2f.env',
    `..%2fattachments%2f${idOf(given[0]!)}`,
    '.env',
    '%00',
    `${'a'.repeat(64)}.png%00.txt`,
    `${'A'.repeat(64)}.png`,
    'a'.repeat(5_000),
    '%25'.repeat(40),
    `${'a'.repeat(64)}.%3Cscript%3E`,
  ];
  for (const id of junk) {
    const { status, text, headers } = await dashboard.ask(addressOf(id));
    t.ok([404, 414, 422].includes(status), `${id.slice(0, 60)} ${status}`);
    t.match(headers['content-type'], /problem\+json/);
    t.notMatch(text, /SECRET|root:/);
  }
  t.match((await dashboard.ask(addressOf(`${'a'.repeat(64)}.png`))).json(), { status: 404, code: 'NOT_FOUND' });
  for (const offset of [-1, 0.5])
    await t.rejects(client.link.call(sessionAttachment, { session_id: session, attachment: idOf(given[0]!), offset }), {
      code: 'BAD_REQUEST',
    });
  t.match(
    await client.link.call(sessionAttachment, { session_id: session, attachment: idOf(given[0]!), offset: 10_000 }),
    { data_base64: '', size: small.length },
    'beyond the end there is nothing',
  );
});

t.test('a copy that was lost, or has a link in its place, answers 410; one that was replaced is what its bytes say now', async (t) => {
  const id = idOf(given[0]!);
  const path = join(home.root, 'attachments', id);
  renameSync(path, `${path}.aside`);
  const problem = { status: 410, code: 'ATTACHMENT_GONE', detail: /small\.png/, fix: /attach the file again/ };
  const answer = await dashboard.ask(addressOf(id));
  t.match(answer.json(), problem);
  t.match(answer.headers, { 'cache-control': 'no-store' });
  symlinkSync(join(home.root, '.env'), path);
  t.match((await dashboard.ask(addressOf(id))).json(), problem);
  rmSync(path);
  writeFileSync(path, `<html>${script}</html>`);
  t.match((await fetched(addressOf(id))).headers, { 'content-type': 'application/octet-stream', 'content-disposition': /^attachment/ });
  rmSync(path);
  renameSync(`${path}.aside`, path);
});

t.test('a record that came from elsewhere makes no picture of a page, and names no file outside of the folder', async (t) => {
  const document = await client.link.call(sessionExport, { session_id: session });
  const [first, ...rest] = document.messages;
  const copy = first!.attachments!.find(({ name }) => name === 'page.png')!;
  const claimed = { ...copy, kind: 'image' as const, media_type: 'text/html', name: '../../x.png' };
  const outside = { ...copy, path: join(home.root, '.env'), name: 'env' };
  const { imported_ids } = await client.link.call(sessionImport, {
    sessions: [
      {
        ...document,
        session: { ...document.session, id: 'ses_foreign' },
        messages: [{ ...first!, attachments: [claimed, outside] }, ...rest],
      },
    ],
  });
  t.same(imported_ids, ['ses_foreign']);
  const { files, total } = await client.link.call(sessionAttachments, { session_id: 'ses_foreign' });
  t.match([total, files.map(({ name }) => name)], [1, ['../../x.png']]);
  const { headers } = await fetched(addressOf(files[0]!.id, 'ses_foreign'));
  t.match(headers, { 'content-type': 'application/octet-stream', 'content-disposition': /^attachment; filename="\.\._\.\._x\.png"/ });
});

t.test('the files of a session are listed, the newest first, in pages', async (t) => {
  const { messages } = await client.link.call(sessionHistory, { session_id: session });
  const list = (query = '') => dashboard.ask(`/api/sessions/${session}/attachments${query}`);
  const all = (await list()).json<{ files: { id: string; name: string; message_id: number }[]; total: number }>();
  t.match(all, { total: given.length, files: given.map((file) => ({ id: idOf(file), message_id: messages[0]!.id })) });
  t.notOk('path' in all.files[0]!, 'nothing says where they lie');
  t.same((await list('?limit=2&offset=1')).json<typeof all>().files, all.files.slice(1, 3));
  t.match(await list('?limit=0'), { status: 422 });
});
