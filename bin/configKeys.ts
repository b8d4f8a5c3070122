/**
 * Which dotted keys config.yaml knows: typing slips are caught before they are written, unknown keys
 * are not (a newer version or an extension may own them; --force writes them).
 */
import { z } from 'zod';
import { AgentError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { KeyPath } from '../state/config/edit.ts';
import { placed, type ConfigProblem } from '../state/config/load.ts';
import { Config, reservedKeys } from '../state/config/schema.ts';
import { unknownName } from './suggest.ts';
import { note } from './terminal.ts';

export const topLevelKeys: readonly string[] = [...new Set([...Object.keys(Config.shape), ...reservedKeys])].toSorted();

/** Errors: CONFIG_KEY for an unknown first name, or for a later one that is nearly a known name. */
export function requireKnownKey(path: KeyPath, dotted: string): void {
  const first = String(path[0]);
  if (!topLevelKeys.includes(first)) throw unknownName('key', first, topLevelKeys, 'CONFIG_KEY');
  let schema: z.ZodType | undefined = Config;
  for (const [depth, part] of path.entries()) {
    const shape: Record<string, z.ZodType> | undefined = shapeOf(schema);
    if (!shape) {
      schema = schema && elementOf(schema);
      continue;
    }
    const name = String(part);
    const near = name in shape ? undefined : nearest(name, Object.keys(shape));
    if (near) {
      const meant = [...path.slice(0, depth), near, ...path.slice(depth + 1)].join('.');
      throw new AgentError('CONFIG_KEY', `unknown key "${dotted}"`, {
        fix: `did you mean ${meant}? known there: ${Object.keys(shape).join(', ')}; --force writes it as it is`,
      });
    }
    schema = shape[name];
  }
}

function shapeOf(schema: z.ZodType | undefined): Record<string, z.ZodType> | undefined {
  const inner = unwrap(schema);
  return inner instanceof z.ZodObject ? inner.shape : undefined;
}

function elementOf(schema: z.ZodType): z.ZodType | undefined {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodRecord) return inner.valueType as z.ZodType;
  return inner instanceof z.ZodArray ? (inner.element as z.ZodType) : undefined;
}

const unwrap = (schema: z.ZodType | undefined): z.ZodType | undefined =>
  schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;

/** One line for each setting that was kept although it has no effect. */
export function noteIneffective(ineffective: readonly ConfigProblem[]): void {
  for (const setting of ineffective) note(`agent: ${placed(setting)} — ${setting.fix}`);
}
