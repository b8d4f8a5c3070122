/** Reading `-n, --lines <count>` and its kin: the one notation in which commands declare options. */

export interface Flag {
  short: string | undefined;
  /** Without dashes; `drain` for `--no-drain`. */
  long: string;
  negated: boolean;
  takes: 'nothing' | 'value' | 'list';
  /** Name of the value in help. */
  value: string | undefined;
}

/** Throws on a notation it does not know: a programmer's error. */
export function parseFlags(flags: string): Flag {
  const match = /^(?:-(\w), )?--(no-)?([a-z][a-z0-9-]*)(?: <([\w=-]+)(\.\.\.)?>)?$/.exec(flags);
  if (!match) throw new Error(`not a flag notation: ${flags}`);
  const [, short, negated, long, value, many] = match;
  return { short, long: long!, negated: negated !== undefined, takes: many ? 'list' : value ? 'value' : 'nothing', value };
}

/** `dry-run` → `dryRun`, the key under which its value is found. */
export const camelCase = (long: string): string => long.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** As a user types it: `--no-drain`. */
export const dashed = ({ long, negated }: Flag): string => `--${negated ? 'no-' : ''}${long}`;
