/**
 * `npm run bench -- engine`: the agent worker from the built package, with a streaming provider on loopback.
 * `--rows first,stream,bytes,cpu,many,oneshot,idle` chooses; `--turns N`, `--seconds S`, `--quick`, `--json`.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fdatasyncSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { sleep } from '../../base/time.ts';
import { promptSubmit, sessionCreate } from '../../ipc/contracts/rpc.ts';
import { event, type EventParams } from '../../ipc/contracts/rpcEvents.ts';
import { dial, dialFrames } from '../../ipc/dial.ts';
import { onNotice, type Link } from '../../ipc/link.ts';
import { openHome, readToken, type Home } from '../../state/home.ts';
import { until } from '../harness/until.ts';
import { cpuNs, machine, pssMiB, round, runMs, shown, spread, untilReady } from './measure.ts';
import { layOutPackage } from './package.ts';

const rows = ['first', 'stream', 'bytes', 'cpu', 'many', 'oneshot', 'idle'] as const;
const { values } = parseArgs({
  options: {
    rows: { type: 'string' },
    turns: { type: 'string' },
    seconds: { type: 'string' },
    quick: { type: 'boolean' },
    json: { type: 'boolean' },
  },
});
const chosen: readonly string[] = values.rows?.split(',') ?? rows;
const turns = Number(values.turns ?? (values.quick ? 50 : 300));
const seconds = Number(values.seconds ?? (values.quick ? 3 : 10));
const HISTORY = values.quick ? 200 : 2_000;
const SESSIONS = 200;
/** 50 tokens a second. */
const PAUSE_MS = 20;

const place = mkdtempSync(join(tmpdir(), 'agent-bench-engine-'));
const packageRoot = join(place, 'package');
const table: { what: string; value: string; beside: string }[] = [];
const provider = await startProvider();

try {
  layOutPackage(packageRoot);
  if (chosen.includes('first')) await benchFirst();
  if (chosen.includes('stream')) await benchStream();
  if (chosen.includes('bytes')) await benchBytes();
  if (chosen.includes('cpu')) await benchCpu();
  if (chosen.includes('many')) await benchMany();
  if (chosen.includes('oneshot')) await benchOneShot();
  if (chosen.includes('idle')) await benchIdle();
  print();
} finally {
  provider.end();
  rmSync(place, { recursive: true, force: true });
}

/** Microseconds on a clock that all processes of this machine share. */
function nowUs(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1_000);
}

// --- what is measured ---

/** From `prompt.submit` to the arrival of its request at the provider. */
async function benchFirst(): Promise<void> {
  const starts: number[] = [];
  for (let i = 0; i < 5; i++) {
    await using agent = await startAgent('first');
    const chat = await agent.chat('t1x0');
    starts.push((await chat.turn('hello')).requestMs);
  }
  add('prompt.submit → first request byte, first turn after start', `${shown(spread(starts))} ms`);

  await using agent = await startAgent('history');
  const chat = await agent.chat('t1x0');
  for (let i = 0; i < HISTORY / 2; i++) await chat.turn(`message ${i}: ${'words of a usual length '.repeat(6)}`);
  const measured: Turn[] = [];
  for (let i = 0; i < turns; i++) measured.push(await chat.turn(`again ${i}`));
  add(
    `prompt.submit → first request byte, ${HISTORY} messages of history`,
    shares(measured.map(({ requestMs }) => requestMs)),
    `${turns} turns`,
  );
  add(
    'prompt.submit → its answer: the prompt is on the disk',
    shares(measured.map(({ acceptedMs }) => acceptedMs)),
    `4 KiB written and flushed: ${shares(flushes(agent.home.root, turns))}`,
  );
}

/** What the disk itself takes, beside which an acknowledgement is read. */
function flushes(dir: string, count: number): number[] {
  const file = openSync(join(dir, 'flushed'), 'w');
  const page = Buffer.alloc(4_096);
  const times = Array.from({ length: count }, () => {
    const startMs = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    return performance.now() - startMs;
  });
  closeSync(file);
  return times;
}

/** What a token needs from the provider's write to the client's hands. */
async function benchStream(): Promise<void> {
  await using agent = await startAgent('stream');
  const chat = await agent.chat(`t500x${PAUSE_MS / 4}`);
  await chat.turn('warm');
  const { tokenMs } = await chat.turn('go');
  const direct = await provider.tokenMs(`t500x${PAUSE_MS / 4}`);
  const sorted = tokenMs.toSorted((a, b) => a - b);
  const bare = direct.toSorted((a, b) => a - b);
  add(
    'a token, provider → client over the socket',
    `p50 ${round(at(sorted, 0.5), 3)} ms, p95 ${round(at(sorted, 0.95), 3)} ms`,
    `straight from the provider: p50 ${round(at(bare, 0.5), 3)} ms; added ${round(at(sorted, 0.5) - at(bare, 0.5), 3)} ms`,
  );
}

