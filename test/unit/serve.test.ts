import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { fileAt } from '../../ipc/bind.ts';
import { serve } from '../../ipc/serve.ts';
import { echo, handlers, helloMessage, nested, rawPeer, socketPath, testSocket, token } from '../harness/ipc.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

const options = (path: string) => ({ path, slot: 'test', token, code: '', nonce: '', handlers: handlers() });

/** Leaves the socket file of a process that was killed. */
async function leaveStale(path: string): Promise<void> {
  const child = spawn(process.execPath, [
    '-e',
    `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`,
  ]);
  await once(child, 'exit');
}

// Begun first, looked at last: it takes as long as a hello may.
const silence = (async () => {
  await using socket = await testSocket();
  const startedAt = performance.now();
  using peer = await rawPeer(socket.path);
  await peer.closed;
  return performance.now() - startedAt;
})();

t.test('the first word is a hello with the token: anything else is refused and the connection closes', async (t) => {
  await using socket = await testSocket();
  await t.rejects(socket.dial({ token: 'wrong' }), { code: 'BAD_TOKEN' });
  const strangers: Record<string, object> = {
    'a call': { id: 1, method: 't.echo', params: { text: 'x' } },
    'the wrong token': helloMessage(1, { token: 'wrong' }),
    'another protocol': helloMessage(1, { protocol: 99 }),
  };
  const answers = await Promise.all(
    Object.entries(strangers).map(async ([name, message]) => {
      using peer = await rawPeer(socket.path);
      peer.send(message);
      await peer.closed;
      return [name, peer.received[0]?.error?.data?.code];
    }),
  );
  t.same(Object.fromEntries(answers), { 'a call': 'BAD_TOKEN', 'the wrong token': 'BAD_TOKEN', 'another protocol': 'PROTOCOL_MISMATCH' });
  t.equal(socket.server.links.size, 0);
});

t.test('what is neither a call nor an answer is refused with -32600, and the connection stays', async (t) => {
  await using socket = await testSocket();
  using peer = await rawPeer(socket.path);
  peer.send(helloMessage(0));
  for (const message of [{ id: 1 }, { id: 2, method: 5, params: {} }, { method: {} }]) peer.send(message);
  peer.send({ id: 3, method: 't.echo', params: { text: 'still here' } });
  await until('all are answered', () => peer.received.length === 5);
  t.match(peer.received.slice(1), [
    { id: 1, error: { code: -32_600, data: { code: 'INVALID_REQUEST' } } },
    { id: 2, error: { code: -32_600 } },
    { id: null, error: { code: -32_600 } },
    { id: 3, result: { text: 'still here' } },
  ]);
});

t.test('a second hello is refused: it cannot lift the bounds of a relay', async (t) => {
  await using socket = await testSocket({ relayMethods: new Set(['t.echo']) });
  using peer = await rawPeer(socket.path);
  peer.send(helloMessage(0, { relay: true }));
  peer.send(helloMessage(1));
  peer.send({ id: 2, method: 't.repeat', params: { bytes: 1 } });
  peer.send({ id: 3, method: 't.echo', params: { text: 'open to all' } });
  await until('all are answered', () => peer.received.length === 4);
  t.match(peer.received, [
    { id: 0, result: { slot: 'test' } },
    { id: 1, error: { data: { code: 'PROTOCOL_MISMATCH' } } },
    { id: 2, error: { code: -32601 } },
    { id: 3, result: { text: 'open to all' } },
  ]);
  t.equal(socket.server.links.size, 1);
});

t.test('a relay reaches public methods only', async (t) => {
  await using socket = await testSocket({ relayMethods: new Set(['t.echo']) });
  using relay = await socket.dial({ relay: true });
  t.same(await relay.call(echo, { text: 'public' }), { text: 'public' });
  await t.rejects(relay.call(nested, { list: [] }), { code: 'METHOD_NOT_FOUND' });
});

t.test('the cap on connections: one more is told so, and has a place once another leaves', async (t) => {
  await using socket = await testSocket();
  const peers: Disposable[] = [];
  // The queue of a listener is shorter than the crowd: who does not fit into it comes again.
  const enter = () => until('a place in the queue', () => rawPeer(socket.path).catch(() => undefined));
  while (peers.length < limits.ipc.connectionsMax - 1) peers.push(await enter());
  using last = await socket.dial();
  await t.rejects(socket.dial(), { code: 'TOO_MANY_CONNECTIONS', retryAfterMs: 1_000 });
  t.same(await last.call(echo, { text: 'served' }), { text: 'served' });
  peers.pop()![Symbol.dispose]();
  using next = await until('there is room again', () => socket.dial().catch(() => undefined));
  t.same(await next.call(echo, { text: 'too' }), { text: 'too' });
  for (const peer of peers) peer[Symbol.dispose]();
});

t.test('the file is private, appears when it serves and is gone afterwards', async (t) => {
  using place = socketPath();
  const path = join(dirname(place.path), 'run', 's.sock');
  {
    await using _server = await serve(options(path));
    t.equal(statSync(path).mode & 0o777, 0o600);
    t.equal(statSync(dirname(path)).mode & 0o777, 0o700);
    t.same(readdirSync(dirname(path)), ['s.sock']);
  }
  t.same(readdirSync(dirname(path)), []);
});

