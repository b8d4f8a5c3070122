/** What others ask of the gateway worker: durable delivery and platform state. */
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { method } from '../method.ts';
import { WaitingWork } from './peer.ts';

export const PlatformState = z.object({
  platform: z.string(),
  state: z.enum(['connecting', 'connected', 'retrying', 'fatal', 'disabled']),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
  retrying_since: z.string().nullable(),
  updated_at: z.string(),
});
export type PlatformState = z.infer<typeof PlatformState>;

export const DeliveryStatus = z.enum(['pending', 'sending', 'delivered', 'uncertain', 'failed', 'expired', 'discarded']);

/**
 * Accepts a message for a chat into the durable outbox; the answer means "stored", not "delivered".
 * The same `idempotency_key` is stored once. Errors: UNKNOWN_TARGET, QUEUE_FULL, DISK_FULL.
 */
export const enqueueDelivery = method('delivery.enqueue', {
  params: z.object({
    /** `<platform>`, `<platform>:<chat>` or `<platform>:<chat>:<thread>`. */
    target: z.string(),
    text: z.string().min(1),
    idempotency_key: z.string(),
    /** Who asks: `cli`, `cron`, … */
    origin: z.string(),
  }),
  result: z.object({ delivery_id: z.number(), status: DeliveryStatus, duplicate: z.boolean() }),
});

/** State of one delivery; with `wait_ms` waits for it to leave `pending` and `sending`. Errors: NOT_FOUND. */
export const deliveryStatus = method('delivery.status', {
  params: z.object({ delivery_id: z.number(), wait_ms: z.number().int().min(0).max(60_000).default(0) }),
  result: z.object({ delivery_id: z.number(), status: DeliveryStatus, tries: z.number(), error: z.string().nullable() }),
  timeoutMs: 70_000,
});

export const listTargets = method('delivery.targets', {
  params: z.object({}),
  result: z.object({
    targets: z.array(z.object({ target: z.string(), platform: z.string(), chat: z.string().nullable(), state: z.string() })),
  }),
});

export const platforms = method('gateway.platforms', {
  params: z.object({}),
  result: z.object({
    platforms: z.array(PlatformState),
    /** Messages held by a pause. */
    held: z.number(),
    waiting: z.array(WaitingWork),
    /** Platforms whose settings have changed since the gateway started. */
    pending: z.array(z.string()),
  }),
});

/** What came of a connection that was tried. */
export const PlatformTest = z.object({
  ok: z.boolean(),
  /** `connected`; else what the platform would be: `disconnected`, `fatal`. */
  state: z.enum(['connected', 'disconnected', 'fatal']),
  message: z.string(),
  fix: z.string().nullable(),
  took_ms: z.number(),
});
export type PlatformTest = z.infer<typeof PlatformTest>;

/**
 * Tries a platform with its settings as they are now: a real connection, closed again; one that is open with these
 * settings already is only named. Errors: NOT_FOUND.
 */
export const testPlatform = method('gateway.test_platform', {
  params: z.object({ platform: z.string() }),
  result: PlatformTest,
  timeoutMs: limits.gateway.testMs + 5_000,
});

/** A message that could not be delivered (`12`), or one that was received and could not be answered (`m12`). */
export const UndeliveredId = z.union([z.number().int(), z.string().regex(/^m\d{1,15}$/, 'an id is a number, or m and a number')]);
export type UndeliveredId = z.infer<typeof UndeliveredId>;

const Ids = z.object({ ids: z.array(UndeliveredId).max(limits.gateway.undeliveredMax) });
export const Settled = z.object({ done: z.array(UndeliveredId), failed: z.array(z.object({ id: UndeliveredId, message: z.string() })) });

/** Tries messages of the list once more, without a mark: the caller has checked the chat. */
export const retryDeliveries = method('delivery.retry', { params: Ids, result: Settled });

/** Takes messages off the list; they are never tried again. */
export const discardDeliveries = method('delivery.discard', { params: Ids, result: Settled });

/**
 * A turn that came from a chat waits for an answer of its people: the gateway asks there, once per `request_id`,
 * and answers with `request.answer`. `asked: false` = nobody can be asked in that conversation.
 */
export const conversationAsked = method('conversation.asked', {
  params: z.object({
    session_key: z.string(),
    session_id: z.string(),
    request_id: z.string(),
    kind: z.enum(['approval', 'clarify']),
    /** As of the request of that kind (rpcRequests.ts). */
    params: z.record(z.string(), z.unknown()),
  }),
  result: z.object({ asked: z.boolean() }),
});

/** The question is over, answered here or elsewhere; `reason` as of `request.cancel`. */
export const conversationSettled = method('conversation.settled', {
  params: z.object({ request_id: z.string(), reason: z.string() }),
  result: z.object({ known: z.boolean() }),
});
