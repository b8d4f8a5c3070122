import { createServer } from 'node:net';
import { once } from 'node:events';
import t from 'tap';
import { AgentError } from '../../base/errors.ts';
import { createClient, isTransport } from '../../ipc/client.ts';
import { dial, dialFrames } from '../../ipc/dial.ts';
import { handle, Link } from '../../ipc/link.ts';
import { serve, type SocketServer } from '../../ipc/serve.ts';
import { echo, handlers, repeat, socketPath, testSocket, token, wait } from '../harness/ipc.ts';
import { until } from '../harness/until.ts';

const open = (path: string, nonce = 'n'): Promise<SocketServer> =>
  serve({ path, slot: 'test', token, code: 'c', nonce, handlers: handlers() });

t.test('nothing there: PEER_UNREACHABLE at once, or after the patience asked for', async (t) => {
  using place = socketPath();
  await t.rejects(dial(place.path, { token, slot: 'x' }), { code: 'PEER_UNREACHABLE', facts: { errno: 'ENOENT' } });
  const startedAt = performance.now();
  await t.rejects(dial(place.path, { token, slot: 'x', startingMs: 150 }), { code: 'PEER_UNREACHABLE' });
  const ms = performance.now() - startedAt;
  t.ok(ms >= 149, `waited ${Math.round(ms)} ms`);
});

t.test('a peer that is still starting is waited for', async (t) => {
  using place = socketPath();
  const dialling = dial(place.path, { token, slot: 'x', startingMs: 10_000 });
  await t.rejects(dial(place.path, { token, slot: 'x' }), { code: 'PEER_UNREACHABLE' });
  await using _server = await open(place.path);
  using link = await dialling;
  t.same(await link.call(echo, { text: 'there you are' }), { text: 'there you are' });
});

t.test('who gives up waiting gets his own reason back', async (t) => {
  using place = socketPath();
  await t.rejects(
    dial(place.path, { token, slot: 'x', startingMs: 10_000, signal: AbortSignal.abort(new Error('never mind')) }),
    /never mind/,
  );
  const stop = new AbortController();
  const dialling = t.rejects(dial(place.path, { token, slot: 'x', startingMs: 10_000, signal: stop.signal }), /changed my mind/);
  setTimeout(() => stop.abort(new Error('changed my mind')), 30);
  await dialling;
});

t.test('a peer that hangs up during the hello: PEER_GONE', async (t) => {
  using place = socketPath();
  const server = createServer((socket) => void socket.destroy()).listen(place.path);
  await once(server, 'listening');
  await t.rejects(dial(place.path, { token, slot: 'x' }), { code: 'PEER_GONE' });
  await t.rejects(dialFrames(place.path, { token, slot: 'x' }), { code: 'PEER_GONE' });
  server.close();
});

t.test('one that stands still or leaves during the hello is dialled again while it may be starting', async (t) => {
  const tryWith = async (greet: typeof dial | typeof dialFrames) => {
    using place = socketPath();
    const met: string[] = [];
    // The first caller is not heard, the second is hung up on, and then somebody else serves there.
    const still = createServer((socket) => {
      met.push(met.length === 0 ? 'silence' : 'goodbye');
      if (met.length === 1) return void socket.on('error', () => {}).resume();
      socket.destroy();
      still.close();
    }).listen(place.path);
    await once(still, 'listening');
    const dialling = greet(place.path, { token, slot: 'x', startingMs: 30_000 });
    await until('both were met', () => met.length === 2, 60_000);
    await using _server = await open(place.path);
    const there = await dialling;
    t.same(met, ['silence', 'goodbye']);
    if (there instanceof Link) there.close();
    else there.socket.destroy();
  };
  await Promise.all([dial, dialFrames].map(tryWith));
});

t.test('bare frames: the hello is done, early frames are kept in order, a refusal has its code', async (t) => {
  await using socket = await testSocket({
    relayMethods: new Set(['t.echo']),
    onLink: (link) => {
      void link.call(echo, { text: 'early 1' }).catch(() => {});
      void link.call(echo, { text: 'early 2' }).catch(() => {});
    },
  });
  await t.rejects(dialFrames(socket.path, { token: 'wrong', slot: 'x' }), { code: 'BAD_TOKEN' });
  const stream = await dialFrames(socket.path, { token, slot: 'x', relay: true });
  t.match(stream.answer, { slot: 'test', nonce: 'n', pid: process.pid });
  const bodies: string[] = [];
  stream.listen((body) => bodies.push(body.toString()));
  stream.send(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 't.echo', params: { text: 'mine' } }));
  await until('all came', () => bodies.length === 3);
  t.match(
    bodies.map((body) => JSON.parse(body) as object),
    [{ params: { text: 'early 1' } }, { params: { text: 'early 2' } }, { id: 7, result: { text: 'mine' } }],
  );
  stream.socket.destroy();
});

