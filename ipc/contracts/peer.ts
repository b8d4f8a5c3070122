/** What every process of the house says and answers: the hello, and the worker methods of contract §5. */
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { method } from '../method.ts';

export const Hello = z.object({
  /** Content of `run/token`. */
  token: z.string(),
  protocol: z.number().int(),
  /** The caller's slot, or `cli` for a command. */
  slot: z.string(),
  pid: z.number().int(),
  /** Content id of the caller's code. */
  code: z.string(),
  /** The caller relays a browser: only public methods are open. */
  relay: z.boolean().optional(),
});
export type Hello = z.infer<typeof Hello>;

export const HelloAnswer = z.object({
  protocol: z.number().int(),
  slot: z.string(),
  pid: z.number().int(),
  code: z.string(),
  /** Identity of this incarnation: proves a re-adopted process is the one on record. */
  nonce: z.string(),
});
export type HelloAnswer = z.infer<typeof HelloAnswer>;

/** First message on every connection. Errors: BAD_TOKEN and PROTOCOL_MISMATCH, after which the socket closes. */
export const hello = method('hello', { params: Hello, result: HelloAnswer, timeoutMs: limits.ipc.helloMs });

/** Answers from the main loop, so it proves that the loop turns. */
export const ping = method('worker.ping', {
  params: z.object({}),
  result: z.object({ slot: z.string(), pid: z.number(), uptime_ms: z.number() }),
});

/** Stop taking new work, finish what runs, then answer. A second call joins the first. */
export const drain = method('worker.drain', {
  params: z.object({ deadline_ms: z.number().int().min(0) }),
  result: z.object({
    /** Turns, runs or requests that had to be interrupted at the deadline. */
    interrupted: z.number().int(),
    drained_ms: z.number(),
  }),
  timeoutMs: 0,
});

/** Accepted work that a worker keeps because another one cannot take it now: its fact `waiting`, and `waiting` of `agent status`. */
export const WaitingWork = z.object({
  /** Messages or runs. */
  held: z.number(),
  /** Slot that has to take them. */
  slot: z.string(),
  /** Why it cannot, as an error code and as a sentence. */
  code: z.string(),
  reason: z.string(),
  since: z.string(),
});
export type WaitingWork = z.infer<typeof WaitingWork>;

/** What the worker is doing, for `status`, `why` and the dashboard. */
export const report = method('worker.report', {
  params: z.object({}),
  result: z.object({
    slot: z.string(),
    pid: z.number(),
    uptime_ms: z.number(),
    rss_bytes: z.number(),
    loop_lag_ms: z.number(),
    /** Named units of work in flight. */
    active: z.array(z.string()),
    /** The worker's own facts, e.g. `platforms` of the gateway. */
    facts: z.record(z.string(), z.unknown()),
  }),
});

/** Drain within the deadline, then exit 0. Answers before it leaves. */
export const stop = method('worker.stop', {
  params: z.object({ deadline_ms: z.number().int().min(0).optional() }),
  result: z.object({ stopping: z.literal(true) }),
});
