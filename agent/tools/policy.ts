/**
 * Who may use which toolset, as one pure function of surface, configuration and model. Nothing else
 * decides this. Order: what the surface gets, what was chosen for the session, and
 * `agent.disabled_toolsets` last. Dangerous calls of what is left are asked about one by one (agent/approvals).
 */
import { actOfTool, extentOf } from '../authority/may.ts';
import { principalOf, type Principal } from '../authority/principal.ts';
import { isForeignToolset, serverOf } from './foreign.ts';
import type { Tool } from './registry.ts';

export interface PolicyInput {
  /** Where the turn comes from (`cli`, `tui`, `desktop`, `gateway`, `scheduled_task`, …). */
  surface: string;
  /** Chat platform, on the gateway surface. */
  platform?: string | undefined;
  /** Whom the turn acts for; by default whom its surface says. */
  principal?: Principal | undefined;
  /** `agent.disabled_toolsets`. */
  disabled?: readonly string[] | undefined;
  /** `platform_toolsets`. */
  platformToolsets?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** `platforms.<p>.mcp_servers`, by platform. */
  platformServers?: Readonly<Record<string, readonly string[] | undefined>> | undefined;
  /** `sessions.toolset_choices`: what was switched on or off for this session; `*` is all others. */
  choices?: Readonly<Record<string, boolean>> | undefined;
  /** The session runs without tools of MCP servers. */
  safeMode?: boolean | undefined;
  /** The session belongs to a chat, which may always be written to. */
  hasOrigin?: boolean | undefined;
}

export interface Verdict {
  allowed: Tool[];
  /** Name → why not, and what would allow it. */
  refused: Map<string, string>;
}

type Named = Pick<Tool, 'name' | 'toolset'>;

/** Surfaces where the owner is not at the keyboard. */
const UNATTENDED: ReadonlySet<string> = new Set(['gateway', 'scheduled_task']);

export function decideTools(tools: readonly Tool[], input: PolicyInput): Verdict {
  const allowed: Tool[] = [];
  const refused = new Map<string, string>();
  for (const tool of tools) {
    const why = surfaceRefusal(tool, input) ?? sessionRefusal(tool.toolset, input) ?? disabledRefusal(tool.toolset, input);
    if (why) refused.set(tool.name, why);
    else allowed.push(tool);
  }
  return { allowed, refused };
}

/** A name under `platform_toolsets`, and whose rights count there. */
interface Place {
  name: string;
  principal: Principal;
}

/** A job that a chat made needs the rights of both: of jobs, and of that chat. */
function placesOf(input: PolicyInput): Place[] {
  const { surface, platform, principal = principalOf({ surface, platform, scope: '' }) } = input;
  const name = platformName(input);
  if (surface !== 'scheduled_task' || !('platform' in principal)) return [{ name, principal }];
  return [
    { name, principal: { kind: 'schedule' } },
    { name: principal.platform, principal },
  ];
}

function surfaceRefusal(tool: Named, input: PolicyInput): string | undefined {
  if (input.surface === 'scheduled_task' && tool.toolset === 'cronjob')
    return 'a scheduled job cannot schedule further jobs; make the job from a chat or with `agent cron create`';
  for (const place of placesOf(input)) {
    const why = placeRefusal(tool, place, input);
    if (why) return why;
  }
  return undefined;
}

function placeRefusal(tool: Named, place: Place, input: PolicyInput): string | undefined {
  const { toolset } = tool;
  const { name } = place;
  const listed = listedToolsets(name, input);
  const isServer = isForeignToolset(toolset) && (input.platformServers?.[name]?.includes(serverOf(toolset)) ?? false);
  if (listed === 'default') {
    if (isServer || isOnByDefault(tool, place, input)) return undefined;
    if (isForeignToolset(toolset))
      return `MCP servers are off on ${name}; the owner allows this one by adding ${serverOf(toolset)} to platforms.${name}.mcp_servers in config.yaml`;
    return `the ${toolset} toolset is off on ${name}; the owner allows it by listing it under platform_toolsets.${name} in config.yaml`;
  }
  if (isServer || listed.some((entry) => covers(entry, tool, place, input))) return undefined;
  // At the keyboard the owner chooses; in a chat anyone could.
  if (!UNATTENDED.has(input.surface) && choiceOf(toolset, input) === true) return undefined;
  return `platform_toolsets.${name} in config.yaml does not list ${toolset}`;
}