async function benchBytes(): Promise<void> {
  await using agent = await startAgent('bytes');
  const chat = await agent.chat(`w1000x${PAUSE_MS / 4}`);
  const stream = await dialFrames(agent.home.run.socket('agent'), {
    token: readToken(agent.home)!,
    slot: 'bench',
    code: 'bench',
    relay: true,
    signal: new AbortController().signal,
  });
  let bytes = 0;
  stream.listen((body) => (bytes += body.length));
  stream.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session.resume', params: { session_id: chat.id } }));
  await until('the second client follows', () => bytes > 0);
  await sleep(100);
  bytes = 0;
  const { text } = await chat.turn('go');
  await sleep(200);
  stream.socket.destroy();
  add(
    'bytes to a client per byte of text, one token a frame',
    String(round(bytes / text.length, 1)),
    `${text.length} bytes of text in 1,000 tokens of five bytes`,
  );
}

/** CPU of the worker for turns of 100 tokens, one frame each, told over a socket. */
async function benchCpu(): Promise<void> {
  await using agent = await startAgent('cpu');
  const chat = await agent.chat('t100x5');
  for (let i = 0; i < 3; i++) await chat.turn('warm');
  const used: number[] = [];
  for (let i = 0; i < Math.min(turns, 20); i++) {
    const before = cpuNs(agent.pid);
    await chat.turn('go');
    await sleep(50);
    used.push((cpuNs(agent.pid) - before) / 1e6);
  }
  add('CPU of a turn of 100 tokens, agent worker', `${shown(spread(used))} ms`, 'one client');
}

/** Many sessions stream at once: does the worker keep up? */
async function benchMany(): Promise<void> {
  await using agent = await startAgent('many');
  const tokens = seconds * (1_000 / PAUSE_MS);
  const chats = [];
  for (let i = 0; i < SESSIONS; i++) chats.push(await agent.chat(`t${tokens}x${PAUSE_MS}`));
  const before = cpuNs(agent.pid);
  const startedAt = performance.now();
  const results = await Promise.all(chats.map((chat) => chat.turn('go', 120_000)));
  const tookMs = performance.now() - startedAt;
  const sorted = results.flatMap(({ tokenMs }) => tokenMs).toSorted((a, b) => a - b);
  const late = results.map(({ tokenMs }) => tokenMs.at(-1)!).toSorted((a, b) => a - b);
  add(
    `${SESSIONS} sessions at ${1_000 / PAUSE_MS} tokens/s`,
    `a token p50 ${round(at(sorted, 0.5), 1)} ms, p95 ${round(at(sorted, 0.95), 1)} ms; last token p95 ${round(at(late, 0.95), 1)} ms`,
    `${seconds} s of stream took ${round(tookMs / 1_000, 2)} s; ${round(((cpuNs(agent.pid) - before) / 1e6 / tookMs) * 100, 0)} % of a core in the worker`,
  );
}

/** `agent chat -q` as a whole process, with the service up; the model's own time is nothing. */
async function benchOneShot(): Promise<void> {
  const { home, env } = placeFor('oneshot', 't1x0');
  const { end } = await untilReady([process.execPath, join(packageRoot, 'dist/bin/agentd.js'), '--only', 'agent'], env, () =>
    reachable(home),
  );
  try {
    const ask = () => runMs([join(packageRoot, 'bin/agent'), 'chat', '-q', 'hi'], env);
    ask();
    const took = Array.from({ length: 15 }, ask);
    const bare = Array.from({ length: 15 }, () => runMs([process.execPath, '-e', '0'], env));
    add('`agent chat -q "hi"`, service up, whole process', `${shown(spread(took))} ms`, `\`node -e 0\` ${shown(spread(bare))} ms`);
  } finally {
    await end();
  }
}

async function benchIdle(): Promise<void> {
  await using agent = await startAgent('idle');
  await sleep(20_000);
  add('idle agent worker with a provider configured', `${round(pssMiB(agent.pid))} MiB PSS`);
}

// --- the parts ---

interface Turn {
  /** Until `prompt.submit` was answered: the prompt is on the disk. */
  acceptedMs: number;
  requestMs: number;
  tokenMs: number[];
  text: string;
}

