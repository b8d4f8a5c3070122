/**
 * Who may use which toolset, as one pure function of surface, configuration and model. Nothing else
 * decides this. Order: what the surface gets, then `agent.disabled_toolsets`. Dangerous calls of what is left are
 * asked about one by one (agent/approvals).
 */
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
}

export interface Verdict {
  allowed: Tool[];
  /** Name → why not, and what would allow it. */
  refused: Map<string, string>;
}

/** Toolsets that reach the host itself. */
const HOST_TOOLSETS: ReadonlySet<string> = new Set(['terminal', 'file']);
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
  return surfaceRefusal(toolset, input) ?? disabledRefusal(toolset, input);
}

function surfaceRefusal(toolset: string, input: PolicyInput): string | undefined {
  if (input.surface === 'scheduled_task' && toolset === 'cronjob')
    return 'a scheduled job cannot schedule further jobs; make the job from a chat or with `agent cron create`';
  const name = platformName(input);
  const listed = listedToolsets(name, input);
  if (listed === 'default') {
    if (!UNATTENDED.has(input.surface) || !HOST_TOOLSETS.has(toolset)) return undefined;
    return `the ${toolset} toolset is off on ${name}; the owner allows it by listing it under platform_toolsets.${name} in config.yaml`;
  }
  return listed.some((entry) => covers(entry, toolset)) ? undefined : `platform_toolsets.${name} in config.yaml does not list ${toolset}`;
}

/** The name under `platform_toolsets`: the chat platform, `cron` for scheduled jobs, otherwise the surface. */
function platformName({ surface, platform }: PolicyInput): string {
  if (surface === 'gateway') return platform ?? 'gateway';
  return surface === 'scheduled_task' ? 'cron' : surface;
}

/** `default` when nothing is set or the entry is the platform's bare composite, which also takes in toolsets added later. */
function listedToolsets(name: string, { platformToolsets }: PolicyInput): 'default' | readonly string[] {
  const entry = platformToolsets?.[name];
  if (entry === undefined) return 'default';
  const list = typeof entry === 'string' ? [entry] : entry;
  return list.length === 1 && list[0] === `agent-${name}` ? 'default' : list;
}

/** `agent-cli` is everything, `agent-<platform>` everything that does not reach the host, `mcp` every MCP server. */
function covers(entry: string, toolset: string): boolean {
  if (entry === toolset || entry === 'agent-cli') return true;
  if (entry === 'mcp') return toolset.startsWith('mcp-');
  return entry.startsWith('agent-') && !HOST_TOOLSETS.has(toolset);
}

function disabledRefusal(toolset: string, { disabled = [] }: PolicyInput): string | undefined {
  const named = disabled.find((entry) => entry === toolset || (entry === 'mcp' && toolset.startsWith('mcp-')));
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
