/** What the dashboard asks of the terminal worker (node-pty). One owner link per terminal; its end closes the terminal. */
import { z } from 'zod';
import { method, notice } from '../method.ts';

const Size = { cols: z.number().int().min(2).max(1_000), rows: z.number().int().min(1).max(500) };

/** Errors: TOO_MANY_TERMINALS, UNKNOWN_PROFILE. */
export const open = method('pty.open', {
  params: z.object({ ...Size, profile: z.string().optional(), cwd: z.string().optional() }),
  result: z.object({ pty_id: z.string(), pid: z.number(), shell: z.string() }),
});
export const resize = method('pty.resize', { params: z.object({ pty_id: z.string(), ...Size }), result: z.object({}) });
export const close = method('pty.close', { params: z.object({ pty_id: z.string() }), result: z.object({}) });
/** Keystrokes to the shell. */
export const input = notice('pty.input', z.object({ pty_id: z.string(), data: z.string() }));
/** Output of the shell. */
export const data = notice('pty.data', z.object({ pty_id: z.string(), data: z.string() }));
export const exit = notice('pty.exit', z.object({ pty_id: z.string(), code: z.number().nullable(), signal: z.number().nullable() }));
