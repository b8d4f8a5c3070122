/** Tools of MCP servers as tools of a session: named `mcp__<server>__<tool>`, checked by their server. */
import type { ForeignTools, ToolSpec } from '../ports.ts';
import type { Tool } from './registry.ts';

export const foreignToolset = (server: string): string => `mcp-${server}`;

export function foreignTool(spec: ToolSpec & { server: string }, foreign: ForeignTools): Tool {
  const { name, description, parameters, server } = spec;
  return {
    name,
    description,
    parameters,
    toolset: foreignToolset(server),
    run: (args, { signal }) => foreign.call(name, args, signal),
  };
}

export const isForeignName = (name: string): boolean => name.startsWith('mcp__');
