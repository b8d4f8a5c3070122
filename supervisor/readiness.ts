/**
 * Whether a sidecar is ready, seen from outside: a line of its output, a port that accepts, an address
 * that answers, a file that appears (contract §12). Tries often at first, then twice a second.
 */
import { statSync } from 'node:fs';
import { connect } from 'node:net';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';
import type { Output } from './output.ts';
import type { Readiness } from './spec.ts';

/** Resolves when it is ready; rejects when `signal` aborts. `sinceMs`: epoch time of its start. */
export async function untilReady(
  readiness: Exclude<Readiness, 'attach'>,
  output: Output,
  sinceMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (readiness === 'none') return;
  if ('log' in readiness) return lineSeen(new RegExp(readiness.log), output, signal);
  const look = probeOf(readiness, sinceMs);
  for (let pauseMs: number = limits.sidecar.probeMinMs; !(await look(signal)); pauseMs = Math.min(pauseMs * 2, limits.sidecar.probeMaxMs)) {
    await sleep(pauseMs, signal);
  }
}

function probeOf(
  readiness: { tcp: number } | { http: string } | { file: string },
  sinceMs: number,
): (signal: AbortSignal) => Promise<boolean> {
  if ('tcp' in readiness) return () => accepts(readiness.tcp);
  if ('http' in readiness) return (signal) => answers(readiness.http, signal);
  return async () => isFresh(readiness.file, sinceMs);
}

function lineSeen(pattern: RegExp, output: Output, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = output.onLine((line) => pattern.test(line) && (stop(), resolve()));
    signal.addEventListener('abort', () => (stop(), reject(signal.reason as Error)), { once: true });
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: limits.sidecar.probeTimeoutMs });
    const done = (ok: boolean) => (socket.destroy(), resolve(ok));
    socket
      .once('connect', () => done(true))
      .once('error', () => done(false))
      .once('timeout', () => done(false));
  });
}

async function answers(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(limits.sidecar.probeTimeoutMs)]) });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}

/** What an earlier incarnation left does not count. A file system may keep whole seconds. */
function isFresh(path: string, sinceMs: number): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && stat.mtimeMs >= Math.floor(sinceMs / 1_000) * 1_000;
}
