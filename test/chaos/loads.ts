/** What people and programs do while processes die: chat, IRC, webhooks, cron. Each keeps what it was promised. */
import { createHmac, randomUUID } from 'node:crypto';
import { enqueueDelivery } from '../../ipc/contracts/gateway.ts';
import { fireHeaders } from '../harness/fireSignature.ts';
import { sleep } from '../../base/time.ts';
import { createJob, pauseJob } from '../../ipc/contracts/cron.ts';
import { promptSubmit, sessionCreate, sessionResume } from '../../ipc/contracts/rpc.ts';
import type { IrcUser } from '../harness/ngircd.ts';
import type { Random } from './random.ts';
import type { ChaosService } from './service.ts';

/** A single call may wait out a supervisor that is frozen for 40 s, is killed then, and starts what had died meanwhile. */
const CALL_MS = 180_000;

export interface AcceptedPrompt {
  session: string;
  messageId: number;
  text: string;
}

/** A person at a terminal: a prompt, the answer, the next prompt; now and then two at once. */
export async function chat(service: ChaosService, random: Random, signal: AbortSignal): Promise<AcceptedPrompt[]> {
  const accepted: AcceptedPrompt[] = [];
  const session = await service.call('agent', (link) => link.call(sessionCreate, { source: 'cli' }), CALL_MS);
  const id = session.session_id;
  for (let n = 1; !signal.aborted; n++) {
    const texts = random.next() < 0.2 ? [`chat ${n}a`, `chat ${n}b`] : [random.next() < 0.3 ? 'slow: 1' : `chat ${n}`];
    for (const text of texts) {
      const key = randomUUID();
      const answer = await service.call(
        'agent',
        (link) => link.call(promptSubmit, { session_id: id, text, idempotency_key: key }),
        CALL_MS,
      );
      accepted.push({ session: id, messageId: answer.message_id, text });
    }
    await idle(service, id);
  }
  return accepted;
}

/** Until the session has nothing running and nothing queued. */
async function idle(service: ChaosService, id: string): Promise<void> {
  for (const deadline = performance.now() + CALL_MS; performance.now() < deadline; await sleep(30)) {
    const snapshot = await service.call('agent', (link) => link.call(sessionResume, { session_id: id }), CALL_MS);
    if (snapshot.status === 'idle' && snapshot.queued.length === 0) return;
  }
  throw new Error(`session ${id} did not come to rest within ${CALL_MS} ms`);
}

/** Numbered lines in the room. What is said while the agent is not in the room nobody hears: the inbox tells what was. */
export async function irc(user: IrcUser, signal: AbortSignal, everyMs: number): Promise<number> {
  let n = 0;
  while (!signal.aborted) {
    user.say('#room', `line ${++n}`);
    await sleep(everyMs, signal).catch(() => {});
  }
  return n;
}

/** Deliveries of a build server that repeats each under its own id until it is taken. Answers how many were. */
export async function webhooks(port: number, secret: string, signal: AbortSignal, everyMs: number): Promise<number> {
  let taken = 0;
  while (!signal.aborted) {
    const body = JSON.stringify({ n: taken + 1 });
    const headers = {
      'content-type': 'application/json',
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      'x-github-delivery': randomUUID(),
    };
    for (;;) {
      const status = await post(port, body, headers);
      if (status === 202 || status === 200) break;
      if (status !== undefined && status < 500 && status !== 429) throw new Error(`webhook answered ${status}`);
      await sleep(100);
    }
    taken++;
    await sleep(everyMs, signal).catch(() => {});
  }
  return taken;
}

async function post(port: number, body: string, headers: Record<string, string>): Promise<number | undefined> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/webhooks/build`, {
      method: 'POST',
      body,
      headers,
      signal: AbortSignal.timeout(5_000),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    // refused, cut or without an answer: sent again under the same id
    return undefined;
  }
}

/** A script that notes each run, and a prompt. Answers the ids of the jobs. */
export async function cronJobs(service: ChaosService, everySeconds: number): Promise<string[]> {
  const ids: string[] = [];
  for (const what of [{ script: 'tick.sh' }, { prompt: 'say: 3 words' }]) {
    const params = { schedule: `every ${everySeconds}s`, name: `chaos ${ids.length}`, ...what };
    const made = await service.call('cron', (link) => link.call(createJob, params), CALL_MS);
    ids.push(made.job.id);
  }
  return ids;
}

/** Messages of programs to the room, each under a key of its own. Answers the texts that were accepted. */
export async function sends(service: ChaosService, signal: AbortSignal, everyMs: number): Promise<string[]> {
  const accepted: string[] = [];
  while (!signal.aborted) {
    const text = `sent ${accepted.length + 1} ${randomUUID()}`;
    const delivery = { target: 'irc:#room', text, idempotency_key: text, origin: 'cli' };
    await service.call('gateway', (link) => link.call(enqueueDelivery, delivery), CALL_MS);
    accepted.push(text);
    await sleep(everyMs, signal).catch(() => {});
  }
  return accepted;
}

/** An outside scheduler that repeats each occurrence until it is claimed. Answers the executions it was promised. */
export async function fires(service: ChaosService, job: string, { secret, signal, everyMs }: FireLoad): Promise<string[]> {
  const promised: string[] = [];
  while (!signal.aborted) {
    const body = JSON.stringify({ job_id: job, scheduled_at: new Date(service.nowMs).toISOString() });
    const deadline = performance.now() + CALL_MS;
    for (;;) {
      const answer = await fire(service, body, secret);
      if (answer?.status === 202) promised.push(answer.execution!);
      // 200: an answer that was lost on the way had claimed it.
      if (answer?.status === 202 || answer?.status === 200) break;
      // 401: its clock was stepped on the way; 422: the occurrence is of another time now.
      if (service.clock && (answer?.status === 401 || answer?.status === 422)) break;
      if (answer && answer.status < 500 && answer.status !== 429) throw new Error(`fire answered ${answer.status}`);
      if (performance.now() > deadline) throw new Error(`an occurrence was not claimed within ${CALL_MS} ms`);
      await sleep(100);
    }
    await sleep(everyMs, signal).catch(() => {});
  }
  return promised;
}

export interface FireLoad {
  secret: string;
  signal: AbortSignal;
  everyMs: number;
}

async function fire(
  service: ChaosService,
  body: string,
  secret: string,
): Promise<{ status: number; execution: string | undefined } | undefined> {
  try {
    const answer = await fetch(`http://127.0.0.1:${service.port}/api/cron/fire`, {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/json', ...fireHeaders(body, { secret, atSeconds: Math.floor(service.nowMs / 1_000) }) },
      signal: AbortSignal.timeout(5_000),
    });
    const said = (await answer.json()) as { execution_id?: string };
    return { status: answer.status, execution: said.execution_id };
  } catch {
    // refused, cut or without an answer: sent again for the same instant
    return undefined;
  }
}

/** No further occurrences: what was claimed still runs. */
export async function pauseJobs(service: ChaosService, ids: readonly string[]): Promise<void> {
  for (const id of ids) await service.call('cron', (link) => link.call(pauseJob, { job_id: id }), CALL_MS);
}
