/** Tools of MCP servers as tools of a session: named `mcp__<server>__<tool>`, their arguments checked before they travel. */
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Danger, ForeignTools, ForeignToolSpec, ToolResult } from '../ports.ts';
import type { ArgumentCheck } from './argumentCheck.ts';
import type { Tool } from './registry.ts';

const PREFIX = 'mcp-';

export const foreignToolset = (server: string): string => `${PREFIX}${server}`;
export const isForeignToolset = (toolset: string): boolean => toolset.startsWith(PREFIX);
export const serverOf = (toolset: string): string => toolset.slice(PREFIX.length);

export function foreignTool(spec: ForeignToolSpec, foreign: ForeignTools, check?: ArgumentCheck): Tool {
  const { name, description, parameters, server, instructions } = spec;
  return {
    name,
    description,
    parameters,
    toolset: foreignToolset(server),
    ...(instructions ? { instructions } : {}),
    danger: (args) => dangerOf(spec, args),
    async run(args, { signal }): Promise<ToolResult> {
      const wrong = await check?.(name, parameters, args, signal);
      return wrong === undefined ? foreign.call(name, args, signal) : { text: wrong, isError: true };
    },
  };
}

/** A rule allows exactly this call, of the tool as it is described now. */
function dangerOf(spec: ForeignToolSpec, args: Record<string, unknown>): Danger | undefined {
  const { name, server, hints, trust } = spec;
  const reason =
    trust === 'untrusted' && !hints.readOnly
      ? `the MCP server ${server} is marked as untrusted, and this tool does not say that it only reads`
      : trust !== 'full' && hints.destructive
        ? `the MCP server ${server} marks this tool as destructive`
        : undefined;
  if (reason === undefined) return undefined;
  const command = `${name} ${JSON.stringify(args)}`;
  const rule = `${command} (as described now, ${definitionOf(spec)})`;
  return { command, reasons: [reason], ...(rule.length > limits.approvals.ruleMaxChars ? {} : { rule, lasting: true }) };
}

/** Changes with everything that a server says about a tool. */
export const definitionOf = ({ description, parameters, hints }: ForeignToolSpec): string =>
  digest(JSON.stringify([description, parameters, hints]), 12);

export const isForeignName = (name: string): boolean => name.startsWith('mcp__');
