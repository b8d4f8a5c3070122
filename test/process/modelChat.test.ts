/** The stream of compatible servers, as they really write it: what our own reader makes of each frame. */
import t from 'tap';
import { createServer, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { until } from '../harness/until.ts';
import { asked, chain, received, settingsFor, textOf } from '../harness/modelChain.ts';

const say = (delta: Record<string, unknown>, finish_reason: string | null = null): string =>
  frame({ choices: [{ index: 0, delta, finish_reason }] });
const frame = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const END = say({}, 'stop') + frame('[DONE]');
const STREAM = { 'content-type': 'text/event-stream' };

/** Answers every POST as told; `asks` counts them. */
async function serving(answer: (response: ServerResponse, ask: { url: string; headers: Record<string, unknown> }) => void) {
  const asks: { url: string; headers: Record<string, unknown> }[] = [];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const ask = { url: request.url ?? '', headers: request.headers };
      asks.push(ask);
      answer(response, ask);
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asks,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const streaming = (...pieces: string[]) =>
  serving((response) => {
    response.writeHead(200, STREAM);
    for (const piece of pieces) response.write(piece);
    response.end();
  });

t.test('each shape that servers give to text, thoughts and calls', async (t) => {
  const call = (more: Record<string, unknown>) => say({ tool_calls: [more] });
  const table: { name: string; frames: string[]; want: unknown[] }[] = [
    {
      name: 'a list of parts, with thoughts in it',
      frames: [
        say({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }),
        say({ content: [{ type: 'text', text: 'yes' }] }),
        END,
      ],
      want: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'yes' },
        { type: 'finish', reason: 'stop' },
      ],
    },
    {
      name: 'a refusal is text, and no proper stop',
      frames: [say({ refusal: 'I will not' }), END],
      want: [
        { type: 'text', text: 'I will not' },
        { type: 'finish', reason: 'content_filter' },
      ],
    },
    {
      name: 'a refusal that is no text is none',
      frames: [say({ refusal: false, content: 'yes' }), END],
      want: [
        { type: 'text', text: 'yes' },
        { type: 'finish', reason: 'stop' },
      ],
    },
    {
      name: 'a call whose name comes late, and one in a single frame without a number',
      frames: [
        call({ index: 0, id: 'a', function: { arguments: '{"x"' } }),
        call({ index: 0, function: { name: 'look', arguments: ':1' } }),
        call({ index: 0, function: { arguments: '}' } }),
        say({}, 'tool_calls'),
      ],
      want: [
        { type: 'toolStart', name: 'look' },
        { type: 'toolCall', call: { id: 'a', name: 'look', args: { x: 1 } } },
        { type: 'finish', reason: 'tool_calls' },
      ],
    },
    {
      name: 'a call in one frame, without a number',
      frames: [call({ id: 'b', function: { name: 'look', arguments: '{}' } }), say({}, 'tool_calls')],
      want: [
        { type: 'toolStart', name: 'look' },
        { type: 'toolCall', call: { id: 'b', name: 'look', args: {} } },
        { type: 'finish', reason: 'tool_calls' },
      ],
    },
    {
      name: 'arguments as an object, and a call in the older form',
      frames: [call({ index: 0, id: 'a', function: { name: 'look', arguments: { x: 1 } } }), say({}, 'tool_calls'), frame('[DONE]')],
      want: [
        { type: 'toolStart', name: 'look' },
        { type: 'toolCall', call: { id: 'a', name: 'look', args: { x: 1 } } },
        { type: 'finish', reason: 'tool_calls' },
      ],
    },
    {
      name: 'a call in the older form, in fragments',
      frames: [
        say({ function_call: { name: 'look', arguments: '' } }),
        say({ function_call: { arguments: '{"x"' } }),
        say({ function_call: { arguments: ':1}' } }),
        say({}, 'function_call'),
      ],
      want: [
        { type: 'toolStart', name: 'look' },
        { type: 'toolCall', call: { name: 'look', args: { x: 1 } } },
        { type: 'finish', reason: 'tool_calls' },
      ],
    },
    {
      name: 'thoughts between tags at the beginning of the text, the tags cut anywhere',
      frames: [...'\n<think>a < b</think>\n\nyes, <think> is a tag'.match(/.{1,3}/gs)!.map((content) => say({ content })), END],
      want: [
        { type: 'reasoning', text: 'a < b' },
        { type: 'text', text: 'yes, <think> is a tag' },
        { type: 'finish', reason: 'stop' },
      ],
    },
    {
      name: 'text that only begins like a tag',
      frames: [say({ content: '<th' }), END],
      want: [
        { type: 'text', text: '<th' },
        { type: 'finish', reason: 'stop' },
      ],
    },
    {
      name: 'comments, empty frames, frames without choices, a usage at the end',
      frames: [
        ': wait\n\n',
        'data:\n\n',
        frame({ choices: [] }),
        say({ content: 'yes' }),
        say({}, 'stop'),
        frame({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } }),
      ],
      want: [
        { type: 'text', text: 'yes' },
        { type: 'finish', reason: 'stop', usage: { input: 5, output: 2 } },
      ],
    },
  ];
  for (const { name, frames, want } of table) {
    await using server = await streaming(...frames);
    const { chunks, error } = await received(await chain(settingsFor('openai-compatible', server.url)));
    t.equal(error, undefined, name);
    t.match(chunks, want, name);
    t.equal(chunks.length, want.length, name);
  }
});

