/**
 * Where the main loop of a worker stands, asked of Node's own watchdog thread: SIGUSR1 makes it open a
 * debugger on a free port of 127.0.0.1, even while JavaScript never comes back to its events. The address
 * holds a random id that is said on the worker's stderr alone. Costs a healthy worker nothing (ADR 0021).
 */
import { readdirSync, readFileSync } from 'node:fs';
import type WebSocketClient from 'ws';
import { limits } from '../base/limits.ts';
import { sleep, within } from '../base/time.ts';
import type { StackFrame } from '../ipc/contracts/blackBox.ts';

/** Arguments of a Node process that can be asked: the address is not told to whoever connects to the port. */
export const WATCHDOG_FLAGS = ['--inspect-publish-uid=stderr', '--inspect-port=127.0.0.1:0'] as const;

/** What the process prints when it opens and closes its debugger; no matter of the last lines before an end. */
export const isDebuggerTalk = (line: string): boolean =>
  /^(?:Debugger (?:listening on ws:|attached|ending on ws:)|For help, see: https:\/\/nodejs\.org|Waiting for the debugger to disconnect)/.test(
    line,
  );

/** The same, for the capture of output: these lines do not reach a log. */
export const debuggerTalk = { letters: ['ebu', '://'], part: /ebugger|nodejs\.org/, is: isDebuggerTalk };

export interface MainStack {
  stack: StackFrame[];
  /** Why there is no stack. */
  note: string | null;
  resources: Record<string, number> | null;
  /** Its watchdog thread answered and its main thread did not: it stands in native code. */
  isInNativeCode: boolean;
}

export const noStack = (note: string, isInNativeCode = false): MainStack => ({ stack: [], note, resources: null, isInNativeCode });

/**
 * Pauses the main thread for some milliseconds, reads its call frames and handles, lets it go on. Bounded. Only for
 * a process started with the flags: any other would be ended by the signal, or tell its address to everybody.
 * `lines` are the last raw lines that the process printed.
 */
export async function askMainStack(pid: number, lines: () => string[], ms: number = limits.supervisor.evidenceMs): Promise<MainStack> {
  const before = watchdogSteps(pid);
  try {
    process.kill(pid, 'SIGUSR1');
  } catch {
    return noStack('the process is gone');
  }
  const deadlineMs = performance.now() + ms;
  const address = await addressIn(lines, deadlineMs);
  if (address === undefined) {
    return watchdogSteps(pid) === before
      ? noStack('its watchdog thread did not answer either: the whole process stands still')
      : noStack('its watchdog thread answered, its main thread did not: it stands in native code, not in JavaScript', true);
  }
  try {
    return await within(readStack(address), { ms: Math.max(100, deadlineMs - performance.now()), what: 'the stack' });
  } catch (thrown) {
    return noStack(`its debugger did not tell: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}

/** How often Node's thread for signals has run: it does so for our signal, unless the process is frozen. */
function watchdogSteps(pid: number): number | undefined {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'latin1');
      if (status.startsWith('Name:\tSignalInspector')) return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1]);
    }
  } catch {
    // not Linux, or gone
  }
  return undefined;
}

async function addressIn(lines: () => string[], deadlineMs: number): Promise<string | undefined> {
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    const address = lines()
      .map((line) => /^Debugger listening on (ws:\/\/127\.0\.0\.1:\d+\/[0-9a-f-]+)$/.exec(line)?.[1])
      .findLast((found) => found !== undefined);
    // Half of the time is for the debugger itself.
    if (address !== undefined || performance.now() > deadlineMs - limits.supervisor.evidenceMs / 2) return address;
    await sleep(pauseMs);
  }
}

interface CallFrame {
  callFrameId: string;
  functionName: string;
  location: { scriptId: string; lineNumber: number; columnNumber?: number };
}

interface Message {
  id?: number;
  method?: string;
  params?: { callFrames?: CallFrame[]; scriptId?: string; url?: string };
  result?: { result?: { value?: unknown } };
}

async function readStack(address: string): Promise<MainStack> {
  // Loaded when a worker hangs, not before.
  const { default: WebSocket } = await import('ws');
  const socket = new WebSocket(address, { perMessageDeflate: false });
  try {
    return await converse(socket);
  } finally {
    socket.terminate();
  }
}

function converse(socket: WebSocketClient): Promise<MainStack> {
  return new Promise((resolve, reject) => {
    let lastId = 0;
    let frames: CallFrame[] | undefined;
    const urls = new Map<string, string>();
    let asked: number | undefined;
    let nudge: NodeJS.Timeout | undefined;
    const send = (method: string, params: object = {}): number => {
      socket.send(JSON.stringify({ id: ++lastId, method, params }));
      return lastId;
    };
    socket.on('error', reject);
    socket.on('close', () => {
      clearTimeout(nudge);
      reject(new Error('it closed the connection'));
    });
    socket.on('open', () => {
      send('Debugger.enable');
      send('Debugger.pause');
      // One that rests in its events has no JavaScript to pause in: this makes it run a line.
      nudge = setTimeout(() => frames ?? send('Runtime.evaluate', { expression: `0 //# sourceURL=${NUDGE_URL}` }), NUDGE_MS);
    });
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message;
      if (message.method === 'Debugger.scriptParsed') {
        urls.set(message.params!.scriptId!, message.params!.url!);
      } else if (message.method === 'Debugger.paused' && !frames) {
        frames = message.params?.callFrames ?? [];
        asked = send('Debugger.evaluateOnCallFrame', {
          callFrameId: frames[0]?.callFrameId,
          expression: `(${CLOSE_LATER}, process.getActiveResourcesInfo())`,
          returnByValue: true,
        });
      } else if (asked !== undefined && message.id === asked) {
        send('Debugger.resume');
        const stack = framesOf(frames!, urls);
        resolve({
          stack,
          note: stack.length ? null : 'its main thread answered at once: it was not computing',
          resources: counted(message.result?.result?.value),
          isInNativeCode: false,
        });
      }
    });
  });
}

const NUDGE_MS = 1_000;
/** Marks the frame that is ours. */
const NUDGE_URL = 'agent-nudge';

/** Should the worker come back to life after all, nobody needs its debugger any more. */
const CLOSE_LATER = `setTimeout(() => process.getBuiltinModule('node:inspector').close(), 100).unref()`;

function framesOf(frames: CallFrame[], urls: Map<string, string>): StackFrame[] {
  const seen = frames.filter(({ location }) => urls.get(location.scriptId) !== NUDGE_URL);
  return seen.slice(0, limits.supervisor.evidenceFramesMax).map(({ functionName, location }) => ({
    function: functionName || '(anonymous)',
    at: `${(urls.get(location.scriptId) ?? '').replace(/^file:\/\//, '')}:${location.lineNumber + 1}:${(location.columnNumber ?? 0) + 1}`,
  }));
}

function counted(value: unknown): Record<string, number> | null {
  if (!Array.isArray(value)) return null;
  const counts: Record<string, number> = {};
  for (const name of value.map(String)) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
