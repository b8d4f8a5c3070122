/** What real providers send when something is wrong, and what a user reads of it: the words, the kind of trouble, the remedy. */
import t from 'tap';
import { createServer } from 'node:http';
import type { ProviderKind } from '../../agent/models/kinds.ts';
import type { AgentError } from '../../base/errors.ts';
import { chain, kindsOf, received, settingsFor, textOf } from '../harness/modelChain.ts';

interface Given {
  status?: number;
  type?: string;
  body: unknown;
}

/** Answers every request with `given`; `asks` counts them. */
async function serving({ status = 200, type = 'application/json', body }: Given) {
  let asks = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      asks++;
      response.writeHead(status, { 'content-type': type, 'retry-after-ms': '1' });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get asks() {
      return asks;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function failure(kind: ProviderKind, given: Given) {
  await using server = await serving(given);
  const { chunks, error } = await received(await chain(settingsFor(kind, server.url)));
  return { chunks, error: error as AgentError, asks: server.asks };
}

const events = (...frames: object[]): Given => ({
  type: 'text/event-stream',
  body: frames.map((frame) => `event: ${'type' in frame ? String(frame.type) : 'message'}\ndata: ${JSON.stringify(frame)}\n\n`).join(''),
});

const google = (code: number, message: string, status: string, details: object[] = []) => ({ error: { code, message, status, details } });
const retryInfo = (retryDelay: string) => ({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay });

const COMPATIBLE = 'openai-compatible';
const table: { name: string; kind?: ProviderKind; given: Given; code?: string; says: RegExp; fix: RegExp; asks?: number }[] = [
  {
    name: 'vLLM, its older body',
    given: {
      status: 400,
      body: { object: 'error', message: 'top_k must be -1 or at least 1', type: 'BadRequestError', param: null, code: 400 },
    },
    says: /answered 400: top_k must be/,
    fix: /own message/,
  },
  {
    name: 'Mistral, fields',
    given: { status: 422, body: { detail: [{ type: 'missing', loc: ['body', 'messages'], msg: 'Field required', input: {} }] } },
    says: /answered 422: messages: Field required/,
    fix: /own message/,
  },
  {
    name: 'Mistral, fields below a message',
    given: {
      status: 422,
      body: {
        object: 'error',
        message: { detail: [{ loc: ['body', 'temperature'], msg: 'Input should be less than 1.5' }] },
        type: 'invalid_request_error',
      },
    },
    says: /temperature: Input should be less than 1\.5/,
    fix: /own message/,
  },
  {
    name: 'Mistral, no key',
    given: { status: 401, body: { message: 'Unauthorized', request_id: 'a1' } },
    says: /answered 401: Unauthorized/,
    fix: /the key in KEY/,
  },
  {
    name: 'LM Studio, no room',
    given: {
      status: 400,
      body: {
        error:
          'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
      },
    },
    code: 'CONTEXT_OVERFLOW',
    says: /4096 tokens/,
    fix: /compress/,
  },
  {
    name: 'Groq, larger than a minute allows',
    given: {
      status: 413,
      body: {
        error: {
          message:
            'Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 9035, please reduce your message size and try again.',
          type: 'tokens',
          code: 'rate_limit_exceeded',
        },
      },
    },
    code: 'CONTEXT_OVERFLOW',
    says: /Request too large/,
    fix: /compress/,
  },
  {
    name: 'OpenAI, country',
    given: {
      status: 403,
      body: {
        error: {
          code: 'unsupported_country_region_territory',
          message: 'Country, region, or territory not supported',
          type: 'request_forbidden',
        },
      },
    },
    says: /territory not supported/,
    fix: /country/,
  },
  {
    name: 'Gemini, country',
    kind: 'google',
    given: { status: 400, body: google(400, 'User location is not supported for the API use.', 'FAILED_PRECONDITION') },
    says: /location is not supported/,
    fix: /country/,
  },
  {
    name: 'Gemini, key',
    kind: 'google',
    given: {
      status: 400,
      body: google(400, 'API key not valid. Please pass a valid API key.', 'INVALID_ARGUMENT', [{ reason: 'API_KEY_INVALID' }]),
    },
    says: /API key not valid/,
    fix: /the key in KEY/,
  },
  {
    name: 'Gemini, a wait that is longer than a turn has patience',
    kind: 'google',
    given: { status: 429, body: google(429, 'You exceeded your current quota', 'RESOURCE_EXHAUSTED', [retryInfo('3600s')]) },
    says: /exceeded your current quota/,
    fix: /^wait 1 h 0 min, or/,
    asks: 1,
  },
  {
    name: 'Gemini, in the stream',
    kind: 'google',
    given: { type: 'text/event-stream', body: `data: ${JSON.stringify(google(429, 'slow down', 'RESOURCE_EXHAUSTED'))}\n\n` },
    says: /answered 429: slow down/,
    fix: /^wait/,
  },
  {
    name: 'Gemini, a call that it could not write',
    kind: 'google',
    given: {
      type: 'text/event-stream',
      body: `data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: 'model', parts: [] }, finishReason: 'MALFORMED_FUNCTION_CALL' }] })}\n\n`,
    },
    says: /MALFORMED_FUNCTION_CALL/,
    fix: /another model/,
  },
  {
    name: 'Anthropic, no credit',
    kind: 'anthropic',
    given: {
      status: 400,
      body: {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'Your credit balance is too low to access the Anthropic API.' },
      },
    },
    says: /credit balance is too low/,
    fix: /no credit left/,
  },
  {
    name: 'Anthropic, overloaded in the stream',
    kind: 'anthropic',
    given: events({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    says: /answered 529: Overloaded/,
    fix: /try again later/,
  },
  {
    name: 'a 429 in the stream of a compatible server',
    given: events({
      error: { message: 'Provider returned error', code: 429, metadata: { raw: 'the upstream is busy', provider_name: 'Up' } },
    }),
    says: /answered 429: Provider returned error: the upstream is busy/,
    fix: /^wait/,
  },
  { name: 'an empty stream', given: { type: 'text/event-stream', body: '' }, says: /was empty/, fix: /base_url/ },
  { name: 'an empty body', given: { body: '' }, says: /was empty/, fix: /base_url/ },
  { name: 'a page', given: { type: 'text/event-stream', body: 'data: <html></html>\n\n' }, says: /no JSON/, fix: /base_url/ },
  {
    name: 'an error in JSON with status 200',
    given: { body: { error: { message: 'no such model' } } },
    says: /no such model/,
    fix: /later/,
  },
];

for (const { name, kind = COMPATIBLE, given, code = 'PROVIDER_FAILED', says, fix, asks } of table) {
  t.test(name, async (t) => {
    const { error, asks: count } = await failure(kind, given);
    t.match(error, { code, message: says, fix });
    if (asks !== undefined) t.equal(count, asks);
  });
}

t.test('an answer in one piece is an answer', async (t) => {
  const message = {
    role: 'assistant',
    content: '<think>hm</think>yes',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{"x":1}' } }],
  };
  const { chunks, error } = await failure(COMPATIBLE, {
    body: {
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    },
  });
  t.equal(error, undefined);
  t.match(chunks, [
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'yes' },
    { type: 'toolStart', name: 'look' },
    { type: 'toolCall', call: { id: 'a', args: { x: 1 } } },
    { type: 'finish', reason: 'tool_calls', usage: { input: 3, output: 2 } },
  ]);
});

t.test('Anthropic: unknown events, deltas and blocks are skipped, and a pause asks to be continued', async (t) => {
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'x',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const delta = (given: object) => ({ type: 'content_block_delta', index: 0, delta: given });
  const { chunks, error } = await failure(
    'anthropic',
    events(
      { type: 'message_start', message },
      { type: 'weather_report', sunny: true },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      delta({ type: 'text_delta', text: 'one ' }),
      delta({ type: 'mood_delta', mood: 'fine' }),
      delta({ type: 'text_delta', text: 'two' }),
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'hologram' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'pause_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ),
  );
  t.equal(error, undefined);
  t.equal(textOf(chunks), 'one two');
  t.match(chunks.at(-1), { type: 'finish', reason: 'paused' });
});

t.test('a key that a provider repeats in its error is redacted', async (t) => {
  await using server = await serving({ status: 401, body: { error: { message: 'Incorrect API key provided: value-of-KEY' } } });
  const { error } = await received(
    await chain(settingsFor(COMPATIBLE, server.url), { redact: (text) => text.replaceAll('value-of-KEY', '[redacted]') }),
  );
  t.match(error, { message: /provided: \[redacted\]/ });
});

/** Sends comments every few milliseconds, then `answer`. */
async function keptAlive(comments: number, answer: string) {
  let asks = 0;
  const server = createServer((request, response) => {
    request.resume();
    asks++;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const timer = setInterval(() => {
      if (sent++ < comments) return void response.write(': keep-alive\n\n');
      clearInterval(timer);
      if (answer) response.end(answer);
    }, 50);
    response.on('close', () => clearInterval(timer));
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asks: () => asks,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

t.test('keep-alive comments are signs of life; silence is asked again once and then names the setting', async (t) => {
  const done = 'data: {"choices":[{"delta":{"content":"there"},"finish_reason":"stop"}]}\n\n';
  await using patient = await keptAlive(30, done);
  const alive = await received(await chain(settingsFor(COMPATIBLE, patient.url, { firstByteMs: 600 })));
  t.same([alive.error, textOf(alive.chunks), patient.asks()], [undefined, 'there', 1]);
  await using silent = await keptAlive(0, '');
  const { chunks, error } = await received(await chain(settingsFor(COMPATIBLE, silent.url, { firstByteMs: 100 })));
  t.match(error, { code: 'PROVIDER_FAILED', fix: /providers\.openai-compatible\.first_byte_timeout_seconds/ });
  t.same([kindsOf(chunks), silent.asks()], [['retry'], 2]);
});
