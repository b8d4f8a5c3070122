/**
 * Which code the next worker runs: a copy of the installed release, and the Node that belongs to it. A planned start
 * adopts a new release once it is complete and loads; a crash is answered with the code that ran.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AgentError } from '../base/errors.ts';
import { runCommand } from '../base/runCommand.ts';
import type { Home } from '../state/home.ts';
import { keepCode, pruneCode } from '../state/keptCode.ts';
import { identityOfFile, nodeProgram, type FileIdentity } from '../state/nodeProgram.ts';
import { release } from '../state/release.ts';

export interface RunningCode {
  /** Folder with `bin/` and `services/`. */
  readonly codeRoot: string;
  /** The Node to start it with. */
  program(): string;
}

/** A file of the code, named without its extension. */
export const entryIn = (codeRoot: string, entry: string): string => join(codeRoot, `${entry}.${release().built ? 'js' : 'ts'}`);

/** An entry that this very process is to load: of the copy, or of the package where none can be made. */
export function keptEntry(home: Home, entry: string): string {
  const code = new KeptCode(home);
  try {
    code.keep();
  } catch {
    // the service reports it
  }
  return entryIn(code.codeRoot, entry);
}

/** The code of this very process. */
export const ownCode = (): RunningCode => ({ codeRoot: release().codeRoot, program: nodeProgram });

export class KeptCode implements RunningCode {
  codeRoot = release().codeRoot;
  /** Undefined: the Node of this process. */
  #node: FileIdentity | undefined;
  readonly #home: Home;

  constructor(home: Home) {
    this.#home = home;
  }

  /** Makes the copy that this process and its workers run from. Errors: PACKAGE_INCOMPLETE, DISK_FULL, HOME_UNUSABLE; then they run from the package. */
  keep(): void {
    this.codeRoot = keepCode(this.#home);
    loadFrom(this.codeRoot);
  }

  program(): string {
    // Caches may be removed at any time.
    if (!existsSync(this.codeRoot)) this.codeRoot = keepCode(this.#home);
    return nodeProgram(this.#node);
  }

  /** Adopts the installed release if it is another one; undefined when it is not. Errors: PACKAGE_INCOMPLETE, DISK_FULL, HOME_UNUSABLE. */
  renew(): Promise<void> | undefined {
    const installed = keepCode(this.#home);
    return installed === this.codeRoot ? undefined : this.#adopt(installed);
  }

  async #adopt(codeRoot: string): Promise<void> {
    const node = identityOfFile(process.execPath);
    // The last part to be installed may be the Node or the native module.
    const { code, stderr } = await runCommand([process.execPath, '-e', "new (require('better-sqlite3'))(':memory:').close()"], {
      cwd: dirname(codeRoot),
    });
    if (code !== 0) {
      throw new AgentError('PACKAGE_INCOMPLETE', `the installed release does not start: ${stderr.trim().split('\n').at(-1)}`, {
        fix: 'wait until its installation has finished, or install it again',
      });
    }
    this.codeRoot = codeRoot;
    this.#node = node;
  }

  /** `inUse`: code ids of processes that run. */
  prune(inUse: ReadonlySet<string>): void {
    if (release().built) pruneCode(this.#home, this.codeRoot, inUse);
  }
}

/** What this process has not loaded yet comes from the copy, under the names that it was built with. */
function loadFrom(copy: string): void {
  const { codeRoot } = release();
  if (copy === codeRoot) return;
  const prefix = `${pathToFileURL(codeRoot).href}/`;
  process.getBuiltinModule('node:module').registerHooks({
    resolve(specifier, context, next) {
      const isOurs = specifier.startsWith('.') && context.parentURL?.startsWith(prefix);
      return isOurs ? { url: new URL(specifier, context.parentURL).href, shortCircuit: true } : next(specifier, context);
    },
    load(url, context, next) {
      if (!url.startsWith(prefix)) return next(url, context);
      return { format: 'module', source: readFileSync(join(copy, decodeURIComponent(url.slice(prefix.length)))), shortCircuit: true };
    },
  });
}
