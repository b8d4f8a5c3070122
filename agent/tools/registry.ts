/**
 * The tools of one session: what the model is told of, and the one door through which a call goes.
 * Names and arguments are checked here; a bad call comes back as a result the model can act on.
 */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorResult } from '../turn.ts';
import type { Danger, Owner, ToolCall, ToolResult, ToolRun, Tools, ToolSpec } from '../ports.ts';
import { cutMiddle } from './outputCap.ts';

export interface Tool extends ToolSpec {
  /** Group it is switched on and off with (`terminal`, `file`, `mcp-<server>`, …). */
  toolset: string;
  /** False: the deadline guard does not apply (`manage_connections`). */
  guarded?: boolean;
  /** Only reads: its calls may run beside others of the same answer. */
  parallel?: boolean;
  /** What must be asked about before it runs; undefined = nothing. */
  danger?(args: Record<string, unknown>): Danger | undefined;
  /** `args` is an object; its fields are unchecked. May throw AgentErrors: they become error results. */
  run(args: Record<string, unknown>, run: ToolRun): Promise<ToolResult>;
}

interface Definition<T> {
  name: string;
  toolset: string;
  description: string;
  args: z.ZodType<T>;
  parallel?: boolean;
  /** As of Tool, with checked arguments. */
  danger?(args: T): Danger | undefined;
  run(args: T, run: ToolRun): Promise<ToolResult>;
}

/** A tool of our own: arguments checked by its schema before it runs. */
export function defineTool<T>({ name, toolset, description, args: schema, parallel, danger, run }: Definition<T>): Tool {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' }) as Record<string, unknown>;
  return {
    name,
    toolset,
    description,
    parameters,
    ...(parallel === undefined ? {} : { parallel }),
    ...(danger && {
      danger(args) {
        const parsed = schema.safeParse(args);
        // Wrong arguments are refused by `run`, not asked about.
        return parsed.success ? danger(parsed.data) : undefined;
      },
    }),
    async run(args, context) {
      const parsed = schema.safeParse(args);
      return parsed.success ? run(parsed.data, context) : badArguments(name, parsed.error, parameters);
    },
  };
}

function badArguments(name: string, error: z.ZodError, parameters: Record<string, unknown>): ToolResult {
  const wrong = error.issues.map((issue) => `${issue.path.map(String).join('.') || 'arguments'}: ${issue.message}`).join('; ');
  return { text: `Wrong arguments for ${name}: ${wrong}. It takes ${JSON.stringify(parameters.properties ?? {})}.`, isError: true };
}

export interface SessionTools {
  /** In the order the model sees them. */
  allowed: readonly Tool[];
  /** Known tools that a policy withholds: name → the sentence that says why and how to allow it. */
  refused: ReadonlyMap<string, string>;
  /** Called for names that are neither; answers undefined when it does not know either. */
  fallback?: (call: ToolCall) => ToolResult | undefined;
  /** Decides on dangerous calls; without one they are refused. */
  owner?: Owner;
}

export function createTools({ allowed, refused, fallback, owner }: SessionTools): Tools {
  const byName = new Map(allowed.map((tool) => [tool.name, tool]));
  return {
    specs: allowed.map(({ name, description, parameters }) => ({ name, description, parameters })),
    guarded: (name) => byName.get(name)?.guarded ?? true,
    parallel: (name) => byName.get(name)?.parallel ?? false,
    async run(call, run) {
      const tool = byName.get(call.name);
      if (!tool) return fallback?.(call) ?? errorResult(missing(call.name, refused, [...byName.keys()]));
      if (typeof call.args !== 'object' || call.args === null || Array.isArray(call.args)) {
        return {
          text: `Wrong arguments for ${call.name}: not a JSON object: ${cutMiddle(String(JSON.stringify(call.args)), 200)}`,
          isError: true,
        };
      }
      const args = call.args as Record<string, unknown>;
      const refusal = await askedFor(tool, { call, args, owner, run });
      if (refusal) return refusal;
      const result = await tool.run(args, run);
      return { ...result, text: cutMiddle(result.text, limits.turn.toolOutputMaxChars) };
    },
  };
}

/** Undefined = it may run; otherwise what the model reads instead. */
async function askedFor(
  tool: Tool,
  { call, args, owner, run }: { call: ToolCall; args: Record<string, unknown>; owner: Owner | undefined; run: ToolRun },
): Promise<ToolResult | undefined> {
  const danger = tool.danger?.(args);
  if (!danger) return undefined;
  if (owner) return owner.permit(call, danger, run);
  return errorResult(new AgentError('TOOL_REFUSED', `${danger.reasons.join('; ')}; nobody can be asked here`));
}

function missing(name: string, refused: ReadonlyMap<string, string>, known: string[]): AgentError {
  const why = refused.get(name);
  if (why) return new AgentError('TOOL_REFUSED', why);
  return new AgentError('TOOL_UNKNOWN', `there is no tool "${name}" here`, {
    fix: known.length ? `use one of ${known.join(', ')}` : 'answer without tools',
  });
}
