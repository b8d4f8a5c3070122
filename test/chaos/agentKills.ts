/**
 * `node test/chaos/agentKills.ts [--kills 1000] [--seed N]`: SIGKILL of the agent worker at random points of
 * scripted turns with tools, its own recovery included. Then the proof: no accepted prompt lost or doubled,
 * no tool run twice, all text that anybody saw is kept. Prints figures and PASS; leaves with 1 otherwise.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sleep } from '../../base/time.ts';
import type { EventParams } from '../../ipc/contracts/rpcEvents.ts';
import { sessionHistory, sessionResume } from '../../ipc/contracts/rpc.ts';
import type { Message } from '../../ipc/contracts/rpcRecords.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker, type TestWorker } from '../harness/worker.ts';
import { seeded, type Random } from './random.ts';

export interface KillOptions {
  kills: number;
  seed: number;
  say?: (line: string) => void;
}

const SESSIONS = 3;
const PROMPTS_PER_ROUND = 4;
/** Accepted and not yet answered, over all sessions, above which nothing new is asked. */
const BACKLOG_MAX = 24;
/** From the first prompt of a round to its kill. */
const LIFE_MAX_MS = 350;

interface Prompt {
  session: string;
  text: string;
  key: string;
  accepted: boolean;
}

interface Run {
  home: TestHome;
  random: Random;
  sessions: string[];
  prompts: Prompt[];
  /** Text that a client saw of an answer, by message. */
  seen: Map<number, { session: string; text: string }>;
  figures: Record<string, number>;
  /** Prompts in line when the last worker began. */
  backlog: number;
}

export async function runKills({
  kills,
  seed,
  say = () => {},
}: KillOptions): Promise<{ problems: string[]; figures: Record<string, number> }> {
  using home = testHome();
  const figures = { kills: 0, 'kills at start': 0, prompts: 0, accepted: 0, 'tools run': 0, 'turns cut': 0, complete: 0 };
  const run: Run = { home, random: seeded(seed), sessions: [], prompts: [], seen: new Map(), figures, backlog: 0 };
  let worker = await startWorker(home, 'agent', { demo: true });
  try {
    using first = await connect(worker);
    for (let n = 0; n < SESSIONS; n++) run.sessions.push(await first.create());
    for (let kill = 0; kill < kills; kill++) {
      await round(run, worker);
      worker = await next(run, worker);
      if ((kill + 1) % 100 === 0) say(`${kill + 1} kills, ${run.prompts.length} prompts`);
    }
    const problems = await prove(run, worker);
    return { problems, figures };
  } finally {
    await worker[Symbol.asyncDispose]();
  }
}

/** Asks, listens for a while, and kills in the middle of whatever happens then. */
async function round(run: Run, worker: TestWorker): Promise<void> {
  const { random, figures } = run;
  using client = await connect(worker);
  const from = client.events.length;
  run.backlog = 0;
  for (const session_id of run.sessions) run.backlog += (await client.link.call(sessionResume, { session_id })).queued.length;
  const asking = [...unheard(run), ...newPrompts(run)].map((prompt) => ask(run, client, prompt));
  await sleep(random.next() * LIFE_MAX_MS);
  await worker.kill('SIGKILL');
  figures.kills!++;
  await Promise.all(asking);
  remember(run, client.events.slice(from));
}

/** Now and then the next worker dies too, over what the last one left. */
async function next({ home, random, figures }: Run, dead: TestWorker): Promise<TestWorker> {
  await dead[Symbol.asyncDispose]();
  if (random.next() < 0.1) {
    const early = await startWorker(home, 'agent', { demo: true, ready: false });
    await sleep(random.next() * 600);
    await early[Symbol.asyncDispose]();
    figures['kills at start']!++;
  }
  return startWorker(home, 'agent', { demo: true });
}

const unheard = (run: Run): Prompt[] => run.prompts.filter(({ accepted }) => !accepted);

function newPrompts(run: Run): Prompt[] {
  const { random, prompts, sessions, home } = run;
  if (run.backlog > BACKLOG_MAX) return [];
  const made = Array.from({ length: PROMPTS_PER_ROUND }, (_, n): Prompt => {
    const key = `p${prompts.length + n}`;
    const session = random.pick(sessions);
    const text =
      random.next() < 0.7
        ? `run: echo ${key} >> ${join(home.root, 'count')}; sleep 0.0${random.between(0, 9)}; echo ${key} done`
        : `${key} ${'word '.repeat(random.between(1, 60))}`.trim();
    return { session, text, key, accepted: false };
  });
  prompts.push(...made);
  run.figures.prompts! += made.length;
  return made;
}

