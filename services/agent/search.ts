/**
 * Full text over earlier conversations, as the worker sees it: starts the thread of search.db when there
 * is something to index or somebody asks, and ends it when there is nothing to do. Never in the path of
 * a turn; without it conversations go on.
 */
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { SearchHit, SessionSearch } from '../../agent/ports.ts';
import { AgentError, messageOf, type ErrorCode } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields, type Logger } from '../../base/log.ts';
import { deferred, isoTime, within, type Deferred } from '../../base/time.ts';
import type { Asked } from './searchDb.ts';
import type { ThreadAnswer, ThreadPaths, ThreadReply, ThreadRequest } from './searchThread.ts';
import type { Store } from './store.ts';

type Work = { kind: 'search'; asked: Asked } | { kind: 'index'; sweep: boolean } | { kind: 'counts' };

export interface SearchOptions {
  store: Store;
  /** Path of search.db. */
  path: string;
  log: Logger;
  /** A turn runs: indexing waits. */
  busy(): boolean;
}

export class Search implements SessionSearch, Disposable {
  #options: SearchOptions;
  #thread: Worker | undefined;
  #asked = new Map<number, Deferred<ThreadAnswer>>();
  #nextId = 1;
  #soon: NodeJS.Timeout | undefined;
  #linger: NodeJS.Timeout | undefined;
  #sweep = false;
  #failures: number[] = [];
  #closed = false;

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  // --- indexing ---