t.test('a client dials when first used and again when the peer was replaced', async (t) => {
  using place = socketPath();
  const nonces: string[] = [];
  using client = createClient(async (signal) => {
    const link = await dial(place.path, { token, slot: 'x', startingMs: 5_000, signal });
    nonces.push(link.peer.slot);
    return link;
  });
  t.notOk(client.isOpen);
  const first = await open(place.path, 'first');
  t.same(await client.call(echo, { text: '1' }), { text: '1' });
  await client.call(echo, { text: '1' });
  t.equal(nonces.length, 1, 'one connection for many calls');
  await first[Symbol.asyncDispose]();
  await using _second = await open(place.path, 'second');
  t.same(await client.call(echo, { text: '2' }, { repeatForMs: 5_000 }), { text: '2' });
  t.equal(nonces.length, 2);
});

t.test('a call that is safe to repeat outlives the peer; one that is not fails with PEER_GONE', async (t) => {
  using place = socketPath();
  const runs: string[] = [];
  const server = (answer: boolean) =>
    serve({
      path: place.path,
      slot: 'test',
      token,
      code: '',
      nonce: '',
      handlers: [handle(echo, ({ text }) => (runs.push(text), answer ? { text } : new Promise<never>(() => {})))],
    });
  const first = await server(false);
  using client = createClient((signal) => dial(place.path, { token, slot: 'x', startingMs: 5_000, signal }));
  const safe = client.call(echo, { text: 'safe' }, { repeatForMs: 10_000 });
  const unsafe = t.rejects(client.call(echo, { text: 'unsafe' }), { code: 'PEER_GONE' });
  await until('both run', () => runs.length === 2);
  await first[Symbol.asyncDispose]();
  await unsafe;
  await using _second = await server(true);
  t.same(await safe, { text: 'safe' });
  t.same(runs.toSorted(), ['safe', 'safe', 'unsafe']);
});

t.test('callers share one dial; who gives up does not take it from the others', async (t) => {
  using place = socketPath();
  let dials = 0;
  using client = createClient((signal) => (dials++, dial(place.path, { token, slot: 'x', startingMs: 10_000, signal })));
  const stop = new AbortController();
  const impatient = t.rejects(client.call(echo, { text: 'a' }, { signal: stop.signal }), /enough/);
  const patient = client.call(echo, { text: 'b' });
  stop.abort(new Error('enough'));
  await impatient;
  await using _server = await open(place.path);
  t.same(await patient, { text: 'b' });
  t.equal(dials, 1);
});

t.test('a closed client stops dialling and takes no more calls', async (t) => {
  using place = socketPath();
  const client = createClient((signal) => dial(place.path, { token, slot: 'x', startingMs: 60_000, signal }));
  const call = t.rejects(client.call(echo, { text: 'a' }), { code: 'CANCELLED' });
  client[Symbol.dispose]();
  await call;
  await t.rejects(client.call(echo, { text: 'b' }), { code: 'CANCELLED' });
});

t.test('which errors are the connection, not the call', async (t) => {
  const codes = ['PEER_GONE', 'PEER_UNREACHABLE', 'DRAINING', 'TIMEOUT', 'BAD_TOKEN', 'INTERNAL'] as const;
  t.same(
    codes.filter((code) => isTransport(new AgentError(code, 'x'))),
    ['PEER_GONE', 'PEER_UNREACHABLE', 'DRAINING'],
  );
  t.notOk(isTransport(new Error('x')));
});

t.test('a consumer that stops reading holds a fast peer back', async (t) => {
  await using socket = await testSocket();
  using link = await socket.dial();
  link.pause();
  const call = link.call(repeat, { bytes: 4_000_000 });
  await t.rejects(link.call(wait, {}, { timeoutMs: 50 }), { code: 'TIMEOUT' }, 'nothing is read');
  link.resume();
  t.equal((await call).text.length, 4_000_000);
});
