/** From a line to what a command does: the registry, then skills by their name, then the user's own quick commands. */
import { AgentError } from '../../base/errors.ts';
import { may, requireMay } from '../authority/may.ts';
import { prompted, type CommandResult, type SlashCommand } from './command.ts';
import type { CommandHost } from './host.ts';
import { availableOn, commandWords, findCommand, nearestNames, registry } from './registry.ts';

/** A quick command may stand for another, not for ever. */
const ALIASES_MAX = 5;

export interface Dispatched extends CommandResult {
  name: string;
}

/** Errors: UNKNOWN_COMMAND with the nearest names, BUSY, USAGE, and those of what it runs. */
export async function dispatch(host: CommandHost, line: string, depth = 0): Promise<Dispatched> {
  const words = commandWords(line);
  // `/usr/bin/x` is something to talk about.
  if (!words) return { name: '', ...(await prompted(host, line, '')) };
  const available = availableOn(host.surface);
  const { word, args } = words;
  const exact = available.find(({ name, aliases }) => name === word || aliases?.includes(word));
  const named = exact ? undefined : await ownNamed(host, word, args);
  if (named?.kind === 'line') {
    if (depth >= ALIASES_MAX) throw new AgentError('USAGE', `/${word} stands for itself`, { fix: 'look at quick_commands in config.yaml' });
    return dispatch(host, named.line, depth + 1);
  }
  if (named) return { name: word, ...(await named.run()) };
  const command = exact ?? findCommand(word, available);
  if (!command) throw unknownCommand(host, word, available);
  return { name: command.name, ...(await perform(host, command, { args, available })) };
}

async function perform(
  host: CommandHost,
  command: SlashCommand,
  { args, available }: { args: string; available: readonly SlashCommand[] },
): Promise<CommandResult> {
  const { name, busy, run, needs } = command;
  requireMay(host.principal, typeof needs === 'string' ? needs : needs(args), `/${name} ${args}`.trim());
  if (busy === 'rejected' && host.busy())
    throw new AgentError('BUSY', `/${name} cannot be used while a turn runs`, { fix: 'wait for it, or /stop first' });
  if (!run) return { kind: 'local', text: '', args };
  const usable = available.filter(({ needs: act }) => typeof act !== 'string' || may(host.principal, act));
  return { args, ...(await run({ host, name, args, available: usable })) };
}

type OwnNamed = { kind: 'line'; line: string } | { kind: 'skill'; run(): Promise<CommandResult> };

/** `quick_commands` of config.yaml, and skills. Nothing of ours has that exact name. */
async function ownNamed(host: CommandHost, word: string, args: string): Promise<OwnNamed | undefined> {
  const quick = host.quickCommands()[word];
  if (quick?.type === 'alias' && quick.target) return { kind: 'line', line: `/${quick.target.replace(/^\//, '')} ${args}`.trim() };
  if (quick) {
    throw new AgentError(
      'USAGE',
      `/${word} is a quick command that runs a program, which is not offered: programs run through approvals alone`,
      {
        fix: `ask for it as a prompt, or type !${quick.command ?? '<command>'} in the terminal chat`,
      },
    );
  }
  // A beginning of a command needs no look at the skills.
  if (findCommand(word, availableOn(host.surface))) return undefined;
  const skill = (await skillsOf(host)).find(({ name }) => name.toLowerCase() === word);
  if (!skill) return undefined;
  const prompt = `Use the skill "${skill.name}": read it with skill_view first, then follow it.${args ? `\n\n${args}` : ''}`;
  return { kind: 'skill', run: () => prompted(host, prompt, `Using the skill ${skill.name}.`) };
}

/** Those offered here; none while skills cannot be listed. */
export async function skillsOf(host: CommandHost): Promise<{ name: string; description: string }[]> {
  try {
    const { skills } = await host.call('skills.list', {});
    return skills.filter(({ enabled, hidden_because }) => enabled && hidden_because === null);
  } catch {
    return [];
  }
}

function unknownCommand(host: CommandHost, word: string, available: readonly SlashCommand[]): AgentError {
  const elsewhere = findCommand(word, registry);
  if (elsewhere && (elsewhere.name === word || elsewhere.aliases?.includes(word)))
    return new AgentError(
      'UNKNOWN_COMMAND',
      `/${word} is not for ${host.surface === 'gateway' ? 'a chat' : `the ${host.surface} surface`}`,
      {
        fix: `it works in ${(elsewhere.surfaces ?? []).join(', ')}; /help lists what works here`,
      },
    );
  const names = available.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  const near = nearestNames(word, names).map((name) => `/${name}`);
  return new AgentError('UNKNOWN_COMMAND', `there is no command /${word}`, {
    fix: `${near.length ? `did you mean ${near.join(', ')}? ` : ''}/help lists them`,
    facts: { nearest: near },
  });
}