interface Chat {
  id: string;
  turn(text: string, limitMs?: number): Promise<Turn>;
}

interface Agent extends AsyncDisposable {
  pid: number;
  home: Home;
  /** A session that talks to a model of the bench's provider. */
  chat(model: string): Promise<Chat>;
}

function placeFor(name: string, model: string): { home: Home; env: NodeJS.ProcessEnv } {
  const root = mkdtempSync(join(place, `${name}-`));
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const config = `model: { provider: bench, default: ${model} }\nproviders:\n  bench: { kind: openai-compatible, base_url: "${provider.url}" }\n`;
  writeFileSync(join(root, 'config.yaml'), config);
  return { home: openHome(root), env: { PATH: process.env.PATH, HOME: root, AGENT_HOME: root, AGENT_SLOT: 'agent' } };
}

function reachable(home: Home): Promise<boolean> {
  return until('the agent worker serves', async () => {
    using link = await dial(home.run.socket('agent'), { token: readToken(home) ?? '', slot: 'bench' });
    return link.isOpen;
  });
}

async function startAgent(name: string): Promise<Agent> {
  const { home, env } = placeFor(name, 't1x0');
  const { pid, end } = await untilReady([process.execPath, join(packageRoot, 'dist/services/agent/main.js')], env, () => reachable(home));
  const listeners = new Map<string, (params: EventParams) => void>();
  const link: Link = await dial(home.run.socket('agent'), {
    token: readToken(home)!,
    slot: 'bench',
    notices: [onNotice(event, (params) => listeners.get(params.session_id ?? '')?.(params))],
  });
  return {
    pid,
    home,
    async chat(model) {
      const { session_id: id } = await link.call(sessionCreate, { source: 'api', model, provider: 'bench' });
      return {
        id,
        turn: (text, limitMs = 60_000) =>
          new Promise((resolve, reject) => {
            const turn: Turn = { acceptedMs: Number.NaN, requestMs: Number.NaN, tokenMs: [], text: '' };
            const late = setTimeout(() => reject(new Error(`no end of the turn within ${limitMs} ms`)), limitMs);
            const sentUs = nowUs();
            listeners.set(id, ({ type, payload }) => {
              if (type === 'message.delta') read(String(payload.text), sentUs, turn);
              if (type !== 'message.complete') return;
              clearTimeout(late);
              if (payload.status === 'complete') resolve(turn);
              else reject(new Error(JSON.stringify(payload)));
            });
            link.call(promptSubmit, { session_id: id, text }).then(() => (turn.acceptedMs = (nowUs() - sentUs) / 1_000), reject);
          }),
      };
    },
    async [Symbol.asyncDispose]() {
      link.destroy();
      await end();
    },
  };
}

/** Stamps in a piece of text: `@` the request's arrival, `#` the sending of a token. */
function read(text: string, sentUs: number, turn: Turn): void {
  const us = nowUs();
  turn.text += text;
  for (const [, mark, stamp] of text.matchAll(/([@#])(\d+)/g)) {
    if (mark === '@') turn.requestMs = (Number(stamp) - sentUs) / 1_000;
    else turn.tokenMs.push((us - Number(stamp)) / 1_000);
  }
}

async function startProvider(): Promise<{ url: string; tokenMs(model: string): Promise<number[]>; end(): void }> {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, 'tokenServer.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [port] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  const url = `http://127.0.0.1:${port}/v1`;
  return {
    url,
    async tokenMs(model) {
      const response = await fetch(`${url}/chat/completions`, { method: 'POST', body: JSON.stringify({ model }) });
      const turn: Turn = { acceptedMs: 0, requestMs: 0, tokenMs: [], text: '' };
      for await (const part of response.body!.pipeThrough(new TextDecoderStream())) read(part, 0, turn);
      return turn.tokenMs;
    },
    end: () => child.stdin!.end(),
  };
}

function shares(values: number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return `p50 ${round(at(sorted, 0.5), 2)} ms, p95 ${round(at(sorted, 0.95), 2)} ms`;
}

function at(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

function add(what: string, value: string, beside = ''): void {
  table.push({ what, value, beside });
  process.stderr.write(`${what}: ${value}${beside ? `   [${beside}]` : ''}\n`);
}

function print(): void {
  if (values.json) return void process.stdout.write(`${JSON.stringify({ machine: machine(), turns, seconds, table }, null, 2)}\n`);
  process.stdout.write(`\n${machine()}; median (min–max)\n\n| what | figure | beside |\n|---|---|---|\n`);
  for (const row of table) process.stdout.write(`| ${row.what} | ${row.value} | ${row.beside} |\n`);
}
