/**
 * Changing many values of config.yaml at once, for the dashboard: a patch of values or a whole text, never over what
 * somebody else wrote meanwhile, never with a mask in place of a secret. Says what changed and when it counts.
 */
import { isMap, type Document } from 'yaml';
import { AgentError } from '../../base/errors.ts';
import { digest } from '../../base/ids.ts';
import { writeFileAtomic } from '../atomicFile.ts';
import { withFileLock } from '../lock.ts';
import { acceptText } from './accept.ts';
import { classOf } from './classes.ts';
import { differences, dottedKey, mergePatch, type Difference } from './diff.ts';
import { setInDocument, type KeyPath } from './edit.ts';
import { parseYaml, plainOf, readText, refuseOutOfBounds } from './load.ts';
import { unhide, unhideText, type Masks } from './mask.ts';

export interface ChangeRules {
  masks: Masks;
  /** The version the change was made from; undefined = whatever is there. */
  expected?: string | undefined;
}

export interface ConfigChange {
  key: string;
  applies: 'live' | 'slot' | 'supervisor';
  /** Restarted by the running service because of it. */
  slots: readonly string[];
}

export interface Changed {
  version: string;
  changed: ConfigChange[];
  /** Slots that a running service restarts by itself. */
  restarts: string[];
  /** Keys that count only once the service is started again (agent down, agent up). */
  restart_required: string[];
  /** Keys that this version does not know; kept. */
  unknown: string[];
}

export const versionOf = (text: string): string => digest(text, 20);

/**
 * Merges a patch (null removes), or with `whole` takes the values as all that is to be there. Comments stay.
 * Errors: CONFIG_CHANGED, CONFIG_KEY, CONFIG_INVALID, DISK_FULL, LOCK_HELD, CONFIG_LOCKOUT.
 */
export async function changeConfig(
  path: string,
  { values, whole = false }: { values: Record<string, unknown>; whole?: boolean },
  rules: ChangeRules,
): Promise<Changed> {
  return withFileLock(path, () => {
    const text = readText(path);
    refuseStale(text, rules.expected);
    const document = parseYaml(text, path);
    const before = plainOf(document, path);
    const given = unhide(values, before) as Record<string, unknown>;
    const after = whole ? withoutNulls(given) : mergePatch(before, given);
    const changes = differences(before, after);
    for (const change of changes) apply(document, change);
    return write(path, { before: text, after: changes.length === 0 ? text : document.toString({ lineWidth: 0 }) }, rules);
  });
}

/** Replaces the whole text. A file that is broken now may be replaced. Errors: as `changeConfig`. */
export async function changeConfigText(path: string, edited: string, rules: ChangeRules): Promise<Changed> {
  refuseOutOfBounds(edited, path);
  return withFileLock(path, () => {
    const before = readText(path);
    refuseStale(before, rules.expected);
    return write(path, { before, after: unhideText(edited, before, rules.masks, path) }, rules);
  });
}

function write(path: string, { before, after }: { before: string; after: string }, { masks }: ChangeRules): Changed {
  const { loaded, before: old } = acceptText(path, before, after, masks);
  // A file that was broken: all of the new one is a change.
  const found = differences(old ?? {}, loaded.config);
  const changed = found.map(({ path: key }) => describe(key));
  if (after !== before) writeFileAtomic(path, after);
  return {
    version: versionOf(after),
    changed,
    restarts: [...new Set(changed.flatMap(({ slots }) => slots))],
    restart_required: changed.filter(({ applies }) => applies === 'supervisor').map(({ key }) => key),
    unknown: loaded.ineffective.map(({ key }) => key),
  };
}

function describe(path: KeyPath): ConfigChange {
  const change = classOf(path);
  return { key: dottedKey(path), applies: change.kind, slots: change.kind === 'slot' ? change.slots : [] };
}

function refuseStale(text: string, expected: string | undefined): void {
  const version = versionOf(text);
  if (expected === undefined || expected === version) return;
  throw new AgentError('CONFIG_CHANGED', 'config.yaml was changed by somebody else meanwhile; nothing was written', {
    fix: 'read it again, then save once more',
    facts: { expected, version },
  });
}

function apply(document: Document.Parsed, { path, after }: Difference): void {
  setInDocument(document, path, after);
  if (after !== undefined) return;
  // A section that has lost its last key goes with it.
  for (let depth = path.length - 1; depth > 0; depth--) {
    const parent: unknown = document.getIn(path.slice(0, depth), true);
    if (!isMap(parent) || parent.items.length > 0) return;
    document.deleteIn(path.slice(0, depth));
  }
}

function withoutNulls(value: unknown): unknown {
  return mergePatch({}, value);
}