  /** Something was said: indexed when nothing has been said for a while. Costs nothing. */
  poke(): void {
    if (this.#closed) return;
    if (this.#soon) return void this.#soon.refresh();
    this.#soon = setTimeout(() => {
      this.#soon = undefined;
      if (this.#options.busy()) this.poke();
      else void this.#index();
    }, limits.search.idleMs).unref();
  }

  /** Sessions were deleted: their entries go with the next indexing. */
  forget(): void {
    this.#sweep = true;
    this.poke();
  }

  async #index(): Promise<void> {
    const sweep = this.#sweep;
    this.#sweep = false;
    try {
      await this.#ask({ kind: 'index', sweep }, 0);
    } catch (thrown) {
      this.#sweep ||= sweep;
      if (!this.#closed) this.#options.log.warn(`the search index is not up to date: ${messageOf(thrown)}`);
    }
  }

  // --- asking ---

  /** Errors: TIMEOUT, SEARCH_FAILED; conversations are not touched by either. */
  query(asked: Asked): Promise<ThreadAnswer> {
    return this.#ask({ kind: 'search', asked }, limits.search.answerMs);
  }

  async search(query: string, { limit, excludeSession, scope }: Parameters<SessionSearch['search']>[1]): Promise<SearchHit[]> {
    const { hits } = await this.query({ query, limit, exclude: excludeSession, scope });
    return hits.map(({ session_id, title, message_id, role, snippet, at }) => ({
      sessionId: session_id,
      title,
      messageId: message_id,
      role,
      snippet,
      at: isoTime(at),
    }));
  }

  around(messageId: number, { radius, scope }: Parameters<SessionSearch['around']>[1]): { role: string; text: string; at: string }[] {
    const { store } = this.#options;
    const middle = store.one<{ session_id: string; position: number }>(
      `SELECT session_id, position FROM messages m JOIN sessions s ON s.id = m.session_id
       WHERE m.id = @id AND m.active = 1 AND m.position IS NOT NULL AND s.hidden = 0 AND (@scope IS NULL OR s.session_key = @scope)`,
      { id: messageId, scope: scope ?? null },
    );
    if (!middle) return [];
    const side = (where: string, order: string, limit: number) =>
      store.all<{ role: string; content: string; timestamp: number }>(
        `SELECT role, content, timestamp FROM messages WHERE session_id = ? AND active = 1 AND position ${where} ?
         AND NOT (role = 'assistant' AND finish_reason IS NULL) ORDER BY position ${order} LIMIT ?`,
        middle.session_id,
        middle.position,
        limit,
      );
    const rows = [...side('<=', 'DESC', radius + 1).toReversed(), ...side('>', 'ASC', radius)];
    return rows.map(({ role, content, timestamp }) => ({ role, text: content, at: isoTime(timestamp) }));
  }

  counts(): Promise<ThreadAnswer> {
    return this.#ask({ kind: 'counts' }, limits.search.answerMs);
  }

  // --- the thread ---

  async #ask(work: Work, ms: number): Promise<ThreadAnswer> {
    const thread = this.#started();
    const id = this.#nextId++;
    const answer = deferred<ThreadAnswer>();
    this.#asked.set(id, answer);
    clearTimeout(this.#linger);
    const request: ThreadRequest = { id, ...work };
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    thread.postMessage(request);
    try {
      return await (ms === 0 ? answer.promise : within(answer.promise, { ms, what: 'the search' }));
    } finally {
      this.#asked.delete(id);
      if (this.#asked.size === 0) this.#endLater();
    }
  }

  #started(): Worker {
    if (this.#closed) throw new AgentError('SEARCH_FAILED', 'the agent worker is on its way out');
    if (this.#thread) return this.#thread;
    const since = Date.now() - limits.search.failuresWindowMs;
    this.#failures = this.#failures.filter((at) => at > since);
    if (this.#failures.length >= limits.search.failuresMax) {
      throw new AgentError('SEARCH_FAILED', 'the search index has failed several times and rests', {
        retryAfterMs: limits.search.failuresWindowMs,
        fix: 'the log of the agent worker says why; search.db may be deleted at any time, it is built anew',
      });
    }
    const thread = new Worker(threadFile(), {
      workerData: { state: this.#options.store.path, search: this.#options.path } satisfies ThreadPaths,
      env: {},
      execArgv: process.execArgv.filter((arg) => !arg.startsWith('--max-')),
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    });
    thread.unref();
    thread.on('message', (reply: ThreadReply) => this.#settle(reply));
    thread.on('error', (thrown) => this.#options.log.error('the search thread failed', errorFields(thrown)));
    thread.on('exit', (code) => this.#ended(thread, code));
    return (this.#thread = thread);
  }

  #settle(reply: ThreadReply): void {
    const waiting = this.#asked.get(reply.id);
    if ('answer' in reply) waiting?.resolve(reply.answer);
    else waiting?.reject(failure(reply.code, reply.message));
  }

  #ended(thread: Worker, code: number): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    if (code !== 0) this.#failures.push(Date.now());
    for (const waiting of this.#asked.values()) waiting.reject(failure('INTERNAL', 'the search thread ended'));
  }

  #endLater(): void {
    clearTimeout(this.#linger);
    this.#linger = setTimeout(() => this.#end(), limits.search.lingerMs).unref();
  }

  #end(): void {
    const thread = this.#thread;
    this.#thread = undefined;
    void thread?.terminate();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#soon);
    clearTimeout(this.#linger);
    const thread = this.#thread;
    this.#thread = undefined;
    for (const waiting of this.#asked.values()) waiting.reject(failure('INTERNAL', 'the agent worker is on its way out'));
    await thread?.terminate();
  }

  [Symbol.dispose](): void {
    void this.close();
  }
}

function failure(code: string, message: string): AgentError {
  const known: ErrorCode = code === 'DISK_FULL' || code === 'STORE_BUSY' || code === 'STORE_CORRUPT' ? code : 'SEARCH_FAILED';
  return new AgentError(known, `search: ${message}`, { fix: 'search.db may be deleted at any time; it is built anew' });
}

/** Beside the entry of the worker, where the bundle has its entries; beside this file otherwise. */
function threadFile(): string {
  return import.meta.filename.endsWith('.ts')
    ? join(import.meta.dirname, 'searchThread.ts')
    : join(dirname(process.argv[1]!), 'searchThread.js');
}
