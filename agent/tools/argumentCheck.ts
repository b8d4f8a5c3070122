/**
 * Arguments of foreign tools against the JSON Schema their server gave. A server may give one that takes for ever
 * (`^(a+)+$`, references that double): what is not plainly linear is checked in a thread with a time limit. A schema
 * that cannot be used checks nothing: the server does.
 */
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { limits } from '../../base/limits.ts';
import type { Offload } from './heavyTask.ts';

type Schema = Record<string, unknown>;

/** What the model reads about wrong arguments; undefined = they fit. Errors: the signal's reason. */
export type ArgumentCheck = (
  name: string,
  schema: Schema,
  args: Record<string, unknown>,
  signal: AbortSignal,
) => Promise<string | undefined>;

export interface ArgumentTask {
  name: string;
  schema: Schema;
  args: Record<string, unknown>;
}

interface Known {
  source: string;
  /** Null = the schema cannot be used, `thread` = it is not checked here. */
  fits: ValidateFunction | null | 'thread';
}

/** `onUnusable` is told of a schema that ran out of time or memory. */
export function createArgumentCheck(
  offload: Pick<Offload, 'checkArguments'>,
  onUnusable: (name: string, thrown: unknown) => void = () => {},
): ArgumentCheck {
  const byName = new Map<string, Known>();
  return async (name, schema, args, signal) => {
    const source = JSON.stringify(schema);
    let known = byName.get(name);
    if (known?.source !== source) {
      known = { source, fits: isPlain(schema) ? await compile(schema) : 'thread' };
      byName.delete(name);
      byName.set(name, known);
      if (byName.size > limits.tools.schemasMax) byName.delete(byName.keys().next().value!);
    }
    if (known.fits === null) return undefined;
    if (known.fits !== 'thread') return wrongWith(known.fits, { name, schema, args });
    try {
      return await offload.checkArguments({ name, schema, args }, { signal, timeoutMs: limits.tools.schemaMs });
    } catch (thrown) {
      signal.throwIfAborted();
      known.fits = null;
      onUnusable(name, thrown);
      return undefined;
    }
  };
}

/** In the thread. */
export async function checkArguments(task: ArgumentTask): Promise<string | undefined> {
  const fits = await compile(task.schema);
  return fits ? wrongWith(fits, task) : undefined;
}

function wrongWith(fits: ValidateFunction, { name, schema, args }: ArgumentTask): string | undefined {
  if (fits(args)) return undefined;
  const wrong = (fits.errors ?? []).slice(0, 10).map(({ instancePath, message, params }) => {
    const extra = 'additionalProperty' in params ? ` (${String(params.additionalProperty)})` : '';
    const allowed = 'allowedValues' in params ? `: ${(params.allowedValues as unknown[]).join(', ')}` : '';
    return `${instancePath.slice(1).replaceAll('/', '.') || 'arguments'}: ${message}${extra}${allowed}`;
  });
  return `Wrong arguments for ${name}: ${wrong.join('; ')}. It takes ${JSON.stringify(schema).slice(0, 2_000)}.`;
}

/** Keywords whose check takes a time in proportion to the arguments, with a plain value. */
const LINEAR: ReadonlySet<string> = new Set(
  'type,required,enum,const,minimum,maximum,exclusiveMinimum,exclusiveMaximum,multipleOf,minLength,maxLength,minItems,maxItems,$schema,$id,title,description,default,examples,format,deprecated,readOnly,writeOnly,$comment'.split(
    ',',
  ),
);
const NODES_MAX = 300;

/** Whether a schema has none but such keywords, and not many of them. */
function isPlain(schema: unknown): boolean {
  let nodes = 0;
  const plain = (value: unknown): boolean => {
    if (typeof value === 'boolean') return true;
    if (typeof value !== 'object' || value === null || Array.isArray(value) || ++nodes > NODES_MAX) return false;
    return Object.entries(value).every(([key, part]: [string, unknown]) => {
      if (LINEAR.has(key)) return !Array.isArray(part) || part.length <= NODES_MAX;
      if (key === 'properties') return typeof part === 'object' && part !== null && Object.values(part).every(plain);
      if (key === 'anyOf' || key === 'oneOf') return Array.isArray(part) && part.every(plain);
      return (key === 'items' || key === 'additionalProperties') && plain(part);
    });
  };
  return plain(schema);
}

async function compile(schema: Schema): Promise<ValidateFunction | null> {
  // 20 ms to load: only sessions that call tools of servers pay for it.
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  try {
    // Servers name many dialects; what they share is checked.
    const { $schema: _, $id: __, ...plain } = schema;
    return new Ajv2020({ strict: false, allErrors: true, validateFormats: false, logger: false }).compile(plain);
  } catch {
    return null;
  }
}
