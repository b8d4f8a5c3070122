/**
 * Who may use which toolset, as one pure function of surface, configuration and model. Nothing else
 * decides this. Order: what the surface gets, what was chosen for the session, and
 * `agent.disabled_toolsets` last. Dangerous calls of what is left are asked about one by one (agent/approvals).
 */
import { isForeignToolset } from './foreign.ts';
import type { Tool } from './registry.ts';

export interface PolicyInput {
  /** Where the turn comes from (`cli`, `tui`, `desktop`, `gateway`, `scheduled_task`, …). */
  surface: string;
  /** Chat platform, on the gateway surface. */
  platform?: string | undefined;
  /** The rehearsal model: its commands are the user's own words. */
  scripted: boolean;
  /** `agent.disabled_toolsets`. */
  disabled?: readonly string[] | undefined;
  /** `platform_toolsets`. */
  platformToolsets?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** `sessions.toolset_choices`: what was switched on or off for this session; `*` stands for all others. */
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

/** Toolsets that reach the host itself. */
const HOST_TOOLSETS: ReadonlySet<string> = new Set(['terminal', 'file', 'code_execution']);
/** Surfaces where somebody other than the owner, or nobody, is at the keyboard. */
const UNATTENDED: ReadonlySet<string> = new Set(['gateway', 'scheduled_task']);

export function decideTools(tools: readonly Tool[], input: PolicyInput): Verdict {
  const allowed: Tool[] = [];
  const refused = new Map<string, string>();
  for (const tool of tools) {
    const why = refusalOf(tool.toolset, input);
    if (why) refused.set(tool.name, why);
    else allowed.push(tool);
  }
  return { allowed, refused };
}

function refusalOf(toolset: string, input: PolicyInput): string | undefined {
  return surfaceRefusal(toolset, input) ?? sessionRefusal(toolset, input) ?? disabledRefusal(toolset, input);
}

function surfaceRefusal(toolset: string, input: PolicyInput): string | undefined {
  if (input.surface === 'scheduled_task' && toolset === 'cronjob')
    return 'a scheduled job cannot schedule further jobs; make the job from a chat or with `agent cron create`';
  const name = platformName(input);
  const listed = listedToolsets(name, input);
  if (listed === 'default') {
    if (!UNATTENDED.has(input.surface) || isOnUnattended(toolset, input)) return undefined;
    return `the ${toolset} toolset is off on ${name}; the owner allows it by listing it under platform_toolsets.${name} in config.yaml`;
  }
  if (listed.some((entry) => covers(entry, toolset, input))) return undefined;
  // At the keyboard the owner chooses; in a chat anybody could.
  if (!UNATTENDED.has(input.surface) && choiceOf(toolset, input) === true) return undefined;
  return `platform_toolsets.${name} in config.yaml does not list ${toolset}`;
}

function isOnUnattended(toolset: string, { hasOrigin = false }: PolicyInput): boolean {
  return toolset === 'messaging' ? hasOrigin : !HOST_TOOLSETS.has(toolset);
}

/** Where nobody reads along and messaging was not listed, only the chat itself may be written to. */
export function messagesOriginOnly(input: Pick<PolicyInput, 'surface' | 'platform' | 'platformToolsets'>): boolean {
  if (!UNATTENDED.has(input.surface)) return false;
  const listed = listedToolsets(platformName(input), input);
  return listed === 'default' || !listed.some((entry) => entry === 'messaging' || entry === 'agent-cli');
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

/** `agent-cli` is everything, `agent-<platform>` everything that does not reach the host, `mcp` every MCP server. */
function covers(entry: string, toolset: string, input: PolicyInput): boolean {
  if (entry === toolset || entry === 'agent-cli') return true;
  if (entry === 'mcp') return isForeignToolset(toolset);
  return entry.startsWith('agent-') && isOnUnattended(toolset, input);
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
