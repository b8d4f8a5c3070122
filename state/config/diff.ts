/** What differs between two configurations, as dotted keys; and a merge patch (RFC 7396: null removes, a list is taken whole). */
import { isDeepStrictEqual } from 'node:util';
import type { KeyPath } from './edit.ts';

export type Plain = Record<string, unknown>;

export interface Difference {
  path: KeyPath;
  before: unknown;
  after: unknown;
}

export const isPlain = (value: unknown): value is Plain => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Leaf by leaf: maps are walked, everything else is compared whole. Undefined = not there. */
export function differences(before: unknown, after: unknown, path: KeyPath = []): Difference[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isPlain(before) || !isPlain(after)) return [{ path, before, after }];
  const names = [...Object.keys(before), ...Object.keys(after).filter((name) => !Object.hasOwn(before, name))];
  return names.flatMap((name) => differences(ownOf(before, name), ownOf(after, name), [...path, name]));
}

/** `base` with what the patch says; neither of them is changed. */
export function mergePatch(base: unknown, patch: unknown): unknown {
  if (!isPlain(patch)) return patch;
  const merged: Plain = isPlain(base) ? { ...base } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(ownOf(merged, name), value);
  }
  return merged;
}

/** `['a', 'b.c', 0]` → `a.b\.c[0]`, as `parseKeyPath` reads it. */
export const dottedKey = (path: KeyPath): string =>
  path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    const name = part.replace(/[.\\]/g, '\\$&');
    return text === '' ? name : `${text}.${name}`;
  }, '');

const ownOf = (map: Plain, name: string): unknown => (Object.hasOwn(map, name) ? map[name] : undefined);
