/** What the fakes of the model vendors share: a scripted loopback server that records what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

export interface FakeAnswer {
  text?: string;
  reasoning?: string;
  toolCalls?: { name: string; /** Sent as is, also when it is no JSON. */ args: string }[];
  /** Tokens said at the end; cached ones are part of `input`. */
  usage?: { input: number; output: number; reasoning?: number; cacheRead?: number; cacheWrite?: number };
  /** Why it stops, in the vendor's own word. */
  finish?: string;
  /** Refuses with this status instead of answering. */
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Answers only after that. */
  until?: Promise<void>;
  /** Waits before its first byte, and between two pieces. */
  firstByteMs?: number;
  pieceMs?: number;
  /** Destroys the socket after the text instead of finishing. */
  cut?: boolean;
  /** Ends the response after the text without saying that it ends. */
  endsEarly?: boolean;
  /** Sends the text, then nothing more; the socket stays open. */
  silent?: boolean;
}

export interface FakeRequest<Body = Record<string, unknown>> {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: Body;
  /** The client went away before the answer was complete. */
  aborted: boolean;
}

export interface FakeModels<Body = Record<string, unknown>> extends AsyncDisposable {
  /** Base URL for `providers.<name>.base_url`. */
  url: string;
  /** Prompts it was sent. */
  requests: FakeRequest<Body>[];
  /** Paths under which lists of models were asked for. */
  lists: string[];
  /** Adds answers; with none left the server answers `ok`. */
  answer(...answers: FakeAnswer[]): void;
}

/** One data line of the answer; `event` where the vendor names them. */
export type Send = (data: unknown, event?: string) => Promise<void>;

export interface Vendor<Body> {
  /** Path of the base URL. */
  base: string;
  /** The rows of `GET …/models` and its kin; undefined = not a list. */
  list(path: string): unknown;
  /** Body of a refusal that names none. */
  refusal(status: number): unknown;
  /** Everything up to where an answer may be cut, then how it ends. */
  stream(answer: FakeAnswer, request: FakeRequest<Body>, send: Send): Promise<() => Promise<void>>;
}

export async function startModels<Body>(vendor: Vendor<Body>, script: FakeAnswer[]): Promise<FakeModels<Body>> {
  const requests: FakeRequest<Body>[] = [];
  const lists: string[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then(async (text) => {
      const path = request.url ?? '';
      if (request.method === 'GET') {
        lists.push(path);
        return respond(response, vendor.list(path));
      }
      const record: FakeRequest<Body> = { path, headers: request.headers, body: JSON.parse(text) as Body, aborted: false };
      requests.push(record);
      response.on('close', () => (record.aborted = !response.writableFinished));
      await give({ vendor, response, answer: script.shift() ?? { text: 'ok' }, record });
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}${vendor.base}`,
    requests,
    lists,
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

function respond(response: ServerResponse, body: unknown): void {
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body ?? { error: { message: 'not found' } }));
}

interface Giving<Body> {
  vendor: Vendor<Body>;
  response: ServerResponse;
  answer: FakeAnswer;
  record: FakeRequest<Body>;
}

async function give<Body>({ vendor, response, answer, record }: Giving<Body>): Promise<void> {
  await answer.until;
  if (answer.firstByteMs) await wait(answer.firstByteMs);
  if (answer.status) {
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(JSON.stringify(answer.body ?? vendor.refusal(answer.status)));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...answer.headers });
  const send: Send = async (data, event) => {
    const name = event ? `event: ${event}\n` : '';
    response.write(`${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    if (answer.pieceMs) await wait(answer.pieceMs);
  };
  const end = await vendor.stream(answer, record, send);
  if (answer.silent) return;
  // A destroyed socket drops what is not on the wire yet, so the cut waits for the write.
  if (answer.cut) return void response.write(': cut\n\n', () => setImmediate(() => response.socket?.resetAndDestroy()));
  if (!answer.endsEarly) await end();
  response.end();
}

/** Fragments of five characters, as small as real ones get. */
export const pieces = (text: string): string[] => text.match(/.{1,5}/gs) ?? [];

export const usageOf = ({ usage }: FakeAnswer) => ({ input: 11, output: 7, reasoning: 0, cacheRead: 0, cacheWrite: 0, ...usage });
