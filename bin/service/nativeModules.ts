/** The modules with compiled parts: they fail where Node, libc or the processor is another than at install time. */
import { createRequire } from 'node:module';
import { messageOf } from '../../base/errors.ts';

export const nativeModules = ['better-sqlite3', 'node-pty'] as const;

/** Loads it for real; answers what went wrong, in one line. */
export async function loadNative(name: (typeof nativeModules)[number]): Promise<string | undefined> {
  const load = createRequire(import.meta.url);
  try {
    const module = load(name) as new (path: string) => { close(): void };
    // Its compiled part is loaded with the first database.
    if (name === 'better-sqlite3') new module(':memory:').close();
    return undefined;
  } catch (thrown) {
    return messageOf(thrown).split('\n')[0];
  }
}
