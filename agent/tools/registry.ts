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
import { SpilledText, type SpillFolder } from './spill.ts';

export interface Tool extends ToolSpec {
  /** Group it is switched on and off with (`terminal`, `file`, `mcp-<server>`, …). */
  toolset: string;
  /** False: the deadline guard does not apply (`manage_connections`). */
  guarded?: boolean;
  /** Changes nothing: its calls may run beside others of the same answer, and a slip in the syntax of their arguments is mended. */
  readsOnly?: boolean;
  /** Of its MCP server, about all its tools: the same text in each. */
  instructions?: string;
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
  guarded?: boolean;
  readsOnly?: boolean;
  danger?(args: T): Danger | undefined;
  run(args: T, run: ToolRun): Promise<ToolResult>;
}

/** A tool of our own: arguments checked by its schema before it runs. */
export function defineTool<T>({ args: schema, run, danger, ...tool }: Definition<T>): Tool {
  const parameters = jsonSchemaOf(schema);
  const { name } = tool;
  return {
    ...tool,
    parameters,
    ...(danger && {
      danger(args: Record<string, unknown>) {
        const parsed = schema.safeParse(args);
        return parsed.success ? danger(parsed.data) : undefined;
      },
    }),
    async run(args, context) {
      const parsed = schema.safeParse(args);
      return parsed.success ? run(parsed.data, context) : badArguments(name, parsed.error, parameters);
    },
  };
}

/** Tools are made for each turn, their schemas once: 0.2 ms each (measured). */
const jsonSchemas = new WeakMap<z.ZodType, Record<string, unknown>>();

function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  let known = jsonSchemas.get(schema);
  if (!known) {
    const { $schema: _, ...parameters } = z.toJSONSchema(schema, {
      io: 'input',
      override({ jsonSchema }) {
        // The bound of every whole number says nothing and costs tokens in each prompt.
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        delete jsonSchema.maxLength;
        delete jsonSchema.minLength;
      },
    }) as Record<string, unknown>;
    jsonSchemas.set(schema, (known = parameters));
  }
  return known;
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
  /** Where the whole of a result goes that is too long for the model. */
  spill?: SpillFolder | undefined;
  /** Called with a call whose arguments were not JSON and could be mended. */
  onRepair?: ((call: ToolCall) => void) | undefined;
  /** Told of each call before it is decided whether it may run. */
  onCall?: ((name: string, args: Record<string, unknown>) => void) | undefined;
  /** Decides on dangerous calls; without one they are refused. */
  owner?: Owner | undefined;
}

export function createTools({ allowed, refused, fallback, spill, onRepair, onCall, owner }: SessionTools): Tools {
  const byName = new Map(allowed.map((tool) => [tool.name, tool]));
  return {
    specs: allowed.map(({ name, description, parameters }) => ({ name, description, parameters })),
    guarded: (name) => byName.get(name)?.guarded ?? true,
    readsOnly: (name) => byName.get(name)?.readsOnly ?? false,
    async run(call, run) {
      const tool = byName.get(call.name);
      if (!tool) return fallback?.(call) ?? errorResult(missing(call.name, refused, [...byName.keys()]));
      const args = isObject(call.args) ? call.args : await mended(call, tool, onRepair);
      if (!args) {
        return {
          text: `Not run: the arguments for ${call.name} are not a JSON object: ${cutMiddle(String(JSON.stringify(call.args)), 200)}. Repeat the call with valid JSON. It takes ${JSON.stringify(tool.parameters.properties ?? {})}.`,
          isError: true,
        };
      }
      onCall?.(call.name, args);
      const refusal = await askedFor(tool, { call, args, owner, run });
      if (refusal) return refusal;
      const result = await tool.run(args, run);
      return { ...result, text: bounded(result.text, call.name, spill) };
    },
  };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Arguments that are not JSON: a slip of syntax (quotes, commas, a code fence) is mended for tools that change nothing.
 * Undefined = they stay unreadable. A guess must not be written or run, and text without its closing bracket broke off.
 */
async function mended(
  call: ToolCall,
  { readsOnly }: Tool,
  onRepair: SessionTools['onRepair'],
): Promise<Record<string, unknown> | undefined> {
  if (typeof call.args !== 'string') return undefined;
  // Some models send nothing where there is nothing to say.
  if (call.args.trim() === '') return {};
  const bare = /^\s*```(?:json)?\s*(.*?)\s*```\s*$/s.exec(call.args)?.[1] ?? call.args.trim();
  if (!readsOnly || !bare.startsWith('{') || !bare.endsWith('}')) return undefined;
  const { jsonrepair } = await import('jsonrepair');
  try {
    const value: unknown = JSON.parse(jsonrepair(bare));
    if (!isObject(value)) return undefined;
    onRepair?.(call);
    return value;
  } catch {
    return undefined;
  }
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

function bounded(text: string, name: string, spill: SpillFolder | undefined): string {
  const max = limits.turn.toolOutputMaxChars;
  if (text.length <= max) return text;
  const spilled = new SpilledText(max - 1_000, name, spill);
  spilled.push(text);
  spilled.close();
  return [spilled.toString(), spilled.note].filter(Boolean).join('\n');
}

function missing(name: string, refused: ReadonlyMap<string, string>, known: string[]): AgentError {
  const why = refused.get(name);
  if (why) return new AgentError('TOOL_REFUSED', why);
  return new AgentError('TOOL_UNKNOWN', `there is no tool "${name}" here`, {
    fix: known.length ? `use one of ${known.join(', ')}` : 'answer without tools',
  });
}
