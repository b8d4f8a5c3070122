/** docs/COMMANDS.md from the declarations of all commands. */
import type { Command } from '../bin/command.ts';
import { commandTable } from '../bin/commandTable.ts';
import { optionSummary, usageLine } from '../bin/help.ts';
import { generatedDoc } from './generatedDoc.ts';

const groups = Map.groupBy(commandTable, ({ group }) => group);
const sections: string[] = [];
for (const [group, entries] of groups) {
  sections.push(`## ${group}`);
  for (const { load } of entries) sections.push(section((await load()).command, []));
}

const text = `# Commands

\`agent [-p <profile>] <command> [options]\`. \`-p, --profile <name>\` and \`-h, --help\` may stand anywhere. \`--json\` prints one JSON document on stdout and nothing else there; errors go to stderr as \`agent: <what> — <what to do>\`, with \`--json\` as \`{"error":{"code","message","fix"}}\`. Colour appears on a terminal only and never with \`NO_COLOR\`; nothing asks a question without a terminal.

Exit codes: 0 done, 1 failed, 2 the command line was wrong, 3 no supervisor runs, 78 the configuration is wrong.

The product runs on Linux and macOS. \`AGENT_HOME\` chooses the home directory (default \`~/.agent\`). \`agent completion bash\` and \`agent completion zsh\` print completion scripts.

${sections.join('\n\n')}

This page is made from \`bin/commands/\`: \`node scripts/commandsDoc.ts --write\`.
`;

generatedDoc('COMMANDS.md', text, 'commandsDoc.ts');

function section(command: Command, parents: string[]): string {
  const path = [...parents, command.name];
  const rows = [
    ...(command.arguments ?? []).map(({ name, summary, optional }) => `| \`${optional ? `[${name}]` : `<${name}>`}\` | ${cell(summary)} |`),
    ...(command.options ?? []).map((option) => `| \`${option.flags}\` | ${cell(optionSummary(option))} |`),
  ];
  return [
    `${'#'.repeat(path.length + 2)} agent ${path.join(' ')}`,
    `${command.summary}.${command.details ? ` ${command.details}` : ''}`,
    `    agent ${usageLine(command, path)}`,
    ...(rows.length ? [['| | |', '|---|---|', ...rows].join('\n')] : []),
    command.examples.map(({ line, does }) => `- \`${line}\`: ${does}`).join('\n'),
    ...(command.commands ?? []).map((child) => section(child, path)),
  ].join('\n\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
