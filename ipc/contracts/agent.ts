/** What other workers ask of the agent worker, beside the gateway RPC of `rpc.ts`. */
import { z } from '../../base/lazyZod.ts';
import { method } from '../method.ts';

/** Where a turn comes from; vocabulary of the shared metrics (interface spec, Dimension vocabularies). */
export const Surface = z.enum(['api', 'batch', 'cli', 'desktop', 'gateway', 'other', 'scheduled_task', 'tui']);
export type Surface = z.infer<typeof Surface>;

export const TurnOutcome = z.object({
  session_id: z.string(),
  /** Durable id of the user's message. */
  message_id: z.number(),
  status: z.enum(['complete', 'interrupted', 'error']),
  /** Final text; on `interrupted` and `error` what had been received. */
  text: z.string(),
  /** Code and sentence of what went wrong. */
  error: z.object({ code: z.string(), message: z.string(), fix: z.string().nullable() }).nullable(),
  /** A tool had run: the turn must not be repeated by itself. */
  tools_ran: z.boolean(),
});
export type TurnOutcome = z.infer<typeof TurnOutcome>;

/**
 * Runs one turn to its end and answers with the outcome; lasts as long as the turn. Calling again with the
 * same `idempotency_key` joins the running turn or returns its recorded outcome, also after a restart of
 * either side; a turn that a crash cut before any tool had run is run again. Cancelling the call ends the turn
 * unless another caller waits for it; losing the connection does not. Errors: NO_PROVIDER, BUSY, DRAINING.
 */
export const runTurn = method('turn.run', {
  params: z.object({
    /** Stable key of the conversation (`agent:main:irc:group:#room`); the session is made on first use. `null` = a fresh session. */
    session_key: z.string().nullable(),
    text: z.string(),
    idempotency_key: z.string(),
    surface: Surface,
    /** Platform and chat, for toolset rules and the transcript. */
    platform: z.string().optional(),
    user: z.string().optional(),
    title: z.string().optional(),
    profile: z.string().optional(),
    model: z.string().optional(),
    /** Whom a fresh session acts for, as the agent encoded it when it made the job. */
    principal: z.string().optional(),
  }),
  result: TurnOutcome,
  timeoutMs: 0,
});

/** Whether the turn of an idempotency key moves: `steps` rises with all it does, also with a tool's output. Null: it does not run. */
export const turnProgress = method('turn.progress', {
  params: z.object({ idempotency_key: z.string() }),
  result: z.object({ steps: z.number().nullable() }),
});

/** Interrupts the running turn of a keyed conversation and forgets its key: the next message starts fresh (`/new`). */
export const resetConversation = method('conversation.reset', {
  params: z.object({ session_key: z.string(), profile: z.string().optional() }),
  result: z.object({ reset: z.boolean() }),
});

/** Interrupts the running turn of a keyed conversation (`/stop`). */
export const stopConversation = method('conversation.stop', {
  params: z.object({ session_key: z.string(), profile: z.string().optional() }),
  result: z.object({ interrupted: z.boolean() }),
});

/**
 * A slash command typed in a chat. `prompt`: what is to be asked instead of the line, as a turn of that chat; null = the
 * text is the whole answer. The same key runs once and gives the same answer again. Errors: UNKNOWN_COMMAND, USAGE, BUSY, and those of what it runs.
 */
export const conversationCommand = method('conversation.command', {
  params: z.object({
    session_key: z.string(),
    line: z.string().min(1),
    platform: z.string(),
    user: z.string().optional(),
    is_owner: z.boolean().default(false),
    idempotency_key: z.string().optional(),
  }),
  result: z.object({ text: z.string(), prompt: z.string().nullable() }),
  timeoutMs: 180_000,
});
