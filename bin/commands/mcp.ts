/** `agent mcp …`: servers are configuration (config.yaml); connections belong to the MCP worker. */
import { AgentError, isAgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import { callTool, listServers, reload, testServer, type ServerState } from '../../ipc/contracts/mcp.ts';
import { setConfigValue } from '../../state/config/edit.ts';
import { parseConfigText, readText } from '../../state/config/load.ts';
import type { McpServerConfig } from '../../state/config/schema.ts';
import { openHome, prepareHome } from '../../state/home.ts';
import { jsonOption, listOption, textOption, type Argument, type Command, type Input } from '../command.ts';
import { withWorker } from '../connect.ts';
import { withProgress } from '../progress.ts';
import { unknownName } from '../suggest.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

const server: Argument = { name: 'name', summary: 'name of the server in config.yaml' };
/** Tool names are `mcp__<server>__<tool>`: a name must survive that. */
const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

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
      details: 'Secrets in headers and environment are written as ${NAME} and stand in .env.',
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
  const file = prepared(input);
  if (name in configured(file))
    throw new AgentError('USAGE', `there already is a server "${name}"`, {
      fix: `change it with agent config set mcp_servers.${name}.…, or remove it first`,
    });
  const settings = settingsOf(input);
  await setConfigValue(file, `mcp_servers.${name}`, settings);
  const live = await reloaded();
  if (input.json) printJson({ name, ...settings, connected: live });
  else print(`Server ${name} is in ${file}. ${live ? `Try it: agent mcp test ${name}` : 'The service connects it when it starts.'}`);
  return exitCodes.ok;
}

function settingsOf(input: Input): McpServerConfig {
  const url = textOption(input, 'url');
  const program = textOption(input, 'command');
  if ((url === undefined) === (program === undefined)) {
    throw new AgentError('USAGE', 'a server needs either --url or --command', { fix: 'see agent mcp add --help' });
  }
  const transport = textOption(input, 'transport') as McpServerConfig['transport'];
  const env = pairs(listOption(input, 'env'), '--env');
  const headers = pairs(listOption(input, 'header'), '--header');
  const args = listOption(input, 'args');
  return {
    ...(url === undefined ? { command: program!, args } : { url }),
    ...(env ? { env } : {}),
    ...(headers ? { headers } : {}),
    ...(transport ? { transport } : {}),
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
  const servers = configured(openHome().profile(input.profile).config);
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
  const state = (row: ServerState) => paint(row.state === 'connected' ? 'green' : row.state === 'failed' ? 'red' : 'yellow', row.state);
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
      fix: `check mcp_servers.${name} in config.yaml; agent logs mcp says more`,
    });
  return exitCodes.ok;
}

async function call(input: Input): Promise<number> {
  const [name, tool, text = '{}'] = input.args as [string, string, string | undefined];
  requireServer(input, name);
  const args = jsonObject(text);
  const answer = await withProgress(`${name} runs ${tool}`, () =>
    ask((link) => link.call(callTool, { server: name, tool, args, ...profileOf(input) }, { timeoutMs: limits.mcp.callMs + 5_000 })),
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

async function remove(input: Input): Promise<number> {
  const name = input.args[0]!;
  requireServer(input, name);
  await setConfigValue(prepared(input), `mcp_servers.${name}`, undefined);
  await reloaded();
  if (input.json) printJson({ removed: name });
  else print(`Server ${name} is removed.`);
  return exitCodes.ok;
}

function requireServer(input: Input, name: string): void {
  const names = Object.keys(configured(openHome().profile(input.profile).config));
  if (!names.includes(name)) throw unknownName('server', name, names, 'UNKNOWN_SERVER');
}

const configured = (file: string): Record<string, McpServerConfig> => parseConfigText(readText(file), file).config.mcp_servers ?? {};

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

function prepared(input: Input): string {
  const home = openHome();
  prepareHome(home);
  return home.profile(input.profile).config;
}
