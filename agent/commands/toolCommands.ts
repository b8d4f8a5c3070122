/** Commands about tools, skills, memory, jobs and plans. */
import { ownSurfaces, prompted, split, text, usage, type CommandResult, type Invocation, type SlashCommand } from './command.ts';
import { runBlueprint } from './blueprint.ts';
import { planPrompt } from './plan.ts';
import { may } from '../authority/may.ts';
import { contextLines, jobLines, toolsetLines } from './views.ts';

export const toolCommands: readonly SlashCommand[] = [
  {
    name: 'tools',
    needs: 'converse',
    takes: '[toolset]',
    summary: 'list the tools of this conversation',
    category: 'tools',
    busy: 'allowed',
    async run({ host, args }) {
      const { toolsets } = await host.call('tools.list', {});
      const shown = args ? toolsets.filter(({ name }) => name === args) : toolsets.filter(({ enabled }) => enabled);
      return text(toolsetLines(shown, { withTools: true }), { toolsets: shown });
    },
  },
  {
    name: 'toolsets',
    needs: 'converse',
    summary: 'list toolsets, also those that are off, and why',
    category: 'tools',
    busy: 'allowed',
    async run({ host }) {
      const { toolsets } = await host.call('tools.list', {});
      return text(toolsetLines(toolsets, { withTools: false }), { toolsets });
    },
  },
  {
    name: 'skills',
    needs: (args) => (/^(?:enable|disable)\b/.test(args) ? 'administer' : 'read_skills'),
    takes: '[name | enable <name> | disable <name>]',
    summary: 'list skills, read one, switch one on or off',
    category: 'tools',
    busy: 'allowed',
    completes: 'skill',
    run: skills,
  },
  {
    name: 'memory',
    needs: 'administer',
    takes: '[pending | approve <id|all> | reject <id|all>]',
    summary: 'show what is remembered, and decide on staged writes',
    category: 'tools',
    surfaces: ownSurfaces,
    busy: 'allowed',
    completes: ['pending', 'approve', 'reject'],
    run: memory,
  },
  {
    name: 'plan',
    needs: 'converse',
    takes: '[task]',
    summary: 'write a plan into .agent/plans/ and carry nothing out',
    category: 'tools',
    busy: 'queue',
    run: ({ host, args }) => prompted(host, planPrompt(args), 'Planning; nothing is carried out.'),
  },
  {
    name: 'context',
    needs: 'converse',
    aliases: ['ctx'],
    summary: 'show what fills the model’s window, and which context files are in it',
    category: 'tools',
    busy: 'allowed',
    async run({ host }) {
      const breakdown = await host.call('session.context_breakdown', {});
      // A stranger needs no paths of this machine.
      const shown = may(host.principal, 'see_usage') ? breakdown : { ...breakdown, context_files: [] };
      return text(contextLines(shown), shown);
    },
  },
  {
    name: 'cron',
    needs: 'keep_jobs',
    takes: '[list | run <id> | pause <id> | resume <id> | rm <id>]',
    summary: 'show and steer scheduled jobs',
    category: 'tools',
    busy: 'allowed',
    completes: 'job',
    run: cron,
  },
  {
    name: 'blueprint',
    needs: 'keep_jobs',
    aliases: ['bp'],
    takes: '[name [slot=value …]]',
    summary: 'make a scheduled job from a blueprint; bare lists them, a name asks for what it needs',
    category: 'tools',
    busy: 'allowed',
    completes: 'blueprint',
    run: runBlueprint,
  },
  {
    name: 'reload-mcp',
    needs: 'administer',
    aliases: ['reload_mcp'],
    takes: '[now]',
    summary: 'read MCP servers afresh and probe their tools; the model’s cache starts anew',
    category: 'tools',
    surfaces: ownSurfaces,
    busy: 'rejected',
    completes: ['now'],
    run: reloadMcp,
  },
  {
    name: 'reload-skills',
    needs: 'read_skills',
    aliases: ['reload_skills'],
    summary: 'look for skills again',
    category: 'tools',
    busy: 'allowed',
    async run({ host }) {
      const { skills: found, problems } = await host.call('skills.list', {});
      const wrong = problems.map(({ path, message }) => `${path}: ${message}`);
      return text([`${found.length} skill${found.length === 1 ? '' : 's'}.`, ...wrong].join('\n'));
    },
  },
  {
    name: 'reload',
    needs: 'administer',
    summary: 'read .env again',
    category: 'tools',
    surfaces: ownSurfaces,
    busy: 'allowed',
    run({ host }) {
      const names = host.reloadEnv();
      return text(`.env has ${names} name${names === 1 ? '' : 's'}; the next turn uses them.`);
    },
  },
];