t.test('what a killed process left is taken over; a living socket never', async (t) => {
  using place = socketPath();
  await leaveStale(place.path);
  {
    await using _server = await serve(options(place.path));
    await t.rejects(serve(options(place.path)), { code: 'ALREADY_RUNNING', message: `test already runs as process ${process.pid}` });
    await t.rejects(serve({ ...options(place.path), token: 'of another home' }), { code: 'ALREADY_RUNNING' });
    t.same(readdirSync(dirname(place.path)), ['s.sock'], 'the refused ones leave nothing');
  }
  writeFileSync(place.path, 'not a socket at all');
  await using _server = await serve(options(place.path));
  t.ok(statSync(place.path).isSocket());
});

t.test('a listener of another kind that hangs up or says nothing keeps its path', async (t) => {
  const listen = async (path: string, onConnection: (socket: import('node:net').Socket) => void): Promise<Server> => {
    const server = createServer(onConnection).listen(path);
    await once(server, 'listening');
    return server;
  };
  using one = socketPath();
  const hangsUp = await listen(one.path, (socket) => void socket.destroy());
  await t.rejects(serve(options(one.path)), { code: 'ALREADY_RUNNING', message: /another process listens/ });
  hangsUp.close();
  using two = socketPath();
  const talks = await listen(two.path, (socket) => void socket.on('error', () => {}).end('220 hello, this is another protocol\r\n\r\n'));
  await t.rejects(serve(options(two.path)), { code: 'ALREADY_RUNNING' });
  talks.close();
});

t.test('a server does not remove the socket of its successor', async (t) => {
  using place = socketPath();
  const first = await serve(options(place.path));
  rmSync(place.path);
  await using second = await serve(options(place.path));
  await first[Symbol.asyncDispose]();
  t.ok(statSync(place.path).isSocket());
  t.equal(second.path, place.path);
});

t.test('many servers race for one path with a dead socket in it: exactly one wins, every time', async (t) => {
  const rounds = [];
  for (let round = 0; round < 15; round++) {
    using place = socketPath();
    await leaveStale(place.path);
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => serve(options(place.path))));
    const winners = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const codes = new Set(results.flatMap((result) => (result.status === 'rejected' ? [(result.reason as { code: string }).code] : [])));
    rounds.push({ winners: winners.length, codes: [...codes], left: readdirSync(dirname(place.path)) });
    for (const winner of winners) await winner[Symbol.asyncDispose]();
  }
  t.same(
    rounds,
    Array.from({ length: 15 }, () => ({ winners: 1, codes: ['ALREADY_RUNNING'], left: ['s.sock'] })),
  );
});

t.test('processes race for one path with a dead socket in it: exactly one serves', async (t) => {
  using place = socketPath();
  await leaveStale(place.path);
  const children = Array.from({ length: 5 }, () =>
    spawn(process.execPath, [`${projectRoot}/test/fixtures/servesAndWaits.ts`, place.path], { stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  const ends = children.map(async (child) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const serving = once(child.stdout, 'data').then(() => 'serves');
    return Promise.race([serving, once(child, 'close').then(() => (said.includes('ALREADY_RUNNING') ? 'refused' : said))]);
  });
  t.same((await Promise.all(ends)).toSorted(), ['refused', 'refused', 'refused', 'refused', 'serves']);
  for (const child of children.filter((each) => each.exitCode === null)) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

t.test('a claim left by a process that died while it cleared is broken in time', async (t) => {
  using place = socketPath();
  await leaveStale(place.path);
  const { inode, boundNs } = fileAt(place.path)!;
  const claim = `${place.path}.dead-${inode}-${boundNs}`;
  mkdirSync(claim);
  utimesSync(claim, 0, 0);
  await using _server = await serve(options(place.path));
  t.same(readdirSync(dirname(place.path)), ['s.sock']);
});

t.test('a directory that cannot be used: HOME_UNUSABLE names the path and the fix', async (t) => {
  using place = socketPath();
  symlinkSync('/dev/null', join(dirname(place.path), 'file'));
  const path = join(dirname(place.path), 'file', 's.sock');
  await t.rejects(serve(options(path)), {
    code: 'HOME_UNUSABLE',
    message: new RegExp(`cannot make the socket ${path}`),
    fix: /is writable/,
  });
});

t.test('a silent connection does not hold its place for ever', async (t) => {
  const ms = await silence;
  t.ok(ms > limits.ipc.helloMs - 100, `closed after ${Math.round(ms)} ms`);
});

t.test('a socket whose file was removed or overwritten is put back, and open connections go on', async (t) => {
  await using socket = await testSocket();
  using before = await socket.dial();
  const damages: Record<string, () => void> = {
    removed: () => rmSync(socket.path),
    'a file in its place': () => (rmSync(socket.path), writeFileSync(socket.path, 'junk')),
  };
  for (const [name, damage] of Object.entries(damages)) {
    damage();
    t.equal(await socket.server.mend(), true, name);
    using after = await socket.dial();
    t.match(await after.call(echo, { text: name }), { text: name });
    t.equal(await socket.server.mend(), false, 'nothing to mend');
  }
  t.match(await before.call(echo, { text: 'still here' }), { text: 'still here' });
});

t.test('a successor that took the path over is left alone, and the one before it leaves its file', async (t) => {
  await using socket = await testSocket();
  await using successor = await serve({ ...options(socket.path), nonce: 'successor', replace: true });
  t.equal(await socket.server.mend(), false);
  socket.server.stopListening();
  t.ok(fileAt(socket.path));
  using link = await socket.dial();
  t.match(await link.call(echo, { text: 'x' }), { text: 'x' });
  t.equal(successor.links.size, 1);
});
