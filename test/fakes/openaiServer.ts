/**
 * A loopback server that speaks the OpenAI chat-completions stream: scripted answers, tool calls in
 * fragments, refusals, cuts and silence. Each request takes the next answer of the script.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface FakeAnswer {
  text?: string;
  reasoning?: string;
  toolCalls?: { name: string; /** Sent as is, also when it is no JSON. */ args: string }[];
  /** Refuses with this status instead of answering. */
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Destroys the socket after the text instead of finishing. */
  cut?: boolean;
  /** Ends the response after the text without a finish_reason and without [DONE]. */
  endsEarly?: boolean;
  /** Sends the text, then nothing more; the socket stays open. */
  silent?: boolean;
  /** Answers only after that. */
  until?: Promise<void>;
}

export interface FakeRequest {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: {
    model: string;
    messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[];
    tools?: { function: { name: string } }[];
    [key: string]: unknown;
  };
  /** The client went away before the answer was complete. */
  aborted: boolean;
}

export interface FakeOpenAi extends AsyncDisposable {
  /** Base URL for `providers.<name>.base_url`. */
  url: string;
  requests: FakeRequest[];
  /** Adds answers; with none left the server answers `ok`. */
  answer(...answers: FakeAnswer[]): void;
}

export async function startOpenAi(...script: FakeAnswer[]): Promise<FakeOpenAi> {
  const requests: FakeRequest[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((text) => {
      const record: FakeRequest = {
        path: request.url ?? '',
        headers: request.headers,
        body: JSON.parse(text) as FakeRequest['body'],
        aborted: false,
      };
      requests.push(record);
      response.on('close', () => (record.aborted = !response.writableFinished));
      const answer = script.shift() ?? { text: 'ok' };
      void Promise.resolve(answer.until).then(() => give(response, answer, record.body.model));
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    answer: (...answers) => void script.push(...answers),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string;
  return text;
}

function give(response: ServerResponse, answer: FakeAnswer, model: string): void {
  if (answer.status) {
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(JSON.stringify(answer.body ?? { error: { message: `scripted ${answer.status}`, type: 'scripted', code: null } }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const send = (delta: Record<string, unknown>, finish: string | null = null) =>
    response.write(
      `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    );
  send({ role: 'assistant', content: '' });
  for (const part of pieces(answer.reasoning ?? '')) send({ reasoning_content: part });
  for (const part of pieces(answer.text ?? '')) send({ content: part });
  for (const [index, call] of (answer.toolCalls ?? []).entries()) {
    send({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: call.name, arguments: '' } }] });
    for (const part of pieces(call.args)) send({ tool_calls: [{ index, function: { arguments: part } }] });
  }
  if (answer.silent) return;
  // A destroyed socket drops what is not on the wire yet, so the cut waits for the write.
  if (answer.cut) return void response.write(': cut\n\n', () => setImmediate(() => response.socket?.resetAndDestroy()));
  if (answer.endsEarly) return void response.end();
  send({}, answer.toolCalls ? 'tool_calls' : 'stop');
  response.write(
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model, choices: [], usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } })}\n\n`,
  );
  response.end('data: [DONE]\n\n');
}

/** Fragments of five characters, as small as real ones get. */
const pieces = (text: string): string[] => text.match(/.{1,5}/gs) ?? [];
