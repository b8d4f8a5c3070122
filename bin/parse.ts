/**
 * From words on a command line to a command and its input: finds the sub-command, takes the global
 * options (`-p`, `--help`) anywhere, and parses the rest with the hot or the full parser.
 */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { AgentError } from '../base/errors.ts';
import { listOption, type Command, type Input } from './command.ts';
import { camelCase, parseFlags } from './flags.ts';
import { unknownName } from './suggest.ts';

/** Options that every command takes. */
export const globalOptions = [
  { flags: '-p, --profile <name>', summary: 'the profile to work on (default: that of `agent profile use`)', complete: 'profile' },
  { flags: '-h, --help', summary: 'show this help' },
] as const;

export interface Resolved {
  command: Command;
  /** Names from the verb down: `['cron', 'list']`. */
  path: string[];
  /** Words left for the command. */
  rest: string[];
  help: boolean;
}

/** Walks to the sub-command that the words name. Errors: USAGE with the valid set. */
export function resolve(verb: Command, words: readonly string[]): Resolved {
  let command = verb;
  const path = [verb.name];
  let rest = [...words];
  while (command.commands) {
    const at = firstWord(rest, command.options);
    const word = rest[at];
    if (word === undefined) return { command, path, rest, help: wantsHelp(command, rest) };
    const next = command.commands.find(({ name }) => name === word);
    // One that does something with a word of its own: `agent files notes`.
    if (!next && command.run && command.arguments) break;
    if (!next)
      throw unknownName(
        `${path.join(' ')} command`,
        word,
        command.commands.map(({ name }) => name),
      );
    rest = rest.toSpliced(at, 1);
    command = next;
    path.push(next.name);
  }
  return { command, path, rest, help: wantsHelp(command, rest) };
}

/** Words of a command as its input; `hot` tries the cheap parser first. Errors: USAGE. */
export async function parseInput({ command, path, rest }: Resolved, { profile, hot }: { profile: string; hot: boolean }): Promise<Input> {
  const input =
    (hot ? parseHot(command, rest, profile) : undefined) ?? (await import('./parseFull.ts')).parseFull(command, path, rest, profile);
  requireChoices(command, input);
  return input;
}

/** An option with a fixed set of values has one of them. */
function requireChoices({ options = [] }: Command, input: Input): void {
  for (const { flags, choices } of options) {
    if (!choices) continue;
    const { long } = parseFlags(flags);
    const wrong = listOption(input, camelCase(long)).find((value) => !choices.includes(value));
    if (wrong !== undefined) throw unknownName(`value of --${long}`, wrong, choices);
  }
}

/** A command that only holds others was called without one. */
export function missingSubcommand({ command, path }: Resolved): AgentError {
  const names = command.commands!.map(({ name }) => name);
  return new AgentError('USAGE', `agent ${path.join(' ')} needs a command`, {
    fix: `one of ${names.join(', ')}; see agent ${path.join(' ')} --help`,
  });
}

/** The first word that is neither an option nor the value of one. */
function firstWord(words: string[], options: Command['options'] = []): number {
  const takers = new Set([...options, ...globalOptions].flatMap(({ flags }) => valueSpellings(flags)));
  for (let i = 0; i < words.length; i++) {
    if (takers.has(words[i]!)) i++;
    else if (!words[i]!.startsWith('-')) return i;
  }
  return words.length;
}

function valueSpellings(flags: string): string[] {
  const { long, short, takes } = parseFlags(flags);
  return takes === 'nothing' ? [] : [`--${long}`, ...(short ? [`-${short}`] : [])];
}

function wantsHelp({ restOption }: Command, words: string[]): boolean {
  const end = words.findIndex((word) => word === '--' || word === restOption);
  return words.slice(0, end < 0 ? undefined : end).some((word) => word === '--help' || word === '-h');
}

/** What node's own parser makes of it; undefined when it is not plain enough, and the full parser decides. */
function parseHot(command: Command, words: string[], profile: string): Input | undefined {
  const flags = [...(command.options ?? []), ...globalOptions].map((option) => parseFlags(option.flags));
  const options: NonNullable<ParseArgsConfig['options']> = {};
  for (const { long, short, takes } of flags) {
    options[long] = { type: takes === 'nothing' ? 'boolean' : 'string', multiple: takes === 'list', ...(short ? { short } : {}) };
  }
  try {
    const { values, positionals } = parseArgs({ args: words, options, allowPositionals: Boolean(command.arguments), strict: true });
    const required = command.arguments?.filter(({ optional }) => !optional).length ?? 0;
    if (positionals.length < required || positionals.length > (command.arguments?.length ?? 0)) return undefined;
    const named = Object.fromEntries(Object.entries(values).map(([long, value]) => [camelCase(long), value])) as Input['options'];
    return { args: positionals, options: named, json: named.json === true, profile: (named.profile as string | undefined) ?? profile };
  } catch {
    return undefined;
  }
}
