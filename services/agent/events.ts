/**
 * Events of sessions: each is stored with the next number of its session, then sent to whoever follows
 * the session. Text of one turn of the event loop becomes one event. Kept for replay within bounds;
 * a follower that does not read is cut off by its socket and never holds up a turn.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { event, type EventParams } from '../../ipc/contracts/rpcEvents.ts';
import type { Link } from '../../ipc/link.ts';
import type { Store } from './store.ts';

/** Pieces of something that a later event tells whole: worth nothing once the turn is over. */
const PIECES = "('message.delta', 'reasoning.delta', 'tool.progress')";
const isTextDelta = (type: string): boolean => type === 'message.delta' || type === 'reasoning.delta';

/** Replayed events of one answer, in characters: half of what a frame may hold. */
const REPLAY_MAX_CHARS = limits.ipc.frameMaxBytes / 2;

interface Stream {
  seq: number;
  /** Inserts since the last look at the bound. */
  unpruned: number;
  /** Text that waits for the end of this turn of the loop. */
  pending: { turnId: number | null; type: string; text: string } | undefined;
  followers: Set<Link>;
}

/** An event on its way: its parameters as JSON, made once for the store and all followers. */
interface Outgoing {
  sessionId: string | null;
  params: string;
}

export interface Replay {
  events: EventParams[];
  latest_seq: number;
  truncated: boolean;
}

export interface EventLogOptions {
  store: Store;
  log: Logger;
  /** Pending text could not be stored. */
  onFailure(sessionId: string, thrown: unknown): void;
  /** An event is on record: accepted work has moved. */
  onStored(): void;
  /** Events up to `seq` are about to be forgotten: save what only they hold. */
  onPrune(sessionId: string, seq: number): void;
}

export class EventLog {
  #options: EventLogOptions;
  #streams = new Map<string, Stream>();
  /** Links that said hello: receivers of events without a session. */
  #links = new Map<Link, Set<string>>();
  #outbox: Outgoing[] = [];
  #dirty = new Set<string>();
  #flushSoon = false;
  #lastFlushMs = 0;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  // --- writing ---

  /** Stores and sends one event. Errors: DISK_FULL, STORE_BUSY (nothing is sent then). */
  emit(sessionId: string, turnId: number | null, type: string, payload: Record<string, unknown>): void {
    const stream = this.#stream(sessionId);
    if (isTextDelta(type)) {
      const text = String(payload.text);
      if (stream.pending?.type === type && stream.pending.turnId === turnId) stream.pending.text += text;
      else {
        this.#storePending(sessionId, stream);
        stream.pending = { turnId, type, text };
      }
      this.#dirty.add(sessionId);
    } else {
      this.#storePending(sessionId, stream);
      this.#store(sessionId, stream, { turnId, type, payload });
    }
    this.#scheduleFlush();
  }

  /** To every client: something outside sessions changed. Not stored. */
  broadcast(type: string, payload: Record<string, unknown> = {}): void {
    const params: EventParams = { type, session_id: null, seq: null, payload };
    this.#outbox.push({ sessionId: null, params: JSON.stringify(params) });
    this.#scheduleFlush();
  }

