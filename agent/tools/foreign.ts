/** Tools of MCP servers as tools of a session: named `mcp__<server>__<tool>`, their arguments checked before they travel. */
import type { ForeignTools, ToolResult, ToolSpec } from '../ports.ts';
import type { ArgumentCheck } from './argumentCheck.ts';
import type { Tool } from './registry.ts';

const PREFIX = 'mcp-';

export const foreignToolset = (server: string): string => `${PREFIX}${server}`;
export const isForeignToolset = (toolset: string): boolean => toolset.startsWith(PREFIX);
export const isForeignTool = (name: string): boolean => name.startsWith('mcp__');
export const serverOf = (toolset: string): string => toolset.slice(PREFIX.length);

export function foreignTool(spec: ToolSpec & { server: string }, foreign: ForeignTools, check?: ArgumentCheck): Tool {
  const { name, description, parameters, server } = spec;
  return {
    name,
    description,
    parameters,
    toolset: foreignToolset(server),
    async run(args, { signal }): Promise<ToolResult> {
      const wrong = await check?.(name, parameters, args);
      return wrong === undefined ? foreign.call(name, args, signal) : { text: wrong, isError: true };
    },
  };
}

export const isForeignName = (name: string): boolean => name.startsWith('mcp__');
