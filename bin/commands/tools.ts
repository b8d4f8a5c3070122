/** `agent tools …`: which tools the agent has where, and switching toolsets off for all of it. */
import { AgentError, isAgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import { toolsList } from '../../ipc/contracts/rpcTools.ts';
import type { ResultOf } from '../../ipc/method.ts';
import { classOf, whenInForce } from '../../state/config/classes.ts';
import { DISABLED_TOOLSETS as KEY, switchToolset } from '../../state/config/toolsets.ts';
import { openHome, prepareHome } from '../../state/home.ts';
import { jsonOption, textOption, type Argument, type Command, type Input } from '../command.ts';
import { askAgent } from '../slots.ts';
import { unknownName } from '../suggest.ts';
import { note, out, print, printJson } from '../terminal.ts';

const toolset: Argument = { name: 'toolset', summary: 'terminal, file, web, …, mcp-<server>, or mcp for all servers' };

export const command: Command = {
  name: 'tools',
  summary: 'List the tools of the agent, switch toolsets on and off',
  details:
    'What a place may use is decided by platform_toolsets.<platform>; agent.disabled_toolsets is taken away last, everywhere. ' +
    'Running workers see a change at the next turn.',
  examples: [
    { line: 'agent tools list', does: 'what a terminal chat has' },
    { line: 'agent tools list --platform irc', does: 'what a chat has, and why not the rest' },
    { line: 'agent tools disable web', does: 'nowhere any more' },
  ],
  commands: [
    {
      name: 'list',
      summary: 'List toolsets and tools of a place',
      options: [{ flags: '--platform <name>', summary: 'cli (default), cron, or a chat platform' }, jsonOption],
      examples: [
        { line: 'agent tools list', does: 'of a terminal chat' },
        { line: 'agent tools list --platform cron --json', does: 'of scheduled jobs, as JSON' },
      ],
      run: list,
    },
    {
      name: 'enable',
      summary: 'Take a toolset out of agent.disabled_toolsets',
      arguments: [toolset],
      options: [jsonOption],
      examples: [{ line: 'agent tools enable web', does: 'where its platform allows it' }],
      run: (input) => change(input, true),
    },
    {
      name: 'disable',
      summary: 'Put a toolset into agent.disabled_toolsets',
      arguments: [toolset],
      options: [jsonOption],
      examples: [{ line: 'agent tools disable mcp-github', does: 'one MCP server' }],
      run: (input) => change(input, false),
    },
  ],
};

type Listed = ResultOf<typeof toolsList>;

const ask = (input: Input, platform?: string): Promise<Listed> =>
  askAgent(input, (link) => link.call(toolsList, platform === undefined ? {} : { platform }));

async function list(input: Input): Promise<number> {
  const listed = await ask(input, textOption(input, 'platform'));
  if (input.json) printJson(listed);
  else print(rendered(listed));
  return exitCodes.ok;
}

function rendered({ platform, toolsets }: Listed): string {
  const paint = painter(out);
  const width = Math.max(...toolsets.map(({ name }) => name.length)) + 2;
  const under = `     ${' '.repeat(width)}`;
  const lines = toolsets.flatMap(({ name, description, enabled, refused, tools }) => {
    const [missing, there] = [tools.filter(({ unavailable }) => unavailable), tools.filter(({ unavailable }) => !unavailable)];
    return [
      `${enabled ? paint('green', 'on ') : paint('dim', 'off')}  ${name.padEnd(width)}${paint('dim', description)}`,
      `${under}${there.map((tool) => tool.name).join(', ')}`,
      ...(refused ? [`${under}${paint('yellow', refused)}`] : []),
      ...missing.map((tool) => `${under}${paint('yellow', `${tool.name} is ${tool.description}`)}`),
    ];
  });
  return [`Toolsets on ${platform}:`, ...lines].join('\n');
}

async function change(input: Input, enabled: boolean): Promise<number> {
  const name = input.args[0]!;
  await refuseUnknown(input, name);
  const home = openHome();
  prepareHome(home);
  const file = home.profile(input.profile).config;
  const { before, after } = await switchToolset(file, name, enabled);
  const changed = after.join('\n') !== before.join('\n');
  if (input.json) printJson({ path: file, key: KEY, before, after });
  else {
    print(`${KEY}: ${JSON.stringify(after)}${changed ? '' : ' (as before)'}  ${painter(out)('dim', file)}`);
    if (changed) note(whenInForce(classOf(['agent', 'disabled_toolsets'])));
  }
  return exitCodes.ok;
}

/** Against what the running agent knows; without one any well-formed name is taken. Errors: NOT_FOUND, USAGE. */
async function refuseUnknown(input: Input, name: string): Promise<void> {
  if (!/^[a-z0-9][\w.-]{0,99}$/i.test(name))
    throw new AgentError('USAGE', `"${name}" is not the name of a toolset`, { fix: 'agent tools list' });
  if (name === 'mcp' || name.startsWith('mcp-')) return;
  try {
    const known = (await ask(input)).toolsets.map((row) => row.name);
    if (!known.includes(name)) throw unknownName('toolset', name, known, 'NOT_FOUND');
  } catch (thrown) {
    if (!isAgentError(thrown) || thrown.code === 'NOT_FOUND') throw thrown;
    note(`agent: the name was not checked: ${thrown.message}`);
  }
}
