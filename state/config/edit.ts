/**
 * Changing one value of config.yaml by dotted path; comments and layout survive. A backslash makes a
 * dot part of a key. The result is validated before it replaces the file.
 */
import { isMap, isScalar, parse, type Document } from 'yaml';
import { AgentError } from '../../base/errors.ts';
import { writeFileAtomic } from '../atomicFile.ts';
import { withFileLock } from '../lock.ts';
import { parseConfigText, parseYaml, readText } from './load.ts';

export type KeyPath = (string | number)[];

/** `a.b\.c[0]` → ['a', 'b.c', 0]. Errors: CONFIG_KEY. */
export function parseKeyPath(dotted: string): KeyPath {
  const path: KeyPath = [];
  for (const part of dotted.match(/(?:\\.|[^.\\])+|\.(?=\.|$)|^\./g) ?? []) {
    const [, name, indices] = /^(.*?)((?:\[\d+\])*)$/s.exec(part)!;
    const key = name!.replace(/\\(.)/g, '$1');
    if (key === '' || key === '.') throw badKey(dotted);
    path.push(key, ...[...indices!.matchAll(/\[(\d+)\]/g)].map((match) => Number(match[1])));
  }
  if (path.length === 0 || dotted.endsWith('.') && !dotted.endsWith('\\.')) throw badKey(dotted);
  if (path.some((key) => key === '__proto__' || key === 'constructor' || key === 'prototype')) throw badKey(dotted);
  return path;
}

/** The value at a dotted path; undefined when it is not set. Errors: CONFIG_KEY, CONFIG_INVALID. */
export function getConfigValue(path: string, dotted: string): unknown {
  const found: unknown = parseYaml(readText(path), path).getIn(parseKeyPath(dotted));
  return isMap(found) || (found as { toJSON?: unknown } | undefined)?.toJSON ? (found as { toJSON(): unknown }).toJSON() : found;
}

/** Text from a command line as a YAML value: `true`, `5`, `[a, b]`, otherwise the text itself. */
export function parseValue(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    return text;
  }
}

/**
 * Sets (or, with `undefined`, removes) a value and writes the file. Nothing is written unless the whole
 * result is valid. Errors: CONFIG_KEY, CONFIG_INVALID, DISK_FULL, LOCK_HELD.
 */
export async function setConfigValue(path: string, dotted: string, value: unknown): Promise<{ before: unknown; after: unknown }> {
  const keys = parseKeyPath(dotted);
  return withFileLock(path, () => {
    const document = parseYaml(readText(path), path);
    refuseShadowing(document, keys, dotted);
    const before: unknown = document.getIn(keys);
    if (value === undefined) document.deleteIn(keys);
    else setIn(document, keys, value);
    const text = document.toString({ lineWidth: 0 });
    parseConfigText(text, path);
    writeFileAtomic(path, text);
    return { before: plain(before), after: value };
  });
}

/** Replaces the whole file after validating it. Errors: CONFIG_INVALID, DISK_FULL, LOCK_HELD. */
export async function replaceConfigText(path: string, text: string): Promise<void> {
  await withFileLock(path, () => {
    parseConfigText(text, path);
    writeFileAtomic(path, text);
  });
}

function setIn(document: Document.Parsed, keys: KeyPath, value: unknown): void {
  // A scalar or null on the way is replaced by a map: `model:` with nothing after it is common.
  for (let depth = 1; depth < keys.length; depth++) {
    const node: unknown = document.getIn(keys.slice(0, depth), true);
    if (isScalar(node)) document.deleteIn(keys.slice(0, depth));
  }
  const existing: unknown = document.getIn(keys, true);
  if (isScalar(existing) && (typeof value !== 'object' || value === null)) existing.value = value;
  else document.setIn(keys, document.createNode(value));
}

/** Interface spec, Errors: a dotted key must not shadow a sibling that holds a literal dot. */
function refuseShadowing(document: Document.Parsed, keys: KeyPath, dotted: string): void {
  for (let depth = 0; depth < keys.length - 1; depth++) {
    const parent: unknown = depth === 0 ? document.contents : document.getIn(keys.slice(0, depth), true);
    if (!isMap(parent)) continue;
    for (let end = depth + 2; end <= keys.length; end++) {
      const literal = keys.slice(depth, end).join('.');
      if (!parent.has(literal)) continue;
      const escaped = [...keys.slice(0, depth), literal, ...keys.slice(end)].map((key) => String(key).replace(/[.\\]/g, '\\$&')).join('.');
      throw new AgentError('CONFIG_KEY', `"${dotted}" would create a key beside the existing "${literal}"`, { fix: `write it as ${escaped}` });
    }
  }
}

function badKey(dotted: string): AgentError {
  return new AgentError('CONFIG_KEY', `"${dotted}" is not a key`, { fix: 'write names separated by dots, for example model.default; a backslash makes a dot part of a name' });
}

const plain = (value: unknown): unknown => (value && typeof value === 'object' && 'toJSON' in value ? (value as { toJSON(): unknown }).toJSON() : value);
