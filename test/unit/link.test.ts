import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { dial } from '../../ipc/dial.ts';
import { encodeFrame } from '../../ipc/frames.ts';
import { handle, onNotice } from '../../ipc/link.ts';
import { method } from '../../ipc/method.ts';
import { z } from 'zod';
import { echo, fail, helloMessage, nested, rawPeer, repeat, shout, socketPath, testSocket, token, wait } from '../harness/ipc.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

t.test('a call, a notice, and a call back over the same link', async (t) => {
  const heard: string[] = [];
  await using socket = await testSocket({
    notices: [onNotice(shout, ({ text }) => heard.push(text))],
    onLink: (link) => void link.call(echo, { text: 'from the server' }).then(({ text }) => heard.push(text)),
  });
  using link = await socket.dial({ handlers: [handle(echo, ({ text }) => ({ text: `client says ${text}` }))] });
  t.match(link.peer, { slot: 'test', pid: process.pid, code: 'c' });
  t.same(await link.call(echo, { text: 'é\u0000\n' }), { text: 'é\u0000\n' });
  link.notify(shout, { text: 'hear me' });
  await until('both were heard', () => heard.length === 2);
  t.same(heard.toSorted(), ['client says from the server', 'hear me']);
});

t.test('what a peer says right before it ends is heard, and only then the end', async (t) => {
  const heard: string[] = [];
  const said = Array.from({ length: 300 }, (_, n) => `word ${n}`);
  await using socket = await testSocket({
    onLink: (link) => {
      for (const text of said) link.notify(shout, { text });
      link.close();
    },
  });
  using link = await socket.dial({ notices: [onNotice(shout, ({ text }) => heard.push(text))] });
  await link.closed;
  t.same(heard, said);
});

t.test('errors keep their code, fix and facts; what was wrong with the parameters names the field', async (t) => {
  await using socket = await testSocket();
  using link = await socket.dial();
  await t.rejects(link.call(fail, { how: 'agent' }), {
    code: 'QUEUE_FULL',
    message: 'no room',
    fix: 'wait',
    retryAfterMs: 5,
    facts: { waiting: 3 },
  });
  await t.rejects(link.call(fail, { how: 'defect' }), { code: 'INTERNAL', message: /x is not a function/ });
  await t.rejects(link.call(nested, { list: [{ n: 1 }, { n: 'two' as never }] }), {
    code: 'INVALID_PARAMS',
    field: 'list.1.n',
    message: /t\.nested.*at list\.1\.n/,
  });
  await t.rejects(link.call(method('t.nothing', { params: z.object({}), result: z.object({}) }), {}), { code: 'METHOD_NOT_FOUND' });
  const liar = method('t.echo', { params: z.object({ text: z.string() }), result: z.object({ other: z.string() }) });
  await t.rejects(link.call(liar, { text: 'x' }), { code: 'INTERNAL', message: /answered t.echo in an unknown shape at other/ });
  t.same(await link.call(echo, { text: 'still here' }), { text: 'still here' });
});

t.test('on the wire: -32601 for an unknown method, -32602 for bad parameters, the code as a word beside it', async (t) => {
  await using socket = await testSocket();
  using peer = await rawPeer(socket.path);
  peer.send(helloMessage(0));
  peer.send({ id: 1, method: 't.nothing', params: {} });
  peer.send({ id: 2, method: 't.echo', params: { text: 5 } });
  peer.send({ id: 3, method: 't.echo' });
  await until('all are answered', () => peer.received.length === 4);
  t.match(peer.received.slice(1), [
    { id: 1, error: { code: -32601, data: { code: 'METHOD_NOT_FOUND' } } },
    { id: 2, error: { code: -32602, data: { code: 'INVALID_PARAMS', field: 'text' } } },
    { id: 3, error: { code: -32602, data: { code: 'INVALID_PARAMS', field: 'text' } } },
  ]);
});

t.test('cancelling at either end aborts the handler at the other', async (t) => {
  await using socket = await testSocket({
    onLink: (link) => {
      const stop = new AbortController();
      void link.call(wait, {}, { signal: stop.signal }).catch(() => {});
      setTimeout(() => stop.abort(), 20);
    },
  });
  const atClient: unknown[] = [];
  using link = await socket.dial({
    handlers: [
      handle(
        wait,
        (_p, { signal }) =>
          new Promise((_r, reject) =>
            signal.addEventListener('abort', () => (atClient.push(signal.reason), reject(signal.reason as Error))),
          ),
      ),
    ],
  });
  const stop = new AbortController();
  const call = link.call(wait, {}, { signal: stop.signal });
  await socket.waiting;
  stop.abort(new AgentError('CANCELLED', 'not needed any more'));
  await t.rejects(call, { code: 'CANCELLED', message: 'not needed any more' });
  await until('both handlers were aborted', () => socket.aborted.length === 1 && atClient.length === 1);
  t.match([socket.aborted[0], atClient[0]], [{ code: 'CANCELLED' }, { code: 'CANCELLED' }]);
  await t.rejects(link.call(echo, { text: 'x' }, { signal: AbortSignal.abort(new Error('before it began')) }), /before it began/);
});

