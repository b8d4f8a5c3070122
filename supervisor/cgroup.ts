/**
 * A cgroup per incarnation, where the supervisor was given a place in cgroup v2 that it may write
 * (`Delegate=yes`, a user's own systemd): one write kills everything in it, whatever session it has,
 * and one line proves that nothing is left. Feature-tested, optional, never fatal. The supervisor does
 * not move itself: ADR 0022.
 */
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFile, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';

export class Cgroup {
  readonly path: string;
  #attached: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Puts a process in, with the children it may have by then. Written by a thread of the pool: the kernel makes
   * the first move in a while wait for all its CPUs (measured: 32 ms, then 0.1). A grandchild whose parent ended
   * before that stays outside; its mark finds it.
   */
  add(pid: number): void {
    this.#attached = this.#move(pid);
  }

  async #move(pid: number): Promise<void> {
    await new Promise<void>((resolve) => writeFile(join(this.path, 'cgroup.procs'), String(pid), () => resolve()));
    await Promise.all(childrenOf(pid).map((child) => this.#move(child)));
  }

  get isEmpty(): boolean {
    return !this.#read('cgroup.events').includes('populated 1');
  }

  /** How often the kernel killed something in here because memory ran out; null where it does not count. */
  get oomKills(): number | null {
    const count = /^oom_kill (\d+)$/m.exec(this.#read('memory.events'))?.[1];
    return count === undefined ? null : Number(count);
  }

  /** SIGKILL to everything in it; true once it is empty. The directory is removed then. */
  async kill(ms: number = limits.worker.killMs): Promise<boolean> {
    await this.#attached;
    const deadlineMs = performance.now() + ms;
    // Half a millisecond is the common case: the first pauses are shorter than a timer's shortest.
    for (let pauseMs = 0.1; !this.isEmpty; pauseMs = Math.min(pauseMs * 2, 25)) {
      if (performance.now() >= deadlineMs) return false;
      try {
        writeFileSync(join(this.path, 'cgroup.kill'), '1');
      } catch {
        // a kernel before 5.14 has no cgroup.kill: group and marks do it
      }
      await (pauseMs < 1 ? new Promise((resolve) => setImmediate(resolve)) : sleep(pauseMs));
    }
    this.remove();
    return true;
  }

  /** Groups that its processes made inside go too. */
  remove(): void {
    try {
      for (const entry of readdirSync(this.path, { withFileTypes: true })) {
        if (entry.isDirectory()) new Cgroup(join(this.path, entry.name)).remove();
      }
      rmdirSync(this.path);
    } catch {
      // gone, or not empty after all: the next supervisor removes it
    }
  }

  #read(name: string): string {
    try {
      return readFileSync(join(this.path, name), 'utf8');
    } catch {
      return '';
    }
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

export class CgroupPlace {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  /** The place of this supervisor, or the one given; undefined where groups cannot be made. */
  static find(root: string | undefined = ownPlace()): CgroupPlace | undefined {
    if (root === undefined) return undefined;
    const probe = join(root, `probe.${process.pid}`);
    try {
      accessSync(join(root, 'cgroup.procs'), constants.W_OK);
      mkdirSync(probe);
      const canKill = existsSync(join(probe, 'cgroup.kill'));
      rmdirSync(probe);
      if (!canKill) return undefined;
      letMemoryBeLimited(root);
      return new CgroupPlace(root);
    } catch {
      return undefined;
    }
  }

  /** Undefined when the kernel refuses. */
  create(name: string, memoryMaxBytes?: number): Cgroup | undefined {
    const path = join(this.#root, name);
    try {
      mkdirSync(path);
      if (memoryMaxBytes !== undefined && existsSync(join(path, 'memory.max'))) {
        writeFileSync(join(path, 'memory.max'), String(memoryMaxBytes));
      }
      return new Cgroup(path);
    } catch {
      return undefined;
    }
  }

  /** Groups of this home that belong to nobody any more: what lives in them is killed. */
  async sweep(homeId: string, keep: ReadonlySet<string>): Promise<void> {
    const left = readdirSync(this.#root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name.startsWith(`${homeId}.`) && !keep.has(entry.name))
      .map(({ name }) => new Cgroup(join(this.#root, name)));
    await Promise.all(left.map((group) => group.kill()));
  }
}

/**
 * Below the group this process is in, or beside it when a manager put it into `supervisor/`
 * (DelegateSubgroup=). Not at the root of the machine, which nobody gave us.
 */
function ownPlace(): string | undefined {
  try {
    const own = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
    const mount = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .find((fields) => fields[fields.indexOf('-') + 1] === 'cgroup2')?.[4];
    if (!own || !mount || (own === '/' && process.pid !== 1)) return undefined;
    const path = join(mount, own);
    return basename(path) === LEAF ? dirname(path) : path;
  } catch {
    return undefined;
  }
}

const LEAF = 'supervisor';

/** Controllers may be on only where no process sits in the group itself: then a hard limit holds in the kernel. */
function letMemoryBeLimited(root: string): void {
  try {
    const available = readFileSync(join(root, 'cgroup.controllers'), 'utf8').includes('memory');
    if (available && existsSync(join(root, LEAF))) writeFileSync(join(root, 'cgroup.subtree_control'), '+memory');
  } catch {
    // limits are held by looking at the memory, as everywhere else
  }
}
