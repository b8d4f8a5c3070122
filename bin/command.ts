/**
 * What a command is: one value that help, completion and the parser read, and the function that does
 * it. Each verb is a file in `commands/` that exports one of these; `commandTable.ts` lists them.
 */

/** What may stand in a place, for completion. `file`: of the machine; `place`: below the root of `agent files`. */
export type Completion = 'slot' | 'log' | 'level' | 'file' | 'shell' | 'scope' | 'command' | 'session' | 'profile' | 'platform' | 'place';

export interface Argument {
  name: string;
  summary: string;
  optional?: boolean;
  /** Takes all that follow. */
  variadic?: boolean;
  complete?: Completion;
}

export interface Option {
  /** `-n, --lines <count>`, `--json`, `--no-drain`, `--scope <part...>` (may be repeated). */
  flags: string;
  summary: string;
  choices?: readonly string[];
  complete?: Completion;
}

export interface Example {
  line: string;
  does: string;
}

export interface Input {
  /** Words after the command, in order. */
  args: string[];
  /** By long name in camelCase; absent when not given. `--no-drain` is `drain: false`. */
  options: Readonly<Record<string, string | boolean | string[] | undefined>>;
  json: boolean;
  /** Profile the command is about; `default` unless `-p` says otherwise. */
  profile: string;
}

export interface Command {
  name: string;
  /** One line, starts with a verb. */
  summary: string;
  /** Paragraphs for `--help`. */
  details?: string;
  arguments?: Argument[];
  options?: Option[];
  examples: Example[];
  /** Sub-commands; a command has these, or `run`, or both: then `run` is what it does without one. */
  commands?: Command[];
  /** Everything after this option belongs to it, dashes included (`mcp add … --args -y pkg`). */
  restOption?: string;
  /** Answers the exit code. */
  run?: (input: Input) => Promise<number>;
}

export interface CommandModule {
  command: Command;
}

export const jsonOption: Option = { flags: '--json', summary: 'print one JSON document on stdout and nothing else there' };

/** For commands whose result is no document: a script, a foreground process. */
export const jsonErrorsOption: Option = { flags: '--json', summary: 'errors as JSON on stderr' };
export const drainOption: Option = { flags: '--no-drain', summary: 'do not wait for running work' };
export const slotArgument: Argument = {
  name: 'slot',
  summary: 'agent, dashboard, gateway, cron, mcp, terminal, <slot>@<profile>, or a name under services: of config.yaml',
  complete: 'slot',
};

/** Text given for an option, or undefined. */
export function textOption({ options }: Input, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** Whether a switch was given. */
export const hasFlag = ({ options }: Input, name: string): boolean => options[name] === true;

/** Values of an option that may be repeated. */
export function listOption({ options }: Input, name: string): string[] {
  const value = options[name];
  return Array.isArray(value) ? value : typeof value === 'string' ? [value] : [];
}
