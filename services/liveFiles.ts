/** Settings and secrets of a worker, read again when their file has changed. */
import { statSync } from 'node:fs';
import type { Redactor } from '../base/redact.ts';
import { loadConfig, type LoadedConfig } from '../state/config/load.ts';
import { readSecrets, type Secrets } from '../state/env.ts';
import type { Home, ProfilePaths } from '../state/home.ts';

export function createSecrets(paths: ProfilePaths, redact: Redactor): () => Secrets {
  return byFile(paths.env, () => {
    const secrets = readSecrets(paths.env);
    redact.learn(secrets.values());
    return secrets;
  });
}

/** A file that becomes unusable while the worker runs leaves what this worker read last in force. */
export function createConfig(home: Home, paths: ProfilePaths): () => LoadedConfig {
  let good: LoadedConfig | undefined;
  return byFile(paths.config, () => {
    const loaded = loadConfig(home, paths);
    // An empty file is often one that is being written at this moment: in force, but nothing to fall back to.
    if (!loaded.problem && loaded.text?.trim()) good = loaded;
    return loaded.problem && good ? { ...good, problem: loaded.problem } : loaded;
  });
}

/** Caches what was made from a file until the file changes. */
function byFile<T>(path: string, read: () => T): () => T {
  let stamp: string | undefined;
  let value: T;
  return () => {
    const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
    const now = stat ? `${stat.ino}.${stat.size}.${stat.mtimeNs}` : 'absent';
    if (now !== stamp) {
      value = read();
      stamp = now;
    }
    return value;
  };
}
