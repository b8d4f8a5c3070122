/** Help texts, from the declarations of the commands. */
import { painter } from '../base/paint.ts';
import type { Command } from './command.ts';
import type { TableEntry } from './commandTable.ts';
import { globalOptions } from './parse.ts';
import { out, table } from './terminal.ts';

/** `agent --help`: every verb by group. */
export function overview(entries: readonly TableEntry[]): string {
  const paint = painter(out);
  const groups = Map.groupBy(entries, ({ group }) => group);
  const sections = [...groups].map(
    ([group, members]) => `${paint('bold', group)}\n${indent(table(members.map(({ name, summary }) => [paint('cyan', name), summary])))}`,
  );
  return [
    'agent: an assistant that stays up, and can say why.',
    `${paint('bold', 'Usage')}  agent [-p <profile>] <command> [options]`,
    ...sections,
    `${paint('bold', 'Examples')}\n${indent(
      table([
        ['agent up', 'start the service in the background and print where the dashboard is'],
        ['agent chat', 'talk to it'],
        ['agent status', 'what runs, what does not, and why'],
      ]),
    )}`,
    '`agent <command> --help` says more. AGENT_HOME chooses the home directory (default ~/.agent).',
  ].join('\n\n');
}

/** `agent <path…> --help`. */
export function commandHelp(command: Command, path: string[]): string {
  const paint = painter(out);
  const section = (title: string, rows: string[][]) => (rows.length ? [`${paint('bold', title)}\n${indent(table(rows))}`] : []);
  const options = [...(command.options ?? []), ...globalOptions];
  return [
    `${paint('bold', 'Usage')}  agent ${usageLine(command, path)}`,
    `${command.summary}.${command.details ? `\n\n${wrapped(command.details)}` : ''}`,
    ...section(
      'Commands',
      (command.commands ?? []).map(({ name, summary }) => [paint('cyan', name), summary]),
    ),
    ...section(
      'Arguments',
      (command.arguments ?? []).map(({ name, summary }) => [paint('cyan', name), summary]),
    ),
    ...section(
      'Options',
      options.map((option) => [paint('cyan', option.flags), optionSummary(option)]),
    ),
    ...section(
      'Examples',
      command.examples.map(({ line, does }) => [line, paint('dim', does)]),
    ),
  ].join('\n\n');
}

export function usageLine(command: Command, path: string[]): string {
  const args = (command.arguments ?? []).map(({ name, optional, variadic }) => {
    const shape = `${name}${variadic ? '…' : ''}`;
    return optional ? `[${shape}]` : `<${shape}>`;
  });
  return [...path, ...(command.commands ? [command.run ? '[command]' : '<command>'] : []), ...args, '[options]'].join(' ');
}

export const optionSummary = ({ summary, choices }: { summary: string; choices?: readonly string[] }): string =>
  choices ? `${summary} (${choices.join(', ')})` : summary;

const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ');

/** Widest line of a paragraph: what the terminal shows, at most what reads well. */
const lineMax = (): number => Math.min(process.stdout.columns || 100, 100);

/** Broken at spaces; the line breaks of the text stay. */
function wrapped(text: string): string {
  const max = lineMax();
  return text
    .split('\n')
    .map((line) => line.replace(new RegExp(`(.{1,${max}})(?: +|$)`, 'g'), '$1\n').trimEnd())
    .join('\n');
}
