/**
 * Changing one value of config.yaml by dotted path; comments and layout survive. A backslash makes a
 * dot part of a key. The result is validated before it replaces the file.
 */
import { isAlias, isMap, isScalar, isSeq, parse, type Document, type Scalar } from 'yaml';
import { AgentError } from '../../base/errors.ts';
import { writeFileAtomic } from '../atomicFile.ts';
import { withFileLock } from '../lock.ts';
import { acceptText } from './accept.ts';
import { dottedKey } from './diff.ts';
import { parseYaml, readPlain, readText, type LoadedConfig } from './load.ts';

export type KeyPath = (string | number)[];

/** `a.b\.c[0]` → ['a', 'b.c', 0]. Errors: CONFIG_KEY. */
export function parseKeyPath(dotted: string): KeyPath {
  const path = splitAtDots(dotted).flatMap((part): KeyPath => {
    // A name, then any number of [n]; a bracket that begins no index belongs to the name.
    const [, name, indices] = /^((?:\\.|[^\\[]|\[(?!\d+\]))+)((?:\[\d+\])*)$/s.exec(part) ?? [];
    if (name === undefined) throw badKey(dotted);
    return [name.replace(/\\(.)/gs, '$1'), ...[...indices!.matchAll(/\d+/g)].map(Number)];
  });
  if (path.some((key) => key === '__proto__' || key === 'constructor' || key === 'prototype')) throw badKey(dotted);
  return path;
}

function splitAtDots(dotted: string): string[] {
  const parts = [''];
  for (let at = 0; at < dotted.length; at++) {
    if (dotted[at] === '.') parts.push('');
    else parts[parts.length - 1] += dotted[at] === '\\' ? `\\${dotted[++at] ?? ''}` : dotted[at]!;
  }
  return parts;
}

/** The value at a dotted path; undefined when it is not set. Errors: CONFIG_KEY, CONFIG_INVALID. */
export function getConfigValue(path: string, dotted: string): unknown {
  let value: unknown = readPlain(path);
  for (const key of parseKeyPath(dotted)) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/** Text from a command line as a value: `true`, `5`, `null`, `[a, b]`, `{a: 1}`, `"quoted"`; otherwise the text itself, `007` and `Note: hi` too. */
export function parseValue(text: string): unknown {
  const trimmed = text.trim();
  if (!/^(?:[[{"'].*|true|false|null|~|-?(?:0|[1-9]\d*)(?:\.\d+)?)$/s.test(trimmed)) return text;
  try {
    return parse(trimmed) as unknown;
  } catch {
    return text;
  }
}

/**
 * Sets (or, with `undefined`, removes) a value and writes the file. Nothing is written unless the whole result is valid,
 * leaves the dashboard open to its user, and the value has an effect (`force` writes one that has none).
 * Errors: CONFIG_KEY, CONFIG_INVALID, CONFIG_LOCKOUT, DISK_FULL, LOCK_HELD.
 */
export async function setConfigValue(
  path: string,
  dotted: string,
  value: unknown,
  options: { force?: boolean } = {},
): Promise<{ before: unknown; after: unknown }> {
  const before = await setConfigValues(path, { [dotted]: value }, options);
  return { before: before[dotted], after: value };
}

/** Several at once, by dotted path; all of them or none. Answers what stood there. Errors: as of one. */
export async function setConfigValues(
  path: string,
  changes: Readonly<Record<string, unknown>>,
  { force = false }: { force?: boolean } = {},
): Promise<Record<string, unknown>> {
  const wanted = Object.entries(changes).map(([dotted, value]) => ({ dotted, value, wanted: parseKeyPath(dotted) }));
  if (wanted.length === 0) return {};
  return withFileLock(path, () => {
    const old = readText(path);
    const document = parseYaml(old, path);
    const before = wanted.map((change) => [change.dotted, changeIn(document, change)] as const);
    write(path, { old, document }, (loaded) => {
      if (force) return;
      for (const { value, wanted: keys } of wanted) if (value !== undefined) refuseIneffective(loaded, dottedKey(keys));
    });
    return Object.fromEntries(before);
  });
}

/**
 * Puts a name on a list or takes it off, from what the list holds at that moment: of two who change it at once both are
 * heard. Errors: as `setConfigValue`.
 */
export async function listConfigName(
  path: string,
  dotted: string,
  { name, listed }: { name: string; listed: boolean },
): Promise<{ before: string[]; after: string[] }> {
  const wanted = parseKeyPath(dotted);
  return withFileLock(path, () => {
    const old = readText(path);
    const document = parseYaml(old, path);
    const now: unknown = plain(document.getIn(asWritten(document, wanted, dotted)));
    const before = Array.isArray(now) ? now.map(String) : [];
    if (before.includes(name) === listed) return { before, after: before };
    const after = listed ? [...before, name] : before.filter((other) => other !== name);
    changeIn(document, { dotted, value: after, wanted });
    write(path, { old, document });
    return { before, after };
  });
}

function write(path: string, { old, document }: { old: string; document: Document.Parsed }, check?: (loaded: LoadedConfig) => void): void {
  const text = document.toString({ lineWidth: 0 });
  const { loaded } = acceptText(path, old, text);
  check?.(loaded);
  writeFileAtomic(path, text);
}

/** A value that was just set, or a part of it, has no effect. Errors: CONFIG_KEY. */
function refuseIneffective({ ineffective }: LoadedConfig, key: string): void {
  const isWithin = (inner: string, outer: string) =>
    inner === outer || (inner.startsWith(outer) && /^[.[]/.test(inner.slice(outer.length)));
  const found = ineffective.find((setting) => isWithin(setting.key, key) || isWithin(key, setting.key));
  if (found) throw new AgentError('CONFIG_KEY', found.message, { field: key, fix: found.fix });
}

/** Answers the value before. */
function changeIn(document: Document.Parsed, { dotted, value, wanted }: { dotted: string; value: unknown; wanted: KeyPath }): unknown {
  refuseShadowing(document, wanted, dotted);
  return setInDocument(document, wanted, value);
}

/** Sets or, with `undefined`, removes one value in place; answers the old one. Errors: CONFIG_KEY where no value can stand. */
export function setInDocument(document: Document.Parsed, wanted: KeyPath, value: unknown): unknown {
  const keys = asWritten(document, wanted, wanted.join('.'));
  const before: unknown = plain(document.getIn(keys));
  if (value !== undefined) setIn(document, keys, value);
  else if (document.hasIn(keys)) document.deleteIn(keys);
  return before;
}

/**
 * Replaces the whole file after validating it and answers what it says. `over`: only a file that still has this text is replaced.
 * Errors: CONFIG_CHANGED, CONFIG_INVALID, CONFIG_LOCKOUT, DISK_FULL, LOCK_HELD.
 */
export async function replaceConfigText(path: string, text: string, over?: string): Promise<LoadedConfig> {
  return withFileLock(path, () => {
    const now = readText(path);
    if (over !== undefined && over !== now) {
      throw new AgentError('CONFIG_CHANGED', `${path} was changed by somebody else meanwhile; nothing was written`, {
        fix: 'agent config edit shows it as it is now',
      });
    }
    const { loaded } = acceptText(path, now, text);
    writeFileAtomic(path, text);
    return loaded;
  });
}

/** The same path in the words of the file: `8080` may be a number there. Errors: CONFIG_KEY where no value can stand. */
function asWritten(document: Document.Parsed, wanted: KeyPath, dotted: string): KeyPath {
  const keys: KeyPath = [];
  for (const key of wanted) {
    const parent: unknown = keys.length === 0 ? document.contents : document.getIn(keys, true);
    const where = keys.join('.');
    if (isAlias(parent)) {
      throw new AgentError('CONFIG_KEY', `"${where}" is only another name (*${parent.source}) of a value written elsewhere`, {
        fix: 'change it where it is written, or edit the file: agent config edit',
      });
    }
    if (isSeq(parent)) {
      const index = Number(key);
      if (!Number.isInteger(index) || index > parent.items.length) {
        throw new AgentError('CONFIG_KEY', `"${where}" is a list of ${parent.items.length} entries`, {
          fix: `write ${where}[0] to ${where}[${parent.items.length}]`,
        });
      }
      keys.push(index);
      continue;
    }
    const same = isMap(parent) ? parent.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === String(key)) : undefined;
    if (typeof key === 'number' && !same && parent !== undefined && parent !== null && !isScalar(parent)) throw badKey(dotted);
    keys.push(same ? ((same.key as Scalar).value as string | number) : key);
  }
  return keys;
}

function setIn(document: Document.Parsed, keys: KeyPath, value: unknown): void {
  // A scalar or null on the way is replaced by a map: `model:` with nothing after it is common.
  for (let depth = 1; depth < keys.length; depth++) {
    const node: unknown = document.getIn(keys.slice(0, depth), true);
    if (isScalar(node) || node === null)
      document.setIn(keys.slice(0, depth), document.createNode(typeof keys[depth] === 'number' ? [] : {}));
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
      throw new AgentError('CONFIG_KEY', `"${dotted}" would create a key beside the existing "${literal}"`, {
        fix: `write it as ${escaped}`,
      });
    }
  }
}

function badKey(dotted: string): AgentError {
  return new AgentError('CONFIG_KEY', `"${dotted}" is not a key`, {
    fix: 'write names separated by dots, for example model.default; a backslash makes a dot part of a name',
  });
}

const plain = (value: unknown): unknown =>
  value && typeof value === 'object' && 'toJSON' in value ? (value as { toJSON(): unknown }).toJSON() : value;