async function skills({ host, args, name }: Invocation): Promise<CommandResult> {
  const [verb, rest] = split(args);
  if (verb === 'enable' || verb === 'disable') {
    if (!rest) throw usage({ name, takes: `${verb} <name>` }, 'which skill?');
    const { enabled } = await host.call('skills.toggle', { name: rest, enabled: verb === 'enable' });
    return text(`${rest} is ${enabled ? 'on' : 'off'}.`);
  }
  if (verb && verb !== 'list') return text((await host.call('skills.view', { name: verb })).content);
  const { skills: all } = await host.call('skills.list', {});
  if (all.length === 0) return text('There are no skills: a folder with SKILL.md below skills/ is one.');
  const rows = all.map((row) => {
    const off = row.hidden_because ?? (row.enabled ? null : 'disabled');
    return `  /${row.name}  ${row.description}${off ? `  (not offered: ${off})` : ''}`;
  });
  return text(rows.join('\n'), { skills: all });
}

async function memory({ host, args, name }: Invocation): Promise<CommandResult> {
  const takes = '[pending | approve <id|all> | reject <id|all>]';
  const [verb, rest] = split(args);
  if (verb === 'approve' || verb === 'reject') {
    if (!rest) throw usage({ name, takes }, `${verb} which?`);
    const { done, failed, staged } = await host.call('memory.review', {
      decision: verb,
      ...(rest === 'all' ? { all: true } : { ids: rest.split(/[\s,]+/) }),
    });
    const lines = [
      `${done.length} ${verb === 'approve' ? 'written' : 'rejected'}, ${staged.length} still wait.`,
      ...failed.map(({ id, message }) => `${id}: ${message}`),
    ];
    return text(lines.join('\n'));
  }
  if (verb && verb !== 'pending') throw usage({ name, takes }, `there is no "${verb}"`);
  const { stores, staged, write_approval } = await host.call('memory.show', {});
  const waiting = staged.map(({ id, target, action, diff }) => `${id}  ${target} ${action}\n${diff}`);
  if (verb === 'pending') return text(waiting.join('\n\n') || 'Nothing waits.');
  const kept = stores.map(
    ({ target, text: said, chars, cap }) => `${target} (${chars} of ${cap} characters)\n${said.trim() || '  (empty)'}`,
  );
  return text(
    [
      ...kept,
      ...(staged.length ? [`${staged.length} write(s) wait: /memory pending`] : []),
      ...(write_approval ? ['Writes are staged for approval.'] : []),
    ].join('\n\n'),
  );
}

async function cron({ host, args, name }: Invocation): Promise<CommandResult> {
  const takes = '[list | run <id> | pause <id> | resume <id> | rm <id>]';
  const [verb, id] = split(args);
  if (!verb || verb === 'list') {
    const { jobs } = await host.call('cron.list', {});
    return text(jobLines(jobs), { jobs });
  }
  if (!id) throw usage({ name, takes }, 'which job?');
  switch (verb) {
    case 'run':
      return text(`Runs now: ${(await host.call('cron.run', { job_id: id })).execution_id}`);
    case 'pause':
      return text(jobLines([(await host.call('cron.pause', { job_id: id })).job]));
    case 'resume':
      return text(jobLines([(await host.call('cron.resume', { job_id: id })).job]));
    case 'rm':
    case 'remove':
      return text(`Removed ${(await host.call('cron.remove', { job_id: id })).job.name}.`);
    default:
      throw usage({ name, takes }, `there is no "${verb}"`);
  }
}

async function reloadMcp({ host, args }: Invocation): Promise<CommandResult> {
  if (!/^(now|--yes|-y)$/i.test(args)) {
    return {
      kind: 'choice',
      text: 'Reloading changes the list of tools: the provider’s cache of this conversation starts anew, so the next turn costs more. Go on?',
      choices: [
        { label: 'Reload now', line: '/reload-mcp now' },
        { label: 'Leave it', line: '' },
      ],
    };
  }
  const { servers, tools, added, removed, failed } = await host.call('reload.mcp', {});
  const lines = [
    servers === 0
      ? 'No MCP server is configured.'
      : `${servers} MCP server${servers === 1 ? '' : 's'}, ${tools} tool${tools === 1 ? '' : 's'}.`,
    ...added.map((tool) => `+ ${tool}`),
    ...removed.map((tool) => `- ${tool}`),
    ...failed.map(({ name, error }) => `${name} does not answer: ${error}`),
  ];
  return text(lines.join('\n'), { servers, tools, added, removed, failed });
}
