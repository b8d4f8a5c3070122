/** Slash commands and completion of the gateway RPC: one registry in the agent worker serves every surface. */
import { z } from '../../base/lazyZod.ts';
import { rpcMethod, type Method } from '../method.ts';
import { Surface } from './agent.ts';

const Session = z.string({ error: 'session_id is missing' });

export const CommandRow = z.object({
  name: z.string(),
  aliases: z.array(z.string()),
  /** Arguments for people: `[here [N]]`. */
  takes: z.string(),
  summary: z.string(),
  category: z.enum(['session', 'configuration', 'tools', 'info', 'exit', 'messaging', 'skill']),
  /** The surface itself runs it (`/clear`, `/quit`): `command.dispatch` answers `local`. */
  local: z.boolean(),
});
export type CommandRow = z.infer<typeof CommandRow>;

export const commandsCatalog = rpcMethod('commands.catalog', {
  params: z.strictObject({ surface: Surface.optional(), session_id: z.string().optional() }),
  result: z.object({ commands: z.array(CommandRow) }),
});

/**
 * Runs a slash command (`line` with or without its slash). `kind`: `text` = show the text; `prompt` = the command
 * submitted `message_id` as a prompt; `session` = go on with `session_id`; `local` = the surface does it (`name`, `args`);
 * `choice` = ask the user to pick, then dispatch `line`. Errors: UNKNOWN_COMMAND, USAGE, BUSY, and those of what it runs.
 */
export const commandDispatch = rpcMethod('command.dispatch', {
  params: z.strictObject({ session_id: Session, line: z.string().min(1), surface: Surface.optional() }),
  result: z.object({
    kind: z.enum(['text', 'prompt', 'session', 'local', 'choice']),
    name: z.string(),
    args: z.string(),
    text: z.string(),
    /** The same as data, for surfaces that draw (`/context`, `/usage`, `/queue`). */
    data: z.unknown(),
    session_id: z.string().nullable(),
    message_id: z.number().nullable(),
    choices: z.array(z.object({ label: z.string(), line: z.string() })),
  }),
  timeoutMs: 180_000,
});

const Completion = z.object({
  /** What the input becomes from `replace_from` on. */
  text: z.string(),
  label: z.string(),
  summary: z.string(),
});
const Completions = z.object({ replace_from: z.number(), items: z.array(Completion) });
export type Completions = z.infer<typeof Completions>;

export const completeSlash = rpcMethod('complete.slash', {
  params: z.strictObject({ text: z.string(), session_id: z.string().optional(), surface: Surface.optional() }),
  result: Completions,
});

/** Paths below the directory of the session, for `@file` and commands that take one. */
export const completePath = rpcMethod('complete.path', {
  params: z.strictObject({ text: z.string(), session_id: z.string().optional() }),
  result: Completions,
});

export const commandMethods: readonly Method[] = [commandsCatalog, commandDispatch, completeSlash, completePath];
