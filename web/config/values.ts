/** Values of a configuration by dotted key, and a draft of changes over them. */
import type { ConfigFieldView } from '../../ipc/contracts/http/config.ts';

export type Values = Record<string, unknown>;
/** By dotted key of a field; null = back to the default. */
export type Draft = Readonly<Record<string, unknown>>;

export function valueAt(config: Values, key: string): unknown {
  let value: unknown = config;
  for (const name of key.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Values)[name];
  }
  return value;
}

/** The draft as a patch of values: what `PUT /api/config` merges. */
export function patchOf(draft: Draft): Values {
  const patch: Values = {};
  for (const [key, value] of Object.entries(draft)) {
    const names = key.split('.');
    const last = names.pop()!;
    let section = patch;
    for (const name of names) section = (section[name] ??= {}) as Values;
    section[last] = value;
  }
  return patch;
}

/** A value as it stands in its box. */
export function textOf(value: unknown, type: ConfigFieldView['type']): string {
  if (value === undefined || value === null) return '';
  if (type === 'list' && Array.isArray(value)) return value.map(String).join('\n');
  if (type === 'map' && typeof value === 'object')
    return Object.entries(value)
      .map(([name, text]) => `${name}: ${String(text)}`)
      .join('\n');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** What is in the box as a value; empty = the default. Errors: a sentence, as text. */
export function parseBox(text: string, field: ConfigFieldView): { value: unknown } | { error: string } {
  if (text.trim() === '') return { value: null };
  switch (field.type) {
    case 'number': {
      const number = Number(text);
      if (!Number.isFinite(number)) return { error: 'A number' };
      if (field.whole && !Number.isInteger(number)) return { error: 'A whole number' };
      if (field.min !== null && number < field.min) return { error: `At least ${field.min}` };
      if (field.max !== null && number > field.max) return { error: `At most ${field.max}` };
      return { value: number };
    }
    case 'list':
      return { value: linesOf(text) };
    case 'map': {
      const pairs = linesOf(text).map((line) => /^(.+?):\s+(.+)$/.exec(line));
      if (pairs.includes(null)) return { error: 'Each line is a name, a colon, a space and its text' };
      return { value: Object.fromEntries(pairs.map((pair) => [pair![1]!.trim(), pair![2]!.trim()])) };
    }
    default:
      return { value: text };
  }
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** When a change of it counts, in words. */
export function whenInForce({ applies, slots }: Pick<ConfigFieldView, 'applies' | 'slots'>): string {
  if (applies === 'live') return 'takes effect at once';
  if (applies === 'supervisor') return 'counts with the next start of the service';
  return slots.length > 3 ? 'the workers restart by themselves' : `the ${slots.join(', ')} restarts by itself`;
}
