/** What the dashboard asks of the terminal worker (node-pty). One link holds a terminal; its end closes it, or leaves it waiting for its page. */
import { z } from '../../base/lazyZod.ts';
import { method, notice } from '../method.ts';

const Size = { cols: z.number().int().min(2).max(1_000), rows: z.number().int().min(1).max(500) };

const Opened = z.object({
  pty_id: z.string(),
  pid: z.number(),
  shell: z.string(),
  /** Proof of a page that comes back. */
  resume_key: z.string(),
});

/** Errors: TOO_MANY_TERMINALS, UNKNOWN_PROFILE. */
export const open = method('pty.open', {
  params: z.object({
    ...Size,
    profile: z.string().optional(),
    cwd: z.string().optional(),
    /** Who it is for: each may hold so many. */
    owner: z.string().default('local'),
    /** After a loss of the link the shell waits for its page (`terminal.keepMs`) instead of ending at once. */
    keep: z.boolean().default(false),
  }),
  result: Opened,
});
/** Takes a waiting terminal over, or one whose old link is still thought to live; its latest output comes again, first. Errors: UNKNOWN_TERMINAL. */
export const resume = method('pty.resume', {
  params: z.object({ ...Size, pty_id: z.string(), resume_key: z.string(), owner: z.string().default('local') }),
  result: Opened,
});
export const resize = method('pty.resize', { params: z.object({ pty_id: z.string(), ...Size }), result: z.object({}) });
export const close = method('pty.close', { params: z.object({ pty_id: z.string() }), result: z.object({}) });
/** Keystrokes to the shell. */
export const input = notice('pty.input', z.object({ pty_id: z.string(), data: z.string() }));
/** Output of the shell. */
export const data = notice('pty.data', z.object({ pty_id: z.string(), data: z.string() }));
export const exit = notice('pty.exit', z.object({ pty_id: z.string(), code: z.number().nullable(), signal: z.number().nullable() }));
