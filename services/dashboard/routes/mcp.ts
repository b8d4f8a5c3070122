/** MCP servers: config.yaml through the functions that the command uses, states asked of the broker. */
import { isAgentError } from '../../../base/errors.ts';
import { isTransport } from '../../../ipc/client.ts';
import * as http from '../../../ipc/contracts/http/mcp.ts';
import { listServers, reload, testServer, type ServerState } from '../../../ipc/contracts/mcp.ts';
import * as servers from '../../../state/config/mcpServers.ts';
import type { McpServerConfig } from '../../../state/config/schema.ts';
import type { ProfilePaths } from '../../../state/home.ts';
import { mcpCatalog, type CatalogEntry } from '../../../state/mcpCatalog.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function mcpRoutes({ context, actions }: Dashboard): HttpHandler[] {
  const broker = context.peer('mcp');

  /** Undefined: the broker does not answer. It is not started for a profile without servers. */
  const states = async (profile: ProfilePaths, count: number, signal: AbortSignal): Promise<ServerState[] | undefined> => {
    if (count === 0) return [];
    try {
      return (await broker.call(listServers, { profile: profile.name, tools: true }, { signal })).servers;
    } catch (thrown) {
      if (isTransport(thrown) || (isAgentError(thrown) && thrown.retry)) return undefined;
      throw thrown;
    }
  };
  const shown = async (profile: ProfilePaths, signal: AbortSignal) => {
    const entries = Object.entries(servers.readMcpServers(profile));
    const live = await states(profile, entries.length, signal);
    return { servers: entries.map(([name, entry]) => serverView(name, entry, live)), live: live !== undefined };
  };
  /** The file is changed and valid; a broker that is away reads it when it comes. */
  const reloaded = async (profile: ProfilePaths) => {
    if (Object.keys(servers.readMcpServers(profile)).length === 0 && !broker.isOpen) return;
    await broker
      .call(reload, {})
      .catch((thrown: unknown) => context.log.warn('the MCP broker could not be told of the change', { thrown }));
  };
  const changed = async (profile: ProfilePaths, name: string, signal: AbortSignal): Promise<http.McpServer> => {
    await reloaded(profile);
    const { servers: all } = await shown(profile, signal);
    return all.find((server) => server.name === name)!;
  };

  return [
    on(http.listMcpServers, ({ profile, signal }) => shown(profile, signal)),
    on(http.addMcpServerRoute, async ({ body: { bearer_token, ...body }, profile, signal }) => {
      const { variables } = await servers.addMcpServer(profile, { ...body, bearerToken: bearer_token });
      context.log.info(`MCP server ${body.name} added`, { profile: profile.name, variables });
      return { server: await changed(profile, body.name, signal), variables };
    }),
    on(http.removeMcpServerRoute, async ({ params: { name }, profile }) => {
      const { variables } = await servers.removeMcpServer(profile, name);
      await reloaded(profile);
      context.log.info(`MCP server ${name} removed`, { profile: profile.name, variables });
      return { removed: name, variables };
    }),
    on(http.testMcpServer, async ({ params: { name }, profile, signal }) => {
      servers.requireServer(profile, name);
      return broker.call(testServer, { name, profile: profile.name }, { signal });
    }),
    on(http.enableMcpServer, async ({ params: { name }, body: { enabled }, profile, signal }) => {
      await servers.setMcpServerEnabled(profile, name, enabled);
      return { server: await changed(profile, name, signal) };
    }),
    on(http.mcpCatalogRoute, ({ profile }) => {
      const installed = Object.keys(servers.readMcpServers(profile));
      return { entries: mcpCatalog.map((entry) => entryView(profile, entry, installed)), diagnostics: [] };
    }),
    on(http.installMcpServer, async ({ body: { name, env, enable }, profile }) => {
      const entry = servers.catalogEntry(name);
      const { secrets, others } = servers.checkCatalogValues(profile, entry, env);
      await servers.keepCatalogSecrets(profile, secrets);
      const action = `mcp-install-${profile.name}-${name}`;
      const values = Object.entries(others).flatMap(([field, value]) => ['--set', `${field}=${value}`]);
      const argv = ['mcp', 'install', name, ...values, ...(enable ? [] : ['--disabled'])];
      const { pid } = await actions.start(action, argv, profile, { timeoutMs: http.installTimeoutMs });
      return { ok: true as const, name, background: true as const, action, pid };
    }),
  ];
}

function serverView(name: string, entry: McpServerConfig, live: readonly ServerState[] | undefined): http.McpServer {
  const state = live?.find((one) => one.name === name);
  const guessed = entry.transport ?? (entry.url === undefined ? 'stdio' : 'http');
  return {
    name,
    transport: state && state.transport !== 'unknown' ? state.transport : guessed,
    ...servers.shownServer(entry),
    tools: state?.tool_list ?? null,
    tool_count: state?.tools ?? 0,
    state: state?.state ?? (entry.enabled === false ? 'disabled' : live ? 'idle' : 'unknown'),
    needs_sign_in: state?.needs_sign_in ?? false,
    pid: state?.pid ?? null,
    error: state?.error ?? null,
    fix: state?.fix ?? null,
  };
}

function entryView(profile: ProfilePaths, entry: CatalogEntry, installed: readonly string[]): http.McpCatalogEntry {
  const known = servers.knownSecrets(profile, entry);
  const { name, title, description, category, homepage, url, signIn } = entry;
  return {
    name,
    title,
    description,
    category,
    homepage,
    transport: url === undefined ? 'stdio' : 'http',
    source: url ?? `npx ${servers.packageSpec(entry)}`,
    fields: entry.fields.map((field) => ({
      name: field.name,
      label: field.label,
      help: field.help ?? null,
      secret: field.secret,
      default: field.default ?? null,
      optional: field.optional ?? false,
      set: known.includes(field.name),
    })),
    needs_sign_in: signIn ?? false,
    installed: installed.includes(name),
  };
}
