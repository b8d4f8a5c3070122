/** `agent send`: a message into a chat, through the gateway's durable outbox; says what really became of it. */
import { readFileSync, statSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { uuid } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { parseDurationMs } from '../../base/time.ts';
import { deliveryStatus, enqueueDelivery, listTargets } from '../../ipc/contracts/gateway.ts';
import type { Link } from '../../ipc/link.ts';
import type { ResultOf } from '../../ipc/method.ts';
import { openHome } from '../../state/home.ts';
import { hasFlag, jsonOption, textOption, type Command, type Input } from '../command.ts';
import { withWorker } from '../connect.ts';
import { withProgress } from '../progress.ts';
import { slotOf } from '../slots.ts';
import { note, print, printJson, table } from '../terminal.ts';

type Delivery = ResultOf<typeof deliveryStatus>;

const WAIT_MS = 30_000;
/** One call may wait this long (contract of delivery.status). */
const SLICE_MS = 20_000;

export const command: Command = {
  name: 'send',
  summary: 'Send a message to a chat through the gateway',
  details:
    'The message is stored first, so it survives a crash; then the command waits for the platform to accept it. ' +
    'Without text and --file it reads the text from a pipe. --file takes text only; any other file goes as a MEDIA:<path> line, to platforms that take files. IRC takes none, and refuses such a line.',
  arguments: [{ name: 'text', summary: 'the message', optional: true, variadic: true }],
  options: [
    { flags: '--to <target>', summary: '<platform>, <platform>:<chat> or <platform>:<chat>:<thread>' },
    { flags: '--file <path>', summary: 'a text file that is the message', complete: 'file' },
    { flags: '--wait <duration>', summary: 'how long to wait for the platform (default 30s; 0s = only store it)' },
    { flags: '--list', summary: 'list the targets that the gateway knows' },
    jsonOption,
  ],
  examples: [
    { line: "agent send --to 'irc:#room' hello", does: 'exit code 0 when it has been delivered' },
    { line: "make 2>&1 | tail -5 | agent send --to 'irc:#room'", does: 'text from a pipe' },
    { line: "agent send --to 'irc:#room' --file report.txt", does: 'the text of a file' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const slot = slotOf('gateway', input.profile);
  if (hasFlag(input, 'list')) return withWorker(openHome(), slot, (link) => list(link, input));
  const target = textOption(input, 'to');
  if (!target) throw new AgentError('USAGE', 'send needs --to <target>', { fix: 'agent send --list shows the targets' });
  const text = await body(input);
  const waitMs = waitOf(input);
  const sent = await withProgress(`sending to ${target}`, () =>
    withWorker(openHome(), slot, (link) => deliver(link, target, text, waitMs)),
  );
  if (input.json) printJson({ target, ...sent });
  return outcome(target, sent, waitMs, input);
}

async function deliver(link: Link, target: string, text: string, waitMs: number): Promise<Delivery> {
  const stored = await link.call(enqueueDelivery, { target, text, idempotency_key: uuid(), origin: 'cli' });
  const deadlineMs = performance.now() + waitMs;
  for (;;) {
    const leftMs = Math.max(0, Math.round(deadlineMs - performance.now()));
    const now = await link.call(deliveryStatus, { delivery_id: stored.delivery_id, wait_ms: Math.min(leftMs, SLICE_MS) });
    const open = now.status === 'pending' || now.status === 'sending';
    if (!open || performance.now() >= deadlineMs) return now;
  }
}

function outcome(target: string, { delivery_id, status, error }: Delivery, waitMs: number, { json }: Input): number {
  const cause = error ? `: ${error}` : '';
  if (status === 'delivered') {
    if (!json) print(`Delivered to ${target}.`);
    return exitCodes.ok;
  }
  if ((status === 'pending' || status === 'sending') && waitMs === 0) {
    if (!json) print(`Stored as delivery ${delivery_id} for ${target}; not delivered yet.`);
    return exitCodes.ok;
  }
  if (status === 'pending' || status === 'sending') {
    throw new AgentError('PLATFORM_DOWN', `delivery ${delivery_id} to ${target} is stored but not delivered yet${cause}`, {
      fix: 'the gateway goes on trying for a day; `agent gateway status` shows the platform',
    });
  }
  if (status === 'uncertain') {
    throw new AgentError('PLATFORM_DOWN', `delivery ${delivery_id} to ${target} may or may not have arrived${cause}`, {
      fix: 'look in the chat before you send it again',
    });
  }
  throw new AgentError('PLATFORM_DOWN', `delivery ${delivery_id} to ${target} ${status}${cause}`, {
    fix: '`agent gateway undelivered` lists what was given up, `agent logs gateway` says more',
  });
}

async function list(link: Link, input: Input): Promise<number> {
  const { targets } = await link.call(listTargets, {});
  if (input.json) printJson({ targets });
  else if (targets.length === 0) note('agent: no targets — configure a platform in config.yaml, for example platforms.irc');
  else print(table([['TARGET', 'STATE'], ...targets.map(({ target, state }) => [target, state])]));
  return exitCodes.ok;
}

async function body(input: Input): Promise<string> {
  const file = textOption(input, 'file');
  const words = input.args.join(' ');
  if (file !== undefined && words)
    throw new AgentError('USAGE', 'send takes either a text or --file, not both', { fix: 'leave out one of them' });
  const text = file !== undefined ? readTextFile(file) : words || (process.stdin.isTTY ? '' : await readAll(process.stdin));
  if (!text.trim()) throw new AgentError('USAGE', 'there is nothing to send', { fix: 'agent send --to <target> <text>, or --file <path>' });
  return text.trimEnd();
}

/** Interface spec, Errors: a binary file is a usage error that names the MEDIA directive. */
function readTextFile(path: string): string {
  let bytes: Buffer;
  try {
    if (statSync(path).size > limits.turn.promptMaxChars)
      throw new AgentError('USAGE', `${path} is too large for a message`, {
        fix: `keep it under ${limits.turn.promptMaxChars} bytes, or send it as a file: MEDIA:${path}`,
      });
    bytes = readFileSync(path);
  } catch (thrown) {
    if (thrown instanceof AgentError) throw thrown;
    throw new AgentError('NOT_FOUND', `cannot read ${path} (${errnoOf(thrown) ?? 'error'})`, { cause: thrown, fix: 'check the path' });
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // said below
  }
  throw new AgentError('USAGE', `${path} is not text, and --file takes text bodies only`, {
    fix: `send it as a file with the directive MEDIA:${path} in the text`,
  });
}

function waitOf(input: Input): number {
  const text = textOption(input, 'wait');
  if (text === undefined) return WAIT_MS;
  const ms = parseDurationMs(text);
  if (ms === undefined)
    throw new AgentError('USAGE', `"${text}" is not a duration`, { fix: 'write a number and a unit: 10s, 2m; 0s = only store it' });
  return ms;
}