function isOnByDefault({ name, toolset }: Named, { principal }: Place, { surface, hasOrigin = false }: PolicyInput): boolean {
  if (toolset === 'messaging' && UNATTENDED.has(surface)) return hasOrigin;
  return extentOf(principal, actOfTool(name)) !== 'none';
}

/** Where the owner does not read along and messaging was not listed, only the chat itself may be written to. */
export function messagesOriginOnly(input: PolicyInput): boolean {
  return placesOf(input).some(({ name, principal }) => {
    const listed = listedToolsets(name, input);
    const isListed = listed !== 'default' && listed.some((entry) => entry === 'messaging' || entry === 'agent-cli');
    return extentOf(principal, 'send_messages', isListed) !== 'all';
  });
}

function sessionRefusal(toolset: string, input: PolicyInput): string | undefined {
  if (input.safeMode && isForeignToolset(toolset)) return 'this session runs in safe mode, without tools of MCP servers';
  return choiceOf(toolset, input) === false ? `the ${toolset} toolset is switched off for this session` : undefined;
}

function choiceOf(toolset: string, { choices }: PolicyInput): boolean | undefined {
  return choices?.[toolset] ?? (isForeignToolset(toolset) ? choices?.mcp : undefined) ?? choices?.['*'];
}

/** The name under `platform_toolsets`: the chat platform, `cron` for scheduled jobs, otherwise the surface. */
export function platformName({ surface, platform }: Pick<PolicyInput, 'surface' | 'platform'>): string {
  if (surface === 'gateway') return platform ?? 'gateway';
  return surface === 'scheduled_task' ? 'cron' : surface;
}

/** `default` when nothing is set or the entry is the platform's bare composite, which also takes in toolsets added later. */
function listedToolsets(name: string, { platformToolsets }: Pick<PolicyInput, 'platformToolsets'>): 'default' | readonly string[] {
  const entry = platformToolsets?.[name];
  if (entry === undefined) return 'default';
  const list = typeof entry === 'string' ? [entry] : entry;
  return list.length === 1 && list[0] === `agent-${name}` ? 'default' : list;
}

/** `agent-cli` is everything, `agent-<platform>` what is on there by default, `mcp` every MCP server. */
function covers(entry: string, tool: Named, place: Place, input: PolicyInput): boolean {
  const isNamed = entry === tool.toolset || entry === 'agent-cli' || (entry === 'mcp' && isForeignToolset(tool.toolset));
  if (isNamed) return extentOf(place.principal, actOfTool(tool.name), true) !== 'none';
  return entry.startsWith('agent-') && isOnByDefault(tool, place, input);
}

function disabledRefusal(toolset: string, { disabled = [] }: PolicyInput): string | undefined {
  const named = disabled.find((entry) => entry === toolset || (entry === 'mcp' && isForeignToolset(toolset)));
  return named ? `agent.disabled_toolsets in config.yaml names ${named}` : undefined;
}

/**
 * The order the model sees: the order pinned for the session first, so that the prompt's beginning stays
 * the same from turn to turn; tools that came later follow by name.
 */
export function pinnedOrder(tools: readonly Tool[], pinned: readonly string[]): Tool[] {
  const rank = new Map(pinned.map((name, index) => [name, index]));
  const last = pinned.length;
  return tools.toSorted((a, b) => (rank.get(a.name) ?? last) - (rank.get(b.name) ?? last) || (a.name < b.name ? -1 : 1));
}