t.test('a letter that is cut between two pieces of the stream arrives whole', async (t) => {
  const bytes = Buffer.from(say({ content: 'größe 漢字' }) + END);
  await using server = await serving((response) => {
    response.writeHead(200, STREAM);
    const send = (at: number): void => {
      if (at >= bytes.length) return void response.end();
      response.write(bytes.subarray(at, at + 7), () => setImmediate(() => send(at + 7)));
    };
    send(0);
  });
  t.equal(textOf((await received(await chain(settingsFor('openai-compatible', server.url)))).chunks), 'größe 漢字');
});

t.test('what is no frame ends the stream, says so, and keeps what had come', async (t) => {
  const table: { bad: string; says: RegExp }[] = [
    { bad: frame('{"choices":[{"del'), says: /is no JSON/ },
    { bad: frame([1]), says: /is no object/ },
    { bad: frame({ id: 'x' }), says: /has no choices/ },
    { bad: frame({ choices: [7] }), says: /wrong choice/ },
    { bad: say({ content: 7 }), says: /wrong delta/ },
    { bad: say({ tool_calls: [{ index: 0 }] }), says: /wrong delta/ },
    { bad: frame({ choices: [], usage: { prompt_tokens: 'many' } }), says: /wrong usage/ },
    { bad: frame({ error: { message: 'the card burns', code: 500 } }), says: /the card burns/ },
    { bad: frame({ error: 'out of memory' }), says: /out of memory/ },
  ];
  for (const { bad, says } of table) {
    await using server = await streaming(say({ content: 'half' }), bad, END);
    const { chunks, error } = await received(await chain(settingsFor('openai-compatible', server.url)));
    t.equal(textOf(chunks), 'half');
    t.match(error, { code: 'PROVIDER_CUT', message: says });
  }
});

t.test('an error in the stream that speaks of the window is CONTEXT_OVERFLOW', async (t) => {
  await using server = await streaming(frame({ error: { message: 'no', code: 'context_length_exceeded' } }));
  t.match(await received(await chain(settingsFor('openai-compatible', server.url))), { error: { code: 'CONTEXT_OVERFLOW' } });
});

t.test('a server that moved is followed, and what a proxy compressed is read', async (t) => {
  await using server = await serving((response, { url }) => {
    if (url === '/v1/chat/completions') return void response.writeHead(307, { location: '/v2/here' }).end();
    response.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' }).end(gzipSync(say({ content: 'found' }) + END));
  });
  t.equal(textOf((await received(await chain(settingsFor('openai-compatible', server.url)))).chunks), 'found');
  await using zipped = await serving((response) => {
    response.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' }).end(gzipSync(say({ content: 'small' }) + END));
  });
  t.equal(textOf((await received(await chain(settingsFor('openai-compatible', zipped.url)))).chunks), 'small');
  t.match(zipped.asks[0]!.headers, { 'accept-encoding': 'identity', authorization: 'Bearer value-of-KEY' });
});

t.test('the connection serves the next request, and is gone when the answer is left', async (t) => {
  let leftAt: number | undefined;
  const ports = new Set<number | undefined>();
  await using server = await serving((response) => {
    ports.add(response.socket?.remotePort);
    response.on('close', () => (leftAt = response.writableFinished ? undefined : Date.now()));
    response.writeHead(200, STREAM);
    response.write(say({ content: 'one' }));
    if (server.asks.length < 3) response.end(END);
  });
  const model = await chain(settingsFor('openai-compatible', server.url));
  await received(model);
  await received(model);
  t.equal(ports.size, 1, 'kept');
  for await (const chunk of model.stream(asked())) {
    t.match(chunk, { type: 'text', text: 'one' });
    break;
  }
  t.ok(await until('the answer is left', () => leftAt));
});

t.test('nobody listens there: the code of the system is told', async (t) => {
  await using server = await streaming(END);
  const { url } = server;
  await server[Symbol.asyncDispose]();
  const signal = new AbortController();
  const chunks: string[] = [];
  for await (const chunk of (await chain(settingsFor('openai-compatible', url))).stream(asked({ signal: signal.signal }))) {
    if (chunk.type === 'retry') chunks.push(chunk.reason);
    break;
  }
  t.match(chunks, [/ECONNREFUSED/]);
});
