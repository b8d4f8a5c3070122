/** Commands that tell something, and those that leave. */
import { AgentError } from '../../base/errors.ts';
import { ordinal, screens, terminals, text, type CommandResult, type Invocation, type SlashCommand } from './command.ts';
import { columns, insightLines, usageLines } from './views.ts';

const INSIGHT_DAYS = 7;

export const infoCommands: readonly SlashCommand[] = [
  {
    name: 'help',
    needs: 'converse',
    aliases: ['?'],
    takes: '[command]',
    summary: 'list the commands, or explain one',
    category: 'info',
    busy: 'allowed',
    completes: 'command',
    run: help,
  },
  {
    name: 'commands',
    needs: 'converse',
    summary: 'list every command with its other names',
    category: 'info',
    busy: 'allowed',
    run: allCommands,
  },
  {
    name: 'status',
    needs: 'converse',
    summary: 'show this conversation and what answers in it',
    category: 'info',
    busy: 'allowed',
    run: status,
  },
  {
    name: 'usage',
    needs: 'converse',
    aliases: ['cost'],
    summary: 'show tokens and cost of this conversation',
    category: 'info',
    busy: 'allowed',
    async run({ host }) {
      const usage = await host.call('session.usage', {});
      return text(usageLines(usage), usage);
    },
  },
  {
    name: 'insights',
    needs: 'see_usage',
    takes: '[days]',
    summary: 'show what was used over the last days',
    category: 'info',
    busy: 'allowed',
    async run({ host, args }) {
      const days = Math.min(args ? ordinal(args, 'a number of days') : INSIGHT_DAYS, 365);
      const found = await host.call('analytics.usage', { days });
      return text(insightLines(found, days), found);
    },
  },
  {
    name: 'processes',
    needs: 'converse',
    aliases: ['ps'],
    summary: 'list background commands of the agent',
    category: 'info',
    busy: 'allowed',
    async run({ host }) {
      const { processes } = await host.call('process.list', {});
      return text(columns(processes.map(({ process_id, state, command }) => [process_id, state, command])) || 'None runs.', { processes });
    },
  },
  {
    name: 'version',
    needs: 'converse',
    summary: 'show the version',
    category: 'info',
    busy: 'allowed',
    run: ({ host }) => text(`agent ${host.facts().version}`),
  },
  {
    name: 'whoami',
    needs: 'converse',
    summary: 'show who you are here',
    category: 'info',
    busy: 'allowed',
    run({ host }) {
      const where = host.session.platform ? `on ${host.session.platform}` : `in the ${host.surface} surface`;
      return text(`${host.user ?? 'The owner of this machine'} ${where}, profile ${host.facts().profile}, session ${host.session.id}`);
    },
  },
  {
    name: 'profile',
    needs: 'converse',
    summary: 'show the profile',
    category: 'info',
    busy: 'allowed',
    run: ({ host }) =>
      text(host.surface === 'gateway' ? `Profile ${host.facts().profile}` : `Profile ${host.facts().profile} in ${host.facts().home}`),
  },
  {
    name: 'login',
    needs: 'converse',
    summary: 'sign in to an account',
    category: 'info',
    busy: 'allowed',
    run() {
      throw new AgentError('PORTAL_UNAVAILABLE', 'an account cannot be signed in to from a conversation', {
        fix: 'sign in to a model provider with `agent auth login <provider>`, or put its key into .env: /help model',
      });
    },
  },
  {
    name: 'copy',
    needs: 'converse',
    takes: '[N]',
    summary: 'copy the last answer, or the N-th from the end',
    category: 'info',
    surfaces: screens,
    busy: 'allowed',
    local: true,
  },
  {
    name: 'paste',
    needs: 'converse',
    summary: 'say how to paste text and images here',
    category: 'info',
    surfaces: terminals,
    busy: 'allowed',
    local: true,
  },
  {
    name: 'image',
    needs: 'converse',
    takes: '<path>',
    summary: 'send an image with the next prompt',
    category: 'info',
    surfaces: screens,
    busy: 'allowed',
    local: true,
    completes: 'path',
  },
  {
    name: 'update',
    needs: 'converse',
    summary: 'say how to get a newer release',
    category: 'info',
    busy: 'allowed',
    run: ({ host }) =>
      text(
        `This is ${host.facts().version}. Install the newer package as this one was installed, then \`agent up\`: the workers are replaced one by one and no turn is lost.`,
      ),
  },
  {
    name: 'quit',
    needs: 'converse',
    aliases: ['exit'],
    summary: 'leave; a running turn goes on',
    category: 'exit',
    surfaces: terminals,
    busy: 'allowed',
    local: true,
  },
];

const order = ['session', 'configuration', 'tools', 'info', 'messaging', 'skill', 'exit'] as const;

async function help({ host, args, available }: Invocation): Promise<CommandResult> {
  if (args) {
    const word = args.replace(/^\//, '').toLowerCase();
    const command = available.find(({ name, aliases }) => name === word || aliases?.includes(word));
    if (!command) throw new AgentError('UNKNOWN_COMMAND', `there is no command /${word} here`, { fix: '/help lists them' });
    const busy = { allowed: 'May be used while a turn runs.', queue: 'Waits behind a running turn.', rejected: 'Not while a turn runs.' }[
      command.busy
    ];
    const other = command.aliases?.length ? `Also ${command.aliases.map((name) => `/${name}`).join(', ')}. ` : '';
    return text(`/${command.name} ${command.takes ?? ''}`.trim() + `\n  ${command.summary}\n  ${other}${busy}`);
  }
  const groups = Map.groupBy(available, ({ category }) => category);
  const parts = order.flatMap((category) => {
    const rows = groups.get(category);
    return rows ? [`${category[0]!.toUpperCase()}${category.slice(1)}`, columns(rows.map(helpRow))] : [];
  });
  const ways =
    host.surface === 'cli' ? ['', 'A beginning will do (/res). !command runs a shell command here. /help <command> explains one.'] : [];
  return text([...parts, ...ways].join('\n'));
}

const TAKES_SHOWN = 26;
function helpRow({ name, takes = '', summary }: SlashCommand): string[] {
  return [`  /${name}${takes ? ` ${takes.length > TAKES_SHOWN ? '…' : takes}` : ''}`, summary];
}

function allCommands({ available }: Invocation): CommandResult {
  const rows = available.map(({ name, aliases = [], summary }) => [`/${name}`, aliases.map((alias) => `/${alias}`).join(' '), summary]);
  return text(columns(rows));
}

function status({ host }: Invocation): CommandResult {
  const facts = host.facts();
  const { title, id } = host.session;
  return text(
    [
      `Session ${id}${title ? ` “${title}”` : ''}: ${host.busy() ? 'working' : 'idle'}`,
      facts.model
        ? `Model ${facts.model} of ${facts.provider}${facts.scripted ? ' (scripted rehearsal)' : ''}, ${facts.tools} tools`
        : 'No model is usable.',
      `agent ${facts.version}, profile ${facts.profile}${host.surface === 'gateway' ? '' : `, in ${facts.cwd}`}`,
    ].join('\n'),
    facts,
  );
}
