/**
 * What the last good config.yaml came to, kept beside its copy for the same text and the same release:
 * parsing and checking costs 15 ms in each of six processes at every start (65 ms with 200 sidecars).
 */
import { isDeepStrictEqual } from 'node:util';
import { digest } from '../../base/ids.ts';
import { readJson, writeJsonAtomic } from '../atomicFile.ts';
import type { Release } from '../release.ts';
import type { LoadedConfig } from './load.ts';

interface Kept {
  key: string;
  loaded: LoadedConfig;
}

/** Sources change without another id: only a built release is recognised. */
const keyOf = (text: string, { built, code }: Release): string | undefined => (built ? `${code} ${digest(text)}` : undefined);

export function readParsed(path: string, text: string, release: Release): LoadedConfig | undefined {
  const key = keyOf(text, release);
  if (key === undefined) return undefined;
  try {
    const kept = readJson(path) as Partial<Kept> | undefined;
    return kept?.key === key ? kept.loaded : undefined;
  } catch {
    return undefined;
  }
}

/** Errors: DISK_FULL, HOME_UNUSABLE. */
export function keepParsed(path: string, text: string, release: Release, loaded: LoadedConfig): void {
  const key = keyOf(text, release);
  if (key === undefined || readParsed(path, text, release)) return;
  // A value that JSON cannot say (.inf, .nan) must not come back as another.
  if (!isDeepStrictEqual(JSON.parse(JSON.stringify(loaded)), loaded)) return;
  writeJsonAtomic(path, { key, loaded } satisfies Kept, { durable: false });
}
