/** What can be completed where: the command tree flattened into rows, the same for every shell. */
import { platformIds } from '../../base/closedWords.ts';
import { manifest } from '../../services/manifest.ts';
import { levels, logNames, pauseScopes } from '../../base/closedWords.ts';
import type { Command, Completion, Option } from '../command.ts';
import { dashed, parseFlags } from '../flags.ts';
import { globalOptions } from '../parse.ts';

export interface Candidate {
  word: string;
  summary: string;
}

export interface Values {
  words: string[];
  /** File names too. */
  files: boolean;
  /** Paths below the root of `agent files` too, asked for folder by folder. */
  placed?: boolean;
  /** Lines that this command prints, asked for when the key is pressed. */
  printed?: string;
}

export interface Place {
  /** `''` for the top, `cron list` for a sub-command. */
  path: string;
  commands: Candidate[];
  options: Candidate[];
  /** Values of options, by the option as typed. */
  optionValues: { options: string[]; values: Values }[];
  /** What the words after the command may be. */
  argument: Values;
}

const words: Record<Exclude<Completion, 'file' | 'place' | 'command' | 'session' | 'profile'>, readonly string[]> = {
  platform: platformIds,
  slot: manifest.map(({ slot }) => slot),
  log: logNames,
  level: levels,
  shell: ['bash', 'zsh'],
  scope: pauseScopes,
};

/** Every place of the tree, the top first. */
export function places(verbs: readonly Command[]): Place[] {
  const top: Place = {
    path: '',
    commands: verbs.map(candidate),
    options: [...globalOptions.map(optionCandidates), [{ word: '--version', summary: 'print the version' }]].flat(),
    optionValues: [{ options: ['-p', '--profile'], values: valuesOf('profile') }],
    argument: none,
  };
  return [top, ...verbs.flatMap((verb) => below(verb, verb.name))];
}

/** `named` is the array of `-p <profile>` as typed so far, empty without. */
const PROFILES = 'agent profile list --names 2>/dev/null';
const SESSIONS = 'agent "${named[@]}" sessions list -n 100 --ids 2>/dev/null';
const none: Values = { words: [], files: false };

function below(command: Command, path: string): Place[] {
  const options: Option[] = [...(command.options ?? []), ...globalOptions];
  const kinds = (command.arguments ?? []).flatMap(({ complete }) => complete ?? []);
  const own: Place = {
    path,
    commands: (command.commands ?? []).map(candidate),
    options: options.flatMap(optionCandidates),
    optionValues: options.flatMap((option) => {
      const values = valuesOf(option.complete, option.choices);
      const takes = parseFlags(option.flags).takes !== 'nothing';
      return takes ? [{ options: spellings(option), values }] : [];
    }),
    argument: { ...valuesOf(kinds.find((kind) => kind !== 'place')), ...(kinds.includes('place') ? { placed: true } : {}) },
  };
  return [own, ...(command.commands ?? []).flatMap((child) => below(child, `${path} ${child.name}`))];
}

function valuesOf(complete: Completion | undefined, choices: readonly string[] = []): Values {
  if (complete === 'file') return { words: [...choices], files: true };
  if (complete === 'profile') return { words: [], files: false, printed: PROFILES };
  if (complete === 'session') return { words: ['latest'], files: false, printed: SESSIONS };
  const known = complete && complete !== 'command' && complete !== 'place' ? words[complete] : [];
  return { words: [...new Set([...choices, ...known])], files: false };
}

const candidate = ({ name, summary }: Command): Candidate => ({ word: name, summary });

const optionCandidates = (option: Pick<Option, 'flags' | 'summary'>): Candidate[] =>
  spellings(option).map((word) => ({ word, summary: option.summary }));

function spellings({ flags }: Pick<Option, 'flags'>): string[] {
  const flag = parseFlags(flags);
  return [dashed(flag), ...(flag.short ? [`-${flag.short}`] : [])];
}
