/**
 * How everything that descends from an incarnation is held together and proved gone: a mark in its
 * environment, and a cgroup where one can be had. The process group is the incarnation's own affair.
 */
import { basename } from 'node:path';
import { INCARNATION_VARIABLE } from '../base/envFilter.ts';
import { hexId } from '../base/ids.ts';
import { homeIdOf, KEEPER, killOnce, processesOfHome, slotOfMark } from '../state/marks.ts';
import { identityOf, type ProcessIdentity } from '../state/processIdentity.ts';
import { Cgroup, CgroupPlace } from './cgroup.ts';
import { StrayHunt } from './strays.ts';

export interface TreesOptions {
  /** Root of the home: its marks are told from those of other homes. */
  home: string;
  /** Where cgroups are made: default the supervisor's own place, null = nowhere. */
  cgroupRoot?: string | null;
}

export class Trees {
  readonly #homeId: string;
  readonly #place: CgroupPlace | undefined;
  readonly #strays = new StrayHunt();

  constructor({ home, cgroupRoot }: TreesOptions) {
    this.#homeId = homeIdOf(home);
    this.#place = cgroupRoot === null ? undefined : CgroupPlace.find(cgroupRoot);
  }

  get hasCgroups(): boolean {
    return this.#place !== undefined;
  }

  /** `<home>.<slot>.<random>`: also the name of its cgroup. */
  newMark(slot: string): string {
    return `${this.#homeId}.${slot}.${hexId(12)}`;
  }

  /** What a new process gets into its environment. */
  environment(mark: string): Record<string, string> {
    return { [INCARNATION_VARIABLE]: mark };
  }

  /** A cgroup that holds the process from about now on; undefined where there is none to be had. */
  hold(pid: number, mark: string, memoryMaxBytes: number | undefined): Cgroup | undefined {
    const group = this.#place?.create(mark, memoryMaxBytes);
    group?.add(pid);
    return group;
  }

  /** The cgroup of a process that an earlier supervisor started. It bears the mark, or it is not touched. */
  found({ mark, cgroup }: { mark?: string | undefined; cgroup?: string | undefined }): Cgroup | undefined {
    return cgroup === undefined || mark === undefined || basename(cgroup) !== mark ? undefined : new Cgroup(cgroup);
  }

  /** So many incarnations are about to end: one look for strays will do for all that end at about the same time. */
  expectEnds(count: number): void {
    this.#strays.expect(count);
  }

  /** Kills what carries the mark; true once nothing does. */
  killMarked(mark: string | undefined): Promise<boolean> {
    return mark === undefined ? Promise.resolve(true) : this.#strays.kill(mark);
  }

  /**
   * At boot: kills what carries a mark of this home but belongs to no adopted incarnation (a supervisor killed
   * between starting a process and recording it, or leftovers of a slot that ended meanwhile). Answers the marks, and
   * the keepers of pipes, which live on until these pipes are open here.
   */
  async sweepHome(adopted: ReadonlySet<string>): Promise<{ marks: string[]; keepers: ProcessIdentity[] }> {
    const unknown = processesOfHome(this.#homeId).filter(({ value }) => !adopted.has(value));
    const isKeeper = ({ value }: { value: string }) => slotOfMark(value) === KEEPER;
    const keepers = unknown.filter(isKeeper).map(({ pid }) => identityOf(pid));
    const strangers = unknown.filter((one) => !isKeeper(one));
    const marks = [...new Set(strangers.map(({ value }) => value))];
    killOnce(strangers);
    await Promise.all([...marks.map((mark) => this.#strays.kill(mark)), this.#place?.sweep(this.#homeId, adopted)]);
    return { marks, keepers };
  }
}
