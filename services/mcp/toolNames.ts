/** Names under which a model sees MCP tools: `mcp__<server>__<tool>`, sanitised, unique, stable. */
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';

export interface ToolOrigin {
  server: string;
  tool: string;
}

const clean = (text: string): string => text.replace(/[^A-Za-z0-9_]/g, '_');

/** The beginning of every tool name of a server. */
export const serverPrefix = (server: string): string => `mcp__${clean(server)}__`;

/**
 * One name per tool, whatever the order they come in: where several would get the same name, the one whose
 * own name needed no change keeps it and the others carry a hash of where they come from.
 */
export function nameTools<T extends ToolOrigin>(tools: readonly T[]): Map<string, T> {
  const groups = Map.groupBy(
    tools.toSorted((a, b) => compare(a.server, b.server) || compare(a.tool, b.tool)),
    plainName,
  );
  const named = new Map<string, T>();
  for (const [name, group] of groups) {
    const owner =
      group.length === 1 ? group[0] : group.find((tool) => clean(tool.tool) === tool.tool && clean(tool.server) === tool.server);
    for (const tool of group) {
      const short = name.length <= limits.mcp.toolNameMaxChars;
      named.set(tool === owner && short ? name : hashed(name, tool), tool);
    }
  }
  return named;
}

const plainName = ({ server, tool }: ToolOrigin): string => `${serverPrefix(server)}${clean(tool)}`;

function hashed(name: string, { server, tool }: ToolOrigin): string {
  const suffix = `_${digest(`${server}\0${tool}`, 8)}`;
  return `${name.slice(0, limits.mcp.toolNameMaxChars - suffix.length)}${suffix}`;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
