/** Arguments of foreign tools against the JSON Schema their server gave. A schema that cannot be used checks nothing: the server does. */
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { limits } from '../../base/limits.ts';

/** What the model reads about wrong arguments; undefined = they fit. */
export type ArgumentCheck = (name: string, schema: Record<string, unknown>, args: Record<string, unknown>) => Promise<string | undefined>;

interface Compiled {
  source: string;
  /** Null = the schema cannot be used. */
  fits: ValidateFunction | null;
}

export function createArgumentCheck(): ArgumentCheck {
  const compiled = new Map<string, Compiled>();
  return async (name, schema, args) => {
    const source = JSON.stringify(schema);
    let known = compiled.get(name);
    if (known?.source !== source) {
      known = { source, fits: await compile(schema) };
      compiled.delete(name);
      compiled.set(name, known);
      if (compiled.size > limits.tools.schemasMax) compiled.delete(compiled.keys().next().value!);
    }
    if (!known.fits || known.fits(args)) return undefined;
    const wrong = (known.fits.errors ?? []).map(({ instancePath, message, params }) => {
      const extra = 'additionalProperty' in params ? ` (${String(params.additionalProperty)})` : '';
      const allowed = 'allowedValues' in params ? `: ${(params.allowedValues as unknown[]).join(', ')}` : '';
      return `${instancePath.slice(1).replaceAll('/', '.') || 'arguments'}: ${message}${extra}${allowed}`;
    });
    return `Wrong arguments for ${name}: ${wrong.slice(0, 10).join('; ')}. It takes ${source.slice(0, 2_000)}.`;
  };
}

async function compile(schema: Record<string, unknown>): Promise<ValidateFunction | null> {
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
