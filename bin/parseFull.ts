/** The full parser: commander, fed from a command's declaration; its complaints in our words. */
import { Command as Parser, CommanderError, Option as ParserOption } from 'commander';
import { AgentError } from '../base/errors.ts';
import type { Command, Input } from './command.ts';
import { camelCase, dashed, parseFlags } from './flags.ts';
import { globalOptions } from './parse.ts';
import { unknownName } from './suggest.ts';

/** Errors: USAGE, naming what is wrong and the valid set. */
export function parseFull(command: Command, path: string[], words: string[], profile: string): Input {
  const { own, tail } = splitRest(command, words);
  const parser = new Parser(path.join(' '))
    .exitOverride()
    .helpOption(false)
    .configureOutput({ writeErr: () => {}, outputError: () => {} });
  for (const { name, optional, variadic } of command.arguments ?? []) {
    const shape = `${name}${variadic ? '...' : ''}`;
    parser.argument(optional ? `[${shape}]` : `<${shape}>`);
  }
  for (const option of [...(command.options ?? []), ...globalOptions]) {
    if (option.flags.startsWith(`${command.restOption} `)) continue;
    parser.addOption(new ParserOption(option.flags));
  }
  try {
    parser.parse(own, { from: 'user' });
  } catch (thrown) {
    if (thrown instanceof CommanderError) throw usageError(thrown, command, path);
    throw thrown;
  }
  const options = parser.opts<Record<string, string | boolean | string[]>>();
  if (tail) options[camelCase(parseFlags(`${command.restOption} <rest...>`).long)] = tail;
  return {
    args: parser.args,
    options,
    json: options.json === true,
    profile: typeof options.profile === 'string' ? options.profile : profile,
  };
}

function splitRest({ restOption }: Command, words: string[]): { own: string[]; tail?: string[] } {
  const at = restOption ? words.indexOf(restOption) : -1;
  return at < 0 ? { own: words } : { own: words.slice(0, at), tail: words.slice(at + 1) };
}

function usageError({ code, message }: CommanderError, command: Command, path: string[]): AgentError {
  const line = `agent ${path.join(' ')}`;
  if (code === 'commander.unknownOption') {
    const given = /'(--?[^'=]*)/.exec(message)?.[1] ?? '';
    const known = [...(command.options ?? []), ...globalOptions].map(({ flags }) => dashed(parseFlags(flags)));
    if (known.includes(given)) return new AgentError('USAGE', `${given} of ${line} takes no value`, { fix: `write ${given} alone` });
    const { message: what, fix } = unknownName('option', given, known);
    return new AgentError('USAGE', `${what} of ${line}`, fix === undefined ? {} : { fix });
  }
  const plain = message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/^./, (first) => first.toLowerCase());
  return new AgentError('USAGE', `${line}: ${plain.replace(/\.$/, '')}`, { fix: `see ${line} --help` });
}
