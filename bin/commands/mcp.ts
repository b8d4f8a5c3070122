/** `agent mcp …`: servers are configuration (config.yaml); connections belong to the MCP worker. */
import { AgentError, isAgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import { callTool, listServers, reload, testServer, type ServerState } from '../../ipc/contracts/mcp.ts';
import {
  addMcpServer,
  readMcpServers,
  removeMcpServer,
  setMcpServerEnabled,
  SERVER_NAME,
  type NewServer,
} from '../../state/config/mcpServers.ts';
import type { McpServerConfig } from '../../state/config/schema.ts';
import { openHome, prepareHome, type ProfilePaths } from '../../state/home.ts';
import { mcpCatalog } from '../../state/mcpCatalog.ts';
import { jsonOption, listOption, textOption, type Argument, type Command, type Input } from '../command.ts';
import { withWorker } from '../connect.ts';
import { withProgress } from '../progress.ts';
import { installServer } from '../mcpInstall.ts';
import { unknownName } from '../suggest.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

const server: Argument = { name: 'name', summary: 'name of the server in config.yaml' };

export const command: Command = {
  name: 'mcp',
  summary: 'Connect tool servers (MCP)',
  details: 'Tools of a connected server are named mcp__<server>__<tool>.',
  examples: [
    { line: 'agent mcp add everything --command npx --args -y @modelcontextprotocol/server-everything', does: 'a local server' },
    { line: 'agent mcp test everything', does: 'does it answer, and with which tools?' },
  ],
  commands: [
    {
      name: 'add',
      summary: 'Add a server to config.yaml and connect it',
      details: 'What looks like a secret goes into .env; config.yaml holds ${NAME} in its place.',
      arguments: [server],
      options: [
        { flags: '--url <url>', summary: 'address of an HTTP server' },
        { flags: '--command <program>', summary: 'program of a local server' },
        { flags: '--env <name=value...>', summary: 'environment of the program' },
        { flags: '--header <name=value...>', summary: 'header of each request' },
        { flags: '--transport <kind>', summary: 'when it is not to be guessed', choices: ['stdio', 'http', 'sse'] },
        { flags: '--json', summary: jsonOption.summary },
        { flags: '--args <argument...>', summary: 'arguments of the program: everything that follows' },
      ],
      restOption: '--args',
      examples: [
        {
          line: 'agent mcp add files --command npx --args -y @modelcontextprotocol/server-filesystem /srv',
          does: 'a program with arguments',
        },
        {
          line: "agent mcp add notes --url https://example.org/mcp --header 'Authorization=Bearer ${NOTES_TOKEN}'",
          does: 'a server on the network',
        },
      ],
      run: add,
    },
    {
      name: 'list',
      summary: 'List servers and their state',
      options: [jsonOption],
      examples: [{ line: 'agent mcp list', does: 'from config.yaml, with the state while the service runs' }],
      run: list,
    },
    {
      name: 'test',
      summary: 'Connect a server afresh and list its tools',
      arguments: [server],
      options: [jsonOption],
      examples: [{ line: 'agent mcp test everything', does: 'exit code 1 when it does not answer' }],
      run: test,
    },
    {
      name: 'call',
      summary: 'Call a tool',
      arguments: [
        { ...server, name: 'server' },
        { name: 'tool', summary: 'name the server knows it by' },
        { name: 'json', summary: 'arguments as a JSON object', optional: true },
      ],
      options: [jsonOption],
      examples: [{ line: `agent mcp call everything echo '{"message":"hi"}'`, does: 'prints the text of the result' }],
      run: call,
    },
    {
      name: 'catalog',
      summary: 'List servers that can be installed by name',
      options: [jsonOption],
      examples: [{ line: 'agent mcp catalog', does: 'what each is for, and what it needs' }],
      run: catalog,
    },
    {
      name: 'install',
      summary: 'Install a server of the catalogue, connect it and list its tools',
      details: 'Secrets that it needs are read from .env.',
      arguments: [{ ...server, summary: 'name in the catalogue' }],
      options: [
        { flags: '--set <name=value...>', summary: 'a field of it that is no secret; may be repeated' },
        { flags: '--disabled', summary: 'write it into config.yaml and do not connect it' },
        jsonOption,
      ],
      examples: [
        { line: 'agent mcp install filesystem --set folder=/srv', does: 'fetches the package and connects it' },
        { line: 'agent mcp install brave-search', does: 'with BRAVE_API_KEY of .env' },
      ],
      run: install,
    },
    {
      name: 'enable',
      summary: 'Switch a server on',
      arguments: [server],
      options: [jsonOption],
      examples: [{ line: 'agent mcp enable everything', does: 'and connect it' }],
      run: (input) => switched(input, true),
    },
    {
      name: 'disable',
      summary: 'Switch a server off; its settings stay',
      arguments: [server],
      options: [jsonOption],
      examples: [{ line: 'agent mcp disable everything', does: 'and disconnect it' }],
      run: (input) => switched(input, false),
    },
    {
      name: 'remove',
      summary: 'Remove a server',
      arguments: [server],
      options: [jsonOption],
      examples: [{ line: 'agent mcp remove everything', does: 'from config.yaml, and disconnect it' }],
      run: remove,
    },
  ],
};

const ask = <T>(use: Parameters<typeof withWorker<T>>[2]): Promise<T> => withWorker(openHome(), 'mcp', use);
const profileOf = (input: Input) => (input.profile === 'default' ? {} : { profile: input.profile });

async function add(input: Input): Promise<number> {
  const name = input.args[0]!;
  if (!SERVER_NAME.test(name)) throw new AgentError('USAGE', `"${name}" is not a server name`, { fix: 'use letters, digits, _ and -' });
  const given = serverOf(input);
  const profile = prepared(input);
  if (name in readMcpServers(profile))
    throw new AgentError('USAGE', `there already is a server "${name}"`, {
      fix: `change it with agent config set mcp_servers.${name}.…, or remove it first`,
    });
  const { settings, variables } = await addMcpServer(profile, { name, ...given });
  const live = await reloaded();
  if (input.json) printJson({ name, ...settings, variables, connected: live });
  else {
    const secrets = variables.length > 0 ? ` Its secrets are in .env as ${variables.join(', ')}.` : '';
    print(
      `Server ${name} is in ${profile.config}.${secrets} ${live ? `Try it: agent mcp test ${name}` : 'The service connects it when it starts.'}`,
    );
  }
  return exitCodes.ok;
}

function serverOf(input: Input): Omit<NewServer, 'name'> {
  const url = textOption(input, 'url');
  const program = textOption(input, 'command');
  if ((url === undefined) === (program === undefined)) {
    throw new AgentError('USAGE', 'a server needs either --url or --command', { fix: 'see agent mcp add --help' });
  }
  return {
    ...(url === undefined ? { command: program!, args: listOption(input, 'args') } : { url }),
    env: pairs(listOption(input, 'env'), '--env'),
    headers: pairs(listOption(input, 'header'), '--header'),
    transport: textOption(input, 'transport') as NewServer['transport'],
  };
}

function pairs(given: string[], option: string): Record<string, string> | undefined {
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new AgentError('USAGE', `${option} takes name=value, not "${pair}"`, { fix: `for example ${option} NAME=value` });
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

async function list(input: Input): Promise<number> {
  const servers = readMcpServers(openHome().profile(input.profile));
  const states = await serverStates(input);
  const rows = Object.entries(servers).map(([name, settings]) => states?.find((state) => state.name === name) ?? offline(name, settings));
  if (input.json) printJson({ servers: rows, live: states !== undefined });
  else if (rows.length === 0) note('agent: no servers yet — agent mcp add --help shows how');
  else print(serverTable(rows, states !== undefined));
  return exitCodes.ok;
}

async function serverStates(input: Input): Promise<ServerState[] | undefined> {
  try {
    return (await ask((link) => link.call(listServers, profileOf(input)))).servers;
  } catch (thrown) {
    if (isAgentError(thrown) && thrown.code === 'NO_SUPERVISOR') return undefined;
    throw thrown;
  }
}

function offline(name: string, { url, transport, enabled }: McpServerConfig): ServerState {
  return {
    name,
    transport: transport ?? (url ? 'http' : 'stdio'),
    state: enabled === false ? 'disabled' : 'idle',
    tools: 0,
    pid: null,
    error: null,
    fix: null,
    needs_sign_in: false,
  };
}

function serverTable(rows: readonly ServerState[], live: boolean): string {
  const paint = painter(out);
  const state = (row: ServerState) => {
    const colour = row.state === 'connected' ? 'green' : row.state === 'failed' ? 'red' : 'yellow';
    return paint(colour, row.needs_sign_in ? 'needs sign-in' : row.state);
  };
  const lines = rows.map((row) => [
    row.name,
    row.transport,
    live ? state(row) : '-',
    live ? String(row.tools) : '-',
    row.pid === null ? '-' : String(row.pid),
    row.error ?? '',
  ]);
  return table([['NAME', 'TRANSPORT', 'STATE', 'TOOLS', 'PID', ''].map((title) => paint('dim', title)), ...lines]);
}

async function test(input: Input): Promise<number> {
  const name = input.args[0]!;
  requireServer(input, name);
  const answer = await withProgress(`connecting ${name}`, () => ask((link) => link.call(testServer, { name, ...profileOf(input) })));
  if (input.json) printJson(answer);
  else if (answer.ok) {
    print(`${name} answers after ${Math.round(answer.ms)} ms with ${answer.tools.length} tool${answer.tools.length === 1 ? '' : 's'}:`);
    print(table(answer.tools.map((tool) => [`  ${tool.name}`, tool.description.split('\n')[0]!])));
  }
  if (!answer.ok)
    throw new AgentError('MCP_FAILED', `${name} does not work: ${answer.error ?? 'unknown cause'}`, {
      fix: answer.fix ?? `check mcp_servers.${name} in config.yaml; agent logs mcp says more`,
    });
  return exitCodes.ok;
}

async function call(input: Input): Promise<number> {
  const [name, tool, text = '{}'] = input.args as [string, string, string | undefined];
  requireServer(input, name);
  const args = jsonObject(text);
  const answer = await withProgress(`${name} runs ${tool}`, () =>
    ask((link) => link.call(callTool, { server: name, tool, args, ...profileOf(input) })),
  );
  if (input.json) printJson(answer);
  else (answer.is_error ? note : print)(answer.text);
  return answer.is_error ? exitCodes.failed : exitCodes.ok;
}

function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (value && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // said below
  }
  throw new AgentError('USAGE', `the arguments of a tool are a JSON object, not ${text}`, { fix: `for example '{"message":"hi"}'` });
}

async function catalog(input: Input): Promise<number> {
  const installed = Object.keys(readMcpServers(openHome().profile(input.profile)));
  const entries = mcpCatalog.map((entry) => ({ ...entry, installed: installed.includes(entry.name) }));
  if (input.json) printJson({ entries });
  else {
    const needs = (entry: (typeof entries)[number]) =>
      entry.signIn
        ? 'a sign-in (not built yet)'
        : entry.fields.map((field) => (field.secret ? `${field.name} in .env` : `--set ${field.name}=…`)).join(', ');
    const rows = entries.map((entry) => [entry.name, entry.description, needs(entry) || '-', entry.installed ? 'installed' : '']);
    print(table([['NAME', 'WHAT', 'NEEDS', ''].map((title) => painter(out)('dim', title)), ...rows]));
  }
  return exitCodes.ok;
}

async function install(input: Input): Promise<number> {
  const profile = prepared(input);
  const say = input.json ? note : print;
  const values = pairs(listOption(input, 'set'), '--set') ?? {};
  const enabled = input.options.disabled !== true;
  const name = input.args[0]!;
  await installServer(profile, { name, values, enabled, say });
  const live = await reloaded();
  const answer = enabled && live ? await ask((link) => link.call(testServer, { name, ...profileOf(input) })) : undefined;
  if (answer && !answer.ok) {
    throw new AgentError('MCP_FAILED', `${name} is installed, but does not work: ${answer.error ?? 'unknown cause'}`, {
      fix: answer.fix ?? '`agent logs mcp` says more',
    });
  }
  if (input.json) printJson({ name, enabled, connected: answer?.ok ?? false, tools: answer?.tools ?? [] });
  else if (answer) print(`${name} works: ${answer.tools.length} tools, after ${(answer.ms / 1_000).toFixed(1)} s.`);
  else print(`${name} is installed. ${enabled ? 'The service connects it when it starts.' : `agent mcp enable ${name} switches it on.`}`);
  return exitCodes.ok;
}

async function switched(input: Input, enabled: boolean): Promise<number> {
  const name = input.args[0]!;
  requireServer(input, name);
  await setMcpServerEnabled(prepared(input), name, enabled);
  const live = await reloaded();
  if (input.json) printJson({ name, enabled, live });
  else print(`Server ${name} is switched ${enabled ? 'on' : 'off'}.`);
  return exitCodes.ok;
}

async function remove(input: Input): Promise<number> {
  const name = input.args[0]!;
  requireServer(input, name);
  const { variables } = await removeMcpServer(prepared(input), name);
  await reloaded();
  if (input.json) printJson({ removed: name, variables });
  else print(`Server ${name} is removed.${variables.length > 0 ? ` Gone from .env: ${variables.join(', ')}.` : ''}`);
  return exitCodes.ok;
}

function requireServer(input: Input, name: string): void {
  const names = Object.keys(readMcpServers(openHome().profile(input.profile)));
  if (!names.includes(name)) throw unknownName('server', name, names, 'UNKNOWN_SERVER');
}

/** Tells a running broker; false when none can be reached (it reads the file when it starts). */
async function reloaded(): Promise<boolean> {
  try {
    await ask((link) => link.call(reload, {}));
    return true;
  } catch (thrown) {
    if (isAgentError(thrown)) return false;
    throw thrown;
  }
}

function prepared(input: Input): ProfilePaths {
  const home = openHome();
  prepareHome(home);
  return home.profile(input.profile);
}