t.test('a call over its limit: TIMEOUT, and the handler is aborted', async (t) => {
  await using socket = await testSocket();
  using link = await socket.dial();
  await t.rejects(link.call(wait, {}, { timeoutMs: 30 }), { code: 'TIMEOUT', message: /t\.wait of test took longer than 30 ms/ });
  await until('the handler was aborted', () => socket.aborted.length === 1);
  t.same(await link.call(echo, { text: 'on' }), { text: 'on' });
});

t.test('the caller goes away: its handlers are aborted, its link is forgotten', async (t) => {
  await using socket = await testSocket();
  const link = await socket.dial();
  const call = t.rejects(link.call(wait, {}), { code: 'PEER_GONE' });
  await socket.waiting;
  link.destroy();
  await call;
  await until('the server noticed', () => socket.aborted.length === 1 && socket.server.links.size === 0);
  t.match(socket.aborted[0], { code: 'PEER_GONE' });
  await t.rejects(link.call(echo, { text: 'x' }), { code: 'PEER_GONE', message: /was not sent/ });
});

t.test('a peer killed in the middle of a call: PEER_GONE at once', async (t) => {
  using place = socketPath();
  const child = spawn(process.execPath, [`${projectRoot}/test/fixtures/servesAndWaits.ts`, place.path], { stdio: 'inherit' });
  using link = await dial(place.path, { token, slot: 'caller', startingMs: 10_000 });
  const call = link.call(wait, {});
  await link.call(echo, { text: 'it is busy' });
  child.kill('SIGKILL');
  await t.rejects(call, { code: 'PEER_GONE', message: /ended before it answered t\.wait/ });
  await once(child, 'exit');
});

t.test('frames over 16 MiB are refused before they are sent, both ways, and the link goes on', async (t) => {
  await using socket = await testSocket();
  using link = await socket.dial();
  await t.rejects(link.call(echo, { text: 'x'.repeat(limits.ipc.frameMaxBytes) }), { code: 'FRAME_TOO_LARGE' });
  await t.rejects(link.call(repeat, { bytes: limits.ipc.frameMaxBytes }), { code: 'FRAME_TOO_LARGE', message: /the answer is too large/ });
  t.equal((await link.call(repeat, { bytes: 8_000_000 })).text.length, 8_000_000, 'half of it passes');
});

t.test('bytes that are no frame, no JSON, no request, or announce too much: the connection closes', async (t) => {
  await using socket = await testSocket();
  const bad: Record<string, Buffer> = {
    'no header': Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    'a header without end': Buffer.alloc(limits.ipc.headerMaxBytes + 1, 'x'),
    'no JSON': encodeFrame('{"a":'),
    'a list': encodeFrame('[1]'),
    'nothing in it': Buffer.from('Content-Length: 0\r\n\r\n'),
    'too much announced': Buffer.from(`Content-Length: ${limits.ipc.frameMaxBytes + 1}\r\n\r\n`),
    'a cancellation of nothing': encodeFrame('{"jsonrpc":"2.0","method":"$/cancelRequest"}'),
  };
  const closed = await Promise.all(
    Object.entries(bad).map(async ([name, bytes]) => {
      using peer = await rawPeer(socket.path);
      peer.socket.write(bytes);
      const open = new Promise<string>((resolve) => setTimeout(resolve, 3_000, `${name}: open`).unref());
      return await Promise.race([peer.closed.then(() => `${name}: closed`), open]);
    }),
  );
  t.same(
    closed,
    Object.keys(bad).map((name) => `${name}: closed`),
  );
  using link = await socket.dial();
  t.same(await link.call(echo, { text: 'unharmed' }), { text: 'unharmed' });
});

t.test('a reader that does not read is cut off at the cap, and the others are not', async (t) => {
  await using socket = await testSocket();
  using slow = await rawPeer(socket.path);
  slow.send(helloMessage(0));
  await until('the hello is answered', () => slow.received.length === 1);
  slow.socket.pause();
  const pieces = Math.ceil(limits.ipc.sendQueueMaxBytes / 8_000_000) + 2;
  for (let id = 1; id <= pieces; id++) slow.send({ id, method: 't.repeat', params: { bytes: 8_000_000 } });
  await until('it is cut off', () => socket.server.links.size === 0);
  using link = await socket.dial();
  t.same(await link.call(echo, { text: 'served' }), { text: 'served' });
});
