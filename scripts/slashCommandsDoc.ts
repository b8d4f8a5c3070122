/** docs/slash-commands.md from the registry of slash commands. */
import { talking, type SlashCommand } from '../agent/commands/command.ts';
import { registry } from '../agent/commands/registry.ts';
import { blueprintViews } from '../services/cron/blueprints.ts';
import { generatedDoc } from './generatedDoc.ts';

const order = [
  ['session', 'The conversation'],
  ['configuration', 'How it answers'],
  ['tools', 'Tools, skills, memory, jobs'],
  ['info', 'To look at'],
  ['exit', 'To leave'],
] as const;

const cell = (text: string): string => text.replaceAll('|', '\\|');

function where({ surfaces = talking }: SlashCommand): string {
  if (surfaces.includes('gateway')) return 'everywhere';
  if (surfaces.includes('api')) return 'all but chats';
  return surfaces
    .map((surface) => ({ cli: 'terminal', tui: 'terminal', desktop: 'desktop' })[surface as 'cli'] ?? surface)
    .filter((name, i, all) => all.indexOf(name) === i)
    .join(', ');
}

const busyWords = { allowed: 'yes', queue: 'waits', rejected: 'no' };

function row(command: SlashCommand): string {
  const { name, aliases = [], takes = '', summary, busy } = command;
  const names = [`\`/${name}${takes ? ` ${takes}` : ''}\``, ...aliases.map((alias) => `\`/${alias}\``)].join(', ');
  return `| ${cell(names)} | ${cell(summary)} | ${where(command)} | ${busyWords[busy]} |`;
}

const sections = order.map(([category, title]) => {
  const rows = registry.filter((command) => command.category === category).map(row);
  return `## ${title}\n\n| command | does | where | while a turn runs |\n|---|---|---|---|\n${rows.join('\n')}`;
});

/** Every blueprint has them. */
const ofAll: ReadonlySet<string> = new Set(['schedule', 'deliver', 'timezone']);

const blueprints = blueprintViews()
  .map(({ key, description, fields }) => {
    const slots = fields.filter(({ name }) => !ofAll.has(name));
    const names = slots.map(({ name, default: preset, optional }) => (preset === null && !optional ? `\`${name}\`` : `\`[${name}]\``));
    return `| \`${key}\` | ${cell(description)} | ${names.join(' ')} |`;
  })
  .join('\n');

const text = `# Slash commands

One list for the terminal chat, the desktop, the dashboard and chat platforms; \`/help\` prints what works where you are, \`/help <command>\` explains one.

- Upper and lower case are the same. A beginning will do (\`/mod\` is \`/model\`); an exact name or another name wins over a beginning, and of several that fit the first in the lists below is meant.
- A line that begins like a path (\`/usr/bin/env is …\`) is a prompt. An unknown command names the nearest ones.
- Skills are commands too: \`/<skill> [text]\` asks the agent to use that skill.
- \`quick_commands\` in config.yaml gives a command another name: \`quick_commands: { review: { type: alias, target: "plan review the open changes" } }\`. Those of type \`exec\` are refused on every surface: a line that begins with / may come from a chat, and programs run through approvals, never past them. At a keyboard \`!command\` runs one as yourself; for anything else let an alias stand for a prompt or a skill that says what to run.
- “All but chats” means that a command shows or changes what belongs to the owner of the machine, so nobody in a chat can use it.

${sections.join('\n\n')}

## The queue

A prompt that comes while a turn runs waits (\`display.busy_input_mode: queue\`, the default), joins the turn with its next tool result (\`steer\`), or interrupts it (\`interrupt\`); \`/busy\` changes it. \`/queue <prompt>\` always puts one in line. What waits is stored with the conversation: it survives a restart of the worker and runs in its order.

\`/queue list\`, \`/queue edit 2 <prompt>\`, \`/queue rm 2\`, \`/queue move 3 1\` and \`/queue clear\` manage it. A prompt that begins with one of these words is put in line with \`/queue add <prompt>\`.

## Beside the conversation

\`/btw <question>\` asks one model call about the conversation as it stands, without tools. Nothing of it enters the history, the provider’s cache or the running turn; the answer is shown on the side. The model is \`auxiliary.btw\` of config.yaml, or the session’s own. Four at a time in one conversation.

\`/bg <prompt>\` works in a hidden session of its own. Its result is told to the conversation that asked, also when the terminal was closed or the worker restarted meanwhile; in a chat it is sent there.

\`/plan [task]\` makes a plan in \`.agent/plans/\` of the working directory and carries nothing out.

## Blueprints

\`/blueprint\` (\`/bp\`) lists ready-made scheduled jobs: those of the cron worker, which the page and \`agent cron blueprints\` show too, and those that [skills](skills.md#a-scheduled-job-to-fill-in) suggest. \`/bp reminder\` asks for what it needs, one question after the other; \`/bp reminder what="call mother" time=18:00\` makes the job at once. Every one takes \`schedule\` as well, free text in place of its own (\`/bp reminder what="the tea" schedule=5m\`), \`deliver\` (as a rule the chat you are in) and \`timezone\`.

| blueprint | does | slots (in brackets: has a default) |
|---|---|---|
${blueprints}

This page is made from \`agent/commands/\`: \`node scripts/slashCommandsDoc.ts --write\`.
`;

generatedDoc('slash-commands.md', text, 'slashCommandsDoc.ts');
