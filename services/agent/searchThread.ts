/**
 * The thread of the search index: builds it in short slices, and answers questions between two of them.
 * Scanning a large history must not hold up the loop that streams answers.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { SearchDb, type Asked, type Found } from './searchDb.ts';

export interface ThreadPaths {
  state: string;
  search: string;
}
export type ThreadRequest = { id: number } & ({ kind: 'search'; asked: Asked } | { kind: 'index'; sweep: boolean } | { kind: 'counts' });
export interface ThreadAnswer {
  hits: Found[];
  ready: boolean;
  indexed: number;
  total: number;
}
export type ThreadReply = { id: number } & ({ answer: ThreadAnswer } | { code: string; message: string });

const port = parentPort!;
const paths = workerData as ThreadPaths;
const db = new SearchDb(paths.state, paths.search);
let building = false;
/** Requests that wait until all is in. */
const untilDone: number[] = [];

port.on('message', (request: ThreadRequest) => {
  try {
    serve(request);
  } catch (thrown) {
    try {
      if (!db.mend(thrown)) return refuse(request.id, thrown);
      serve(request);
    } catch (again) {
      refuse(request.id, again);
    }
  }
});

function serve(request: ThreadRequest): void {
  switch (request.kind) {
    case 'search': {
      const ready = freshen();
      reply(request.id, db.search(request.asked), ready);
      return ready ? undefined : build();
    }
    case 'counts':
      return reply(request.id, [], db.isCurrent());
    case 'index':
      if (request.sweep) db.sweep();
      untilDone.push(request.id);
      build();
  }
}

/** What was said a moment ago is found, as far as it can be indexed while somebody waits. */
function freshen(): boolean {
  for (const endAt = performance.now() + limits.search.freshMs; performance.now() < endAt;) if (db.step()) return true;
  return false;
}

function build(): void {
  if (building) return;
  building = true;
  setImmediate(slice);
}

function slice(): void {
  try {
    if (!db.step() || !db.tidy()) return void setImmediate(slice);
    building = false;
    for (const id of untilDone.splice(0)) reply(id, [], true);
  } catch (thrown) {
    building = false;
    if (mended(thrown)) return build();
    for (const id of untilDone.splice(0)) refuse(id, thrown);
  }
}

function mended(thrown: unknown): boolean {
  try {
    return db.mend(thrown);
  } catch {
    return false;
  }
}

function reply(id: number, hits: Found[], ready: boolean): void {
  port.postMessage({ id, answer: { hits, ready, ...db.counts(ready) } } satisfies ThreadReply);
}

function refuse(id: number, thrown: unknown): void {
  const code = isAgentError(thrown) ? thrown.code : ((thrown as { code?: string }).code ?? 'INTERNAL');
  port.postMessage({ id, code, message: messageOf(thrown) } satisfies ThreadReply);
}
