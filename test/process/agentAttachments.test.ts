import t from 'tap';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promptSubmit, sessionDelete, sessionHistory } from '../../ipc/contracts/rpc.ts';
import { commandDispatch } from '../../ipc/contracts/rpcCommands.ts';
import { limits } from '../../base/limits.ts';
import { digest } from '../../base/ids.ts';
import { forgetAttachments } from '../../services/agent/attachments.ts';
import { Store } from '../../services/agent/store.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const home = testHome({ '.env': 'MY_KEY=1' });
const outside = testHome();
const worker = await startWorker(home, 'agent', { demo: true });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
  outside[Symbol.dispose]();
});

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const folder = join(home.root, 'attachments');

t.test('files of a prompt are copied by their content, privately, and stand on its row; their first bytes say what they are', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create();
  const path = outside.write('notes.png', 'just text, whatever its name');
  await client.link.call(promptSubmit, {
    session_id,
    text: 'say: 1 word',
    attachments: [{ name: 'cat.txt', data_base64: png.toString('base64') }, { path }],
  });
  await client.next('message.complete');
  const { messages } = await client.link.call(sessionHistory, { session_id });
  const copy = join(folder, `${digest(png)}.png`);
  t.match(messages[0]!.attachments, [
    { kind: 'image', name: 'cat.txt', media_type: 'image/png', size: png.length, path: copy },
    { kind: 'file', name: 'notes.png', media_type: 'text/plain', path: /\.txt$/ },
  ]);
  t.same(readFileSync(copy), png);
  t.equal(statSync(copy).mode & 0o777, 0o600);
  t.equal(statSync(folder).mode & 0o777, 0o700);
  await client.link.call(promptSubmit, {
    session_id,
    text: 'say: 1 word',
    attachments: [{ name: 'again.png', data_base64: png.toString('base64') }],
  });
  t.equal(readdirSync(folder).length, 2, 'the same bytes are kept once');
});

t.test('what cannot be taken is refused with its field, and nothing is stored', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create();
  const big = outside.write('big.txt', 'x'.repeat(limits.attachments.fileMaxBytes + 1));
  const data = (bytes: string | Buffer) => ({ name: 'x', data_base64: Buffer.from(bytes).toString('base64') });
  const table: { attachment: string; input: object; want: object }[] = [
    { attachment: 'a program', input: data(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1])), want: { message: /neither a picture/ } },
    { attachment: 'an empty file', input: data(''), want: { message: /empty/ } },
    { attachment: 'a path that is not there', input: { path: '/no/such/file' }, want: { message: /there is no file/ } },
    { attachment: 'a relative path', input: { path: 'etc/hosts' }, want: { message: /absolute/ } },
    { attachment: 'a folder', input: { path: '/tmp' }, want: { message: /not a file/ } },
    { attachment: 'our own environment', input: { path: '/proc/self/environ' }, want: { message: /empty/ } },
    { attachment: 'a device', input: { path: '/dev/zero' }, want: { message: /not a file/ } },
    { attachment: 'too large', input: { path: big }, want: { message: /20 MiB/ } },
    { attachment: 'a secret of ours', input: { path: join(home.root, '.env') }, want: { message: /own folder/, fix: /copy it/ } },
  ];
  const before = readdirSync(folder).length;
  for (const { attachment, input, want } of table) {
    const attachments = [input] as [{ path: string }];
    const refused = client.link.call(promptSubmit, { session_id, text: 'hi', attachments });
    await t.rejects(refused, { code: 'BAD_REQUEST', field: 'attachments.0', ...want }, attachment);
  }
  t.equal(readdirSync(folder).length, before);
  t.same((await client.link.call(sessionHistory, { session_id })).messages, []);
});

t.test('copies go when the last session that names them is deleted, not before', async (t) => {
  using client = await connect(worker);
  const bytes = Buffer.from('shared by two').toString('base64');
  const sessions = [await client.create(), await client.create()];
  for (const session_id of sessions) {
    const from = client.events.length;
    await client.link.call(promptSubmit, { session_id, text: 'say: 1 word', attachments: [{ name: 'n.txt', data_base64: bytes }] });
    await client.next('message.complete', () => true, from);
  }
  const path = (await client.link.call(sessionHistory, { session_id: sessions[0]! })).messages[0]!.attachments![0]!.path;
  const housekeeping = async () => {
    // Older than the grace of prompts under way.
    const old = Date.now() / 1_000 - limits.attachments.orphanMs / 1_000 - 60;
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), old, old);
    const store = new Store(home.stateDb);
    forgetAttachments({ home, paths: home } as unknown as Parameters<typeof forgetAttachments>[0], store);
    store.close();
  };
  await client.link.call(sessionDelete, { session_id: sessions[0]! });
  await housekeeping();
  t.ok(existsSync(path), 'another session names it');
  await client.link.call(sessionDelete, { session_id: sessions[1]! });
  await housekeeping();
  t.notOk(existsSync(path), basename(path));
});

t.test('housekeeping of a worker that starts removes what deleted sessions left, and nothing else', async (t) => {
  using own = testHome();
  const files = join(own.root, 'attachments');
  const names = () => readdirSync(files).toSorted();
  let kept: string[];
  {
    await using first = await startWorker(own, 'agent', { demo: true });
    using client = await connect(first);
    const give = async (text: string) => {
      const session_id = await client.create();
      const from = client.events.length;
      const attachments = [{ name: 'n.txt', data_base64: Buffer.from(text).toString('base64') }];
      await client.link.call(promptSubmit, { session_id, text: 'say: 1 word', attachments });
      await client.next('message.complete', () => true, from);
      return session_id;
    };
    await give('stays');
    kept = names();
    await client.link.call(sessionDelete, { session_id: await give('goes') });
    t.equal(names().length, 2);
    await first.kill('SIGTERM');
  }
  const old = Date.now() / 1_000 - limits.attachments.orphanMs / 1_000 - 60;
  for (const name of names()) utimesSync(join(files, name), old, old);
  await using _second = await startWorker(own, 'agent', { demo: true });
  await until('the copy is gone', () => names().length === 1);
  t.same(names(), kept);
});

t.test('/retry asks again with the files of the prompt, and takes nothing back that it cannot ask', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create();
  const retry = () => client.link.call(commandDispatch, { session_id, line: '/retry', surface: 'cli' });
  t.match(await retry(), { kind: 'text', text: 'There is nothing to ask again.' });
  await client.turn(session_id, 'say: 1 word');
  await client.link.call(promptSubmit, {
    session_id,
    text: 'say: 2 words',
    attachments: [{ name: 'cat.png', data_base64: png.toString('base64') }],
  });
  await client.next('message.complete', ({ session_id: id }) => id === session_id, client.events.length);
  const from = client.events.length;
  const done = await retry();
  t.match(done, { kind: 'prompt', text: 'Asking again: say: 2 words' });
  await client.next('message.complete', ({ session_id: id }) => id === session_id, from);
  const { messages } = await client.link.call(sessionHistory, { session_id });
  t.match(messages, [
    { content: 'say: 1 word' },
    {},
    { id: done.message_id, content: 'say: 2 words', attachments: [{ name: 'cat.png' }] },
    { role: 'assistant' },
  ]);
  t.equal(messages.length, 4);
});