async function ask({ figures }: Run, client: AgentClient, prompt: Prompt): Promise<void> {
  try {
    await client.submit(prompt.session, prompt.text, { idempotency_key: prompt.key });
    prompt.accepted = true;
    figures.accepted!++;
  } catch {
    // Not heard: it is asked again with the same key, as a client would.
  }
}

/** Joins what was streamed, by answer. */
function remember({ seen }: Run, events: readonly EventParams[]): void {
  const answering = new Map<string, number>();
  for (const { type, session_id, payload } of events) {
    if (session_id === null) continue;
    if (type === 'message.start') answering.set(session_id, Number(payload.message_id));
    const id = answering.get(session_id);
    if (type !== 'message.delta' || id === undefined) continue;
    const known = seen.get(id) ?? { session: session_id, text: '' };
    known.text += String(payload.text);
    seen.set(id, known);
  }
}

async function prove(run: Run, worker: TestWorker): Promise<string[]> {
  using client = await connect(worker);
  for (const prompt of unheard(run)) await ask(run, client, prompt);
  const problems: string[] = [];
  for (const session_id of run.sessions) {
    await until(
      'the queue is empty',
      async () => {
        const { queued, inflight } = await client.link.call(sessionResume, { session_id });
        return queued.length === 0 && inflight === null;
      },
      120_000,
    );
    const { messages } = await client.link.call(sessionHistory, { session_id, limit: 10_000 });
    problems.push(...sessionProblems(run, session_id, messages));
  }
  return [...problems, ...toolProblems(run)];
}

function sessionProblems({ prompts, seen, figures }: Run, session: string, messages: readonly Message[]): string[] {
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  const counts = new Map<string, number>();
  for (const text of said) counts.set(text, (counts.get(text) ?? 0) + 1);
  const asked = prompts.filter((prompt) => prompt.session === session);
  const answers = messages.filter(({ role }) => role === 'assistant');
  figures['turns cut']! += answers.filter(({ finish_reason }) => finish_reason === 'interrupted').length;
  figures.complete! += answers.filter(({ finish_reason }) => finish_reason === 'stop').length;
  const byId = new Map(messages.map((message) => [message.id, message]));
  return [
    ...asked.filter(({ text, accepted }) => accepted && !counts.has(text)).map(({ key }) => `the accepted prompt ${key} is lost`),
    ...[...counts].filter(([, count]) => count > 1).map(([text, count]) => `a prompt stands ${count} times: ${text.slice(0, 60)}`),
    ...answers.filter(({ finish_reason }) => finish_reason === null).map(({ id }) => `the answer ${id} has no end`),
    ...[...seen]
      .filter(([id, one]) => one.session === session && !(byId.get(id)?.content ?? '').startsWith(one.text))
      .map(([id, one]) => `of the answer ${id} ${one.text.length} characters were seen and are not all kept`),
  ];
}

function toolProblems({ home, prompts, figures }: Run): string[] {
  const file = join(home.root, 'count');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  figures['tools run'] = lines.length;
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  const known = new Set(prompts.map(({ key }) => key));
  return [
    ...[...counts].filter(([, count]) => count > 1).map(([key, count]) => `the tool of ${key} ran ${count} times`),
    ...[...counts.keys()].filter((key) => !known.has(key)).map((key) => `a tool ran that nobody asked for: ${key}`),
  ];
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { kills: { type: 'string', default: '1000' }, seed: { type: 'string' } } });
  const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  say(`seed ${seed}`);
  const startedAt = performance.now();
  const { problems, figures } = await runKills({ kills: Number(values.kills), seed, say });
  for (const [name, figure] of Object.entries(figures)) say(`${name.padEnd(16)} ${figure}`);
  say(`${'seconds'.padEnd(16)} ${Math.round((performance.now() - startedAt) / 1_000)}`);
  for (const problem of problems) say(`PROBLEM: ${problem}`);
  say(problems.length === 0 ? 'PASS: nothing lost, nothing doubled, no tool run twice' : `FAIL (repeat with --seed ${seed})`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