  /** To the followers of a session, without a number: for what cannot be stored. */
  tell(sessionId: string, type: string, payload: Record<string, unknown>): void {
    for (const link of this.#streams.get(sessionId)?.followers ?? [])
      link.notify(event, { type, session_id: sessionId, seq: null, payload });
  }

  /** Stores and sends what waits, so that a snapshot taken now and the events after it fit together. */
  settle(sessionId: string): number {
    const stream = this.#stream(sessionId);
    this.#storePending(sessionId, stream);
    this.#send();
    return stream.seq;
  }

  /** The same for all sessions, at once: the worker leaves, and what waits for the next flush would go with it. */
  settleAll(): void {
    this.#flush();
  }

  /** Rows and events that are true together or not at all. */
  atomically<T>(sessionId: string, work: () => T): T {
    const stream = this.#stream(sessionId);
    const { seq, pending } = stream;
    const sent = this.#outbox.length;
    try {
      return this.#options.store.transaction(work);
    } catch (thrown) {
      Object.assign(stream, { seq, pending });
      this.#outbox.length = sent;
      throw thrown;
    }
  }

  #store(
    sessionId: string,
    stream: Stream,
    { turnId, type, payload }: { turnId: number | null; type: string; payload: Record<string, unknown> },
  ): void {
    const seq = stream.seq + 1;
    const json = JSON.stringify(payload);
    this.#options.store.run(
      'INSERT INTO session_events (session_id, seq, turn_id, type, payload, at) VALUES (?, ?, ?, ?, ?, ?)',
      sessionId,
      seq,
      turnId,
      type,
      json,
      Date.now(),
    );
    stream.seq = seq;
    this.#options.onStored();
    this.#outbox.push({ sessionId, params: `{"type":"${type}","session_id":"${sessionId}","seq":${seq},"payload":${json}}` });
    if (++stream.unpruned >= limits.turn.eventsSlack) this.#prune(sessionId, stream);
  }

  #storePending(sessionId: string, stream: Stream): void {
    const { pending } = stream;
    if (!pending) return;
    this.#store(sessionId, stream, { turnId: pending.turnId, type: pending.type, payload: { text: pending.text } });
    stream.pending = undefined;
    this.#dirty.delete(sessionId);
  }

  /**
   * Soon: with what else this turn of the loop brings. A flush that took long is followed by a pause of the same length,
   * so that under load more text goes into each event instead of more events onto the pile.
   */
  #scheduleFlush(): void {
    if (this.#flushSoon) return;
    this.#flushSoon = true;
    const pauseMs = Math.min(this.#lastFlushMs, limits.turn.flushPauseMaxMs);
    if (pauseMs < 1) setImmediate(() => this.#flush());
    else setTimeout(() => this.#flush(), pauseMs);
  }

  #flush(): void {
    this.#flushSoon = false;
    const startedAt = performance.now();
    const sessions = [...this.#dirty];
    this.#dirty.clear();
    if (!this.#storeTogether(sessions)) for (const sessionId of sessions) this.#storeAlone(sessionId);
    this.#send();
    this.#lastFlushMs = performance.now() - startedAt;
  }

  /** The text of all sessions in one transaction; false: none of it is stored. */
  #storeTogether(sessions: readonly string[]): boolean {
    if (sessions.length < 2) return false;
    const before = sessions.flatMap((id) => {
      const stream = this.#streams.get(id);
      return stream ? [{ id, stream, seq: stream.seq, pending: stream.pending }] : [];
    });
    const sent = this.#outbox.length;
    try {
      this.#options.store.transaction(() => {
        for (const { id, stream } of before) this.#storePending(id, stream);
      });
      return true;
    } catch {
      for (const { stream, seq, pending } of before) Object.assign(stream, { seq, pending });
      this.#outbox.length = sent;
      return false;
    }
  }

  #storeAlone(sessionId: string): void {
    const stream = this.#streams.get(sessionId);
    if (!stream) return;
    try {
      this.#storePending(sessionId, stream);
    } catch (thrown) {
      stream.pending = undefined;
      this.#options.onFailure(sessionId, thrown);
    }
  }

  /** Frames of one link leave together. */
  #send(): void {
    const outbox = this.#outbox.splice(0);
    const corked = new Set<Link>();
    for (const { sessionId, params } of outbox) {
      const receivers = sessionId === null ? this.#links.keys() : this.#streams.get(sessionId)?.followers;
      for (const link of receivers ?? []) {
        if (outbox.length > 1 && !corked.has(link)) {
          link.cork();
          corked.add(link);
        }
        link.notifyJson(event, params);
      }
    }
    for (const link of corked) link.uncork();
  }

  // --- following ---

  /** A link said hello; it is forgotten when it closes. */
  welcome(link: Link, ready: Record<string, unknown>): void {
    this.#links.set(link, new Set());
    link.notify(event, { type: 'gateway.ready', session_id: null, seq: null, payload: ready });
    void link.closed.then(() => {
      for (const sessionId of this.#links.get(link) ?? []) this.#unfollow(sessionId, link);
      this.#links.delete(link);
    });
  }

  /** From now on the link gets the events of that session. */
  follow(sessionId: string, link: Link): void {
    const sessions = this.#links.get(link);
    if (!sessions || !link.isOpen) return;
    sessions.add(sessionId);
    this.#stream(sessionId).followers.add(link);
  }

  /** From now on it no longer gets them. */
  unfollow(sessionId: string, link: Link): void {
    this.#links.get(link)?.delete(sessionId);
    this.#unfollow(sessionId, link);
  }

  /** Forgets what is held in memory for a session that nobody follows and that rests. */
  rest(sessionId: string): void {
    const stream = this.#streams.get(sessionId);
    if (stream && stream.followers.size === 0 && !stream.pending) this.#streams.delete(sessionId);
  }

  forget(sessionId: string): void {
    for (const link of this.#streams.get(sessionId)?.followers ?? []) this.#links.get(link)?.delete(sessionId);
    this.#streams.delete(sessionId);
    this.#dirty.delete(sessionId);
  }

  followersOf(sessionId: string): Link[] {
    return [...(this.#streams.get(sessionId)?.followers ?? [])];
  }

  get linkCount(): number {
    return this.#links.size;
  }

  #unfollow(sessionId: string, link: Link): void {
    this.#streams.get(sessionId)?.followers.delete(link);
    this.rest(sessionId);
  }

  #stream(sessionId: string): Stream {
    let stream = this.#streams.get(sessionId);
    if (!stream) {
      const row = this.#options.store.one<{ seq: number }>(
        'SELECT max(pruned_seq, coalesce((SELECT max(seq) FROM session_events WHERE session_id = sessions.id), 0)) AS seq FROM sessions WHERE id = ?',
        sessionId,
      );
      stream = { seq: row?.seq ?? 0, unpruned: 0, pending: undefined, followers: new Set() };
      this.#streams.set(sessionId, stream);
    }
    return stream;
  }

  // --- replay ---

  /** Events after `lastSeen`; `truncated` when some of them are no longer kept or all together are too much for one answer. */
  since(sessionId: string, lastSeen: number): Replay {
    const latest_seq = this.settle(sessionId);
    const { pruned_seq } = this.#options.store.one<{ pruned_seq: number }>('SELECT pruned_seq FROM sessions WHERE id = ?', sessionId) ?? {
      pruned_seq: 0,
    };
    if (lastSeen < pruned_seq || lastSeen > latest_seq) return { events: [], latest_seq, truncated: true };
    const rows = this.#options.store.all<{ seq: number; type: string; payload: string }>(
      'SELECT seq, type, payload FROM session_events WHERE session_id = ? AND seq > ? ORDER BY seq',
      sessionId,
      lastSeen,
    );
    if (rows.reduce((sum, row) => sum + row.payload.length, 0) > REPLAY_MAX_CHARS) return { events: [], latest_seq, truncated: true };
    const events = rows.map(({ seq, type, payload }) => ({
      type,
      session_id: sessionId,
      seq,
      payload: JSON.parse(payload) as Record<string, unknown>,
    }));
    return { events, latest_seq, truncated: false };
  }

  /**
   * A turn ended: pieces of the turns before it go; its own stay until the next one ends, so that a
   * client that was away for a moment can replay them.
   */
  turnEnded(sessionId: string, turnId: number): void {
    const { store } = this.#options;
    store.transaction(() => {
      const row = store.one<{ seq: number | null }>(
        `SELECT max(seq) AS seq FROM session_events WHERE session_id = ? AND turn_id < ? AND type IN ${PIECES}`,
        sessionId,
        turnId,
      );
      if (!row?.seq) return;
      store.run(`DELETE FROM session_events WHERE session_id = ? AND turn_id < ? AND type IN ${PIECES}`, sessionId, turnId);
      store.run('UPDATE sessions SET pruned_seq = max(pruned_seq, ?) WHERE id = ?', row.seq, sessionId);
    });
    const stream = this.#streams.get(sessionId);
    if (stream) this.#prune(sessionId, stream);
  }

  /**
   * Removes the events of sessions that nobody used since `beforeMs`; their numbers continue. One session at a time:
   * the loop is not held by many of them, and sessions without events are not looked at.
   */
  async forgetIdle(beforeMs: number): Promise<void> {
    const { store } = this.#options;
    let after = '';
    for (;;) {
      const next = store.one<{ id: string; idle: number }>(
        `SELECT e.session_id AS id, s.last_active < ? AS idle FROM session_events e CROSS JOIN sessions s ON s.id = e.session_id
         WHERE e.session_id > ? ORDER BY e.session_id LIMIT 1`,
        beforeMs,
        after,
      );
      if (!next) return;
      if (next.idle === 1) this.#forgetEvents(next.id);
      after = next.id;
      await nextTurn();
    }
  }

  #forgetEvents(sessionId: string): void {
    const { store } = this.#options;
    store.transaction(() => {
      store.run(
        'UPDATE sessions SET pruned_seq = max(pruned_seq, coalesce((SELECT max(seq) FROM session_events WHERE session_id = sessions.id), 0)) WHERE id = ?',
        sessionId,
      );
      store.run('DELETE FROM session_events WHERE session_id = ?', sessionId);
    });
  }

  #prune(sessionId: string, stream: Stream): void {
    stream.unpruned = 0;
    const upTo = stream.seq - limits.turn.eventsMax;
    if (upTo <= 0) return;
    const { store } = this.#options;
    store.transaction(() => {
      this.#options.onPrune(sessionId, stream.seq);
      const { changes } = store.run('DELETE FROM session_events WHERE session_id = ? AND seq <= ?', sessionId, upTo);
      if (changes > 0) store.run('UPDATE sessions SET pruned_seq = max(pruned_seq, ?) WHERE id = ?', upTo, sessionId);
    });
  }
}
