/**
 * Secrets that stand in config.yaml although they belong into .env: what leaves the machine's files carries a mask
 * in their place, and a mask that comes back means "as it was". Names, shapes and the values of .env tell them.
 */
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { AgentError } from '../../base/errors.ts';
import { createRedactor, MARK, SECRET_NAME } from '../../base/redact.ts';
import { looksSecret } from '../env.ts';
import { dottedKey, isPlain } from './diff.ts';
import { outOfBounds } from './documentBounds.ts';
import type { KeyPath } from './edit.ts';

/** Stands where a secret stands. */
export { MARK } from '../../base/redact.ts';

/** A view of configuration without its secrets; `values`: those of .env. */
export interface Masks {
  /** The same value with masks. */
  hide(value: unknown, path?: KeyPath): unknown;
  /** The same text with masks, comments too. */
  hideText(text: string): string;
  /** Whether config.yaml is no place for it (interface spec, Authentication 10): its name or its shape says so. */
  isOutOfPlace(path: KeyPath, value: unknown): boolean;
}

export function createMasks(values: readonly string[]): Masks {
  const redact = createRedactor();
  redact.learn(values);
  const isSecret = (path: KeyPath, value: unknown): boolean => {
    const name = nameOf(path);
    if (typeof value === 'number') return /(?:PASSWORD|PASSWD|SECRET)$/i.test(name);
    if (typeof value !== 'string' || value === '' || value === MARK) return false;
    // What names a variable holds its value elsewhere; the text around the name may still hold another secret.
    const around = value.split(/\$\{[^}]+\}/);
    if (around.length > 1) return around.some((text) => redact(text) !== text);
    const parent = path.at(-2);
    if (SECRET_NAME.test(name) || /password_hash$/i.test(name) || parent === 'headers') return true;
    return (parent === 'env' && looksSecret(name, value)) || redact(value) !== value;
  };
  const hide = (value: unknown, path: KeyPath = []): unknown => {
    if (Array.isArray(value)) return value.map((item, index) => hide(item, [...path, index]));
    if (isPlain(value)) return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, hide(inner, [...path, name])]));
    return isSecret(path, value) ? MARK : value;
  };
  return {
    hide,
    isOutOfPlace: (path, value) =>
      isSecret(path, value) &&
      (typeof value !== 'string' ||
        SECRET_NAME.test(nameOf(path)) ||
        (path.at(-2) === 'headers' && isSecretHeader(String(path.at(-1)))) ||
        redact(value) !== value),
    hideText(text) {
      let masked = '';
      let at = 0;
      for (const { path, value, start, end } of scalarsOf(text)) {
        if (!isSecret(path, value)) continue;
        masked += redact(text.slice(at, start)) + JSON.stringify(MARK) + (text.slice(start, end).endsWith('\n') ? '\n' : '');
        at = end;
      }
      return masked + redact(text.slice(at));
    },
  };
}

/** Headers that carry a credential by their name. */
export const isSecretHeader = (name: string): boolean =>
  SECRET_NAME.test(name.replaceAll('-', '_')) || /^(?:proxy-)?authorization$/i.test(name);

/** The name that says what a value is. `client_key` is the path of a file; the third entry of `client_cert` is a password. */
export function nameOf(path: KeyPath): string {
  if (path.at(-2) === 'client_cert' && path.at(-1) === 2) return 'password';
  const name = String(path.findLast((part) => typeof part === 'string') ?? '');
  return name === 'client_key' ? 'client_key_file' : name;
}

/** The value with what stood behind its masks. Errors: CONFIG_KEY where a mask stands for nothing. */
export function unhide(value: unknown, current: unknown, path: KeyPath = []): unknown {
  if (value === MARK) {
    if (current === undefined || isPlain(current) || Array.isArray(current)) throw nothingBehind(path);
    return current;
  }
  if (Array.isArray(value))
    return value.map((item, index) => unhide(item, Array.isArray(current) ? current[index] : undefined, [...path, index]));
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const own = isPlain(current) && Object.hasOwn(current, name) ? current[name] : undefined;
      return [name, unhide(inner, own, [...path, name])];
    }),
  );
}

/** A text that was edited with masks in it, with what stood behind them. Errors: CONFIG_INVALID where a mask stands for nothing. */
export function unhideText(text: string, current: string, masks: Masks, file: string): string {
  const lines = unhideLines(text, current, masks);
  const behind = new Map(scalarsOf(current).map(({ path, value }) => [dottedKey(path), value]));
  let whole = '';
  let at = 0;
  for (const { path, value, start, end } of scalarsOf(lines)) {
    if (value !== MARK) continue;
    const secret = behind.get(dottedKey(path));
    if (secret === undefined) throw maskInText(lines, start, path, file);
    whole += lines.slice(at, start) + JSON.stringify(secret);
    at = end;
  }
  return whole + lines.slice(at);
}

/** Lines outside of values, comments above all: one that came back as it went out is what it was. */
function unhideLines(text: string, current: string, masks: Masks): string {
  const hidden = masks.hideText(current).split('\n');
  const known = new Map<string, string>();
  const original = current.split('\n');
  // A secret over several lines becomes one: then lines do not pair up, and values alone are restored.
  if (hidden.length === original.length) hidden.forEach((line, n) => line.includes(MARK) && known.set(line, original[n]!));
  return text
    .split('\n')
    .map((line) => known.get(line) ?? line)
    .join('\n');
}

interface ScalarPlace {
  path: KeyPath;
  value: unknown;
  start: number;
  end: number;
}

/** Scalars in the order of the text. What is not YAML has none. */
function scalarsOf(text: string): ScalarPlace[] {
  const places: ScalarPlace[] = [];
  const walk = (node: unknown, path: KeyPath): void => {
    if (isMap(node)) for (const { key, value } of node.items) walk(value, [...path, String(isScalar(key) ? key.value : key)]);
    else if (isSeq(node)) node.items.forEach((item, index) => walk(item, [...path, index]));
    else if (isScalar(node) && node.range) places.push({ path, value: node.value, start: node.range[0], end: node.range[1] });
  };
  // Such a text is refused by whoever reads it as a configuration.
  if (outOfBounds(text)) return [];
  try {
    walk(parseDocument(text, { prettyErrors: false, logLevel: 'silent' }).contents, []);
  } catch {
    return [];
  }
  return places.toSorted((a, b) => a.start - b.start);
}

const nothingBehind = (path: KeyPath): AgentError =>
  new AgentError('CONFIG_KEY', `${dottedKey(path)} is a mask, and nothing stands behind it`, {
    fix: 'write "${NAME}" and put the value into .env under that name',
  });

function maskInText(text: string, offset: number, path: KeyPath, file: string): AgentError {
  const counter = new LineCounter();
  parseDocument(text, { lineCounter: counter, prettyErrors: false, logLevel: 'silent' });
  const { line, col } = counter.linePos(offset);
  const { message, fix } = nothingBehind(path);
  return new AgentError('CONFIG_INVALID', `${file}:${line}:${col}: ${message}`, {
    fix: fix!,
    facts: { problem: { path: file, line, column: col, key: dottedKey(path), message, fix } },
  });
}
