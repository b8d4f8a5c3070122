/** What a slash command is: one value that dispatch, help, completion and the documents read. */
import { AgentError } from '../../base/errors.ts';
import type { Act } from '../authority/may.ts';
import type { CommandHost, Surface } from './host.ts';

export type Category = 'session' | 'configuration' | 'tools' | 'info' | 'exit' | 'messaging' | 'skill';

/** What its arguments may become: fixed words, or one of these lists of the host. */
export type Completes =
  | readonly string[]
  | 'model'
  | 'session'
  | 'queue'
  | 'path'
  | 'personality'
  | 'skill'
  | 'blueprint'
  | 'job'
  | 'command';

export interface CommandResult {
  kind: 'text' | 'prompt' | 'session' | 'local' | 'choice';
  text: string;
  args?: string;
  /** The same as data, for surfaces that draw. */
  data?: unknown;
  sessionId?: string;
  messageId?: number;
  choices?: { label: string; line: string }[];
}

export interface Invocation {
  host: CommandHost;
  /** The name the command has in the registry. */
  name: string;
  args: string;
  /** Every command of this surface, for `/help`. */
  available: readonly SlashCommand[];
}

export interface SlashCommand {
  name: string;
  aliases?: readonly string[];
  /** For people: `[here [N] | focus]`. */
  takes?: string;
  /** One line, starts with a verb. */
  summary: string;
  category: Category;
  /** It lowers protection: only its whole name means it, no beginning of it. */
  exact?: true;
  /** What its user must be allowed to do (agent/authority/may.ts); by its arguments where these decide. */
  needs: Act | ((args: string) => Act);
  /** Where it can be used; all of `talking` when left out. */
  surfaces?: readonly Surface[];
  /** While a turn runs: `allowed`; `queue` = what it submits waits in line; `rejected` = refused with BUSY. */
  busy: 'allowed' | 'queue' | 'rejected';
  /** The surface itself runs it. */
  local?: true;
  completes?: Completes;
  run?(invocation: Invocation): Promise<CommandResult> | CommandResult;
}

/** Surfaces where somebody types. */
export const talking: readonly Surface[] = ['cli', 'tui', 'desktop', 'gateway', 'api', 'other'];
/** Those at which the owner sits. */
export const ownSurfaces: readonly Surface[] = ['cli', 'tui', 'desktop', 'api', 'other'];
export const terminals: readonly Surface[] = ['cli', 'tui'];
export const screens: readonly Surface[] = ['cli', 'tui', 'desktop'];

export const text = (said: string, data?: unknown): CommandResult => ({
  kind: 'text',
  text: said,
  ...(data === undefined ? {} : { data }),
});

export function usage({ name, takes = '' }: Pick<SlashCommand, 'name' | 'takes'>, problem: string): AgentError {
  return new AgentError('USAGE', `/${name}: ${problem}`, { fix: `/${name} ${takes}`.trim() });
}

/** A number of the user's own counting. Errors: USAGE. */
export function ordinal(word: string | undefined, what: string): number {
  if (word !== undefined && /^[1-9]\d{0,4}$/.test(word)) return Number(word);
  throw new AgentError('USAGE', word === undefined ? `${what} is missing` : `"${word}" is not ${what}`, {
    fix: 'write a number from 1',
  });
}

/** Submits a prompt for the user, behind the running turn. */
export async function prompted(host: CommandHost, prompt: string, said: string): Promise<CommandResult> {
  const { message_id, status } = await host.call('prompt.submit', { text: prompt, busy: 'queue' });
  return { kind: 'prompt', text: status === 'queued' ? `${said} It waits behind the running turn.` : said, messageId: message_id };
}

/** First word and the rest. */
export function split(args: string): [string, string] {
  const match = /^(\S*)\s*([\s\S]*)$/.exec(args.trim())!;
  return [match[1]!, match[2]!];
}
