/**
 * The skills on this machine: folders with a SKILL.md below the roots, read again only where a time of
 * change says so. A bad file is a problem with its line; it never costs the others.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, statSync, type Stats } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { errnoOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { parseSkill, type ParsedSkill, type SkillFile } from './skillFile.ts';

export interface SkillEntry extends SkillFile {
  /** `general` when it lies directly in the root. */
  category: string;
  /** Folder with SKILL.md. */
  path: string;
  /** Below the profile's own skills folder: it may be changed. */
  own: boolean;
}

export interface BadSkill {
  name: string;
  category: string;
  path: string;
}

export interface LibraryProblem {
  /** SKILL.md, or a root that cannot be read. */
  path: string;
  /** Begins with `line <n>: ` where there is one. */
  message: string;
}

export interface LibraryState {
  /** By name. */
  skills: ReadonlyMap<string, SkillEntry>;
  bad: readonly BadSkill[];
  problems: readonly LibraryProblem[];
}

interface Found {
  folder: string;
  category: string;
  own: boolean;
  /** Changes with SKILL.md. */
  stamp: string;
}

/** What a directory held when it last changed. */
interface Listing {
  stamp: string;
  skill: boolean;
  folders: string[];
}

interface Remembered {
  stamp: string;
  parsed: ParsedSkill;
}

const SKILL = 'SKILL.md';

export class SkillLibrary {
  #roots: () => readonly string[];
  #files = new Map<string, Remembered>();
  #listings = new Map<string, Listing>();

  /** `roots`: the profile's own folder first; the first of two skills with one name counts. */
  constructor(roots: () => readonly string[]) {
    this.#roots = roots;
  }

  /** As it is on disk now. Costs a look at each folder and file, and a parse of those that changed. */
  read(): LibraryState {
    const problems: LibraryProblem[] = [];
    const found = this.#find(problems);
    const known = this.#files;
    this.#files = new Map();
    for (const each of found) this.#files.set(each.folder, remembered(each, known));
    return this.#state(found, problems);
  }

  /** Parses everything in small steps, so that the first turn finds it done. */
  async warm(signal: AbortSignal): Promise<void> {
    const found = this.#find([]);
    for (let at = 0; at < found.length && !signal.aborted; at += limits.skills.warmBatch) {
      for (const each of found.slice(at, at + limits.skills.warmBatch)) this.#files.set(each.folder, remembered(each, this.#files));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #find(problems: LibraryProblem[]): Found[] {
    const before = this.#listings;
    const now = (this.#listings = new Map());
    return this.#roots().flatMap((root, index) => {
      const walk: Walk = { root, own: index === 0, seen: new Set(), looked: 0, found: [], before, now };
      try {
        descend(root, 0, walk);
      } catch (thrown) {
        const errno = errnoOf(thrown);
        // Nobody has to have skills; a folder that somebody named has to be there.
        if (!(index === 0 && errno === 'ENOENT'))
          problems.push({ path: root, message: `this folder of skills cannot be read (${errno ?? String(thrown)})` });
      }
      if (walk.looked > limits.skills.foldersMax)
        problems.push({ path: root, message: `more than ${limits.skills.foldersMax} entries; the rest was not looked at` });
      return walk.found;
    });
  }

  #state(found: readonly Found[], problems: LibraryProblem[]): LibraryState {
    const skills = new Map<string, SkillEntry>();
    const bad: BadSkill[] = [];
    for (const { folder, category, own } of found) {
      const path = join(folder, SKILL);
      const { skill, problems: wrong } = this.#files.get(folder)!.parsed;
      problems.push(...wrong.map(({ line, message }) => ({ path, message: `line ${line}: ${message}` })));
      if (!skill) {
        bad.push({ name: basename(folder), category, path: folder });
        continue;
      }
      const first = skills.get(skill.name);
      if (first) problems.push({ path, message: `${join(first.path, SKILL)} has the name ${skill.name} already and stands before it` });
      else if (skills.size < limits.skills.max) skills.set(skill.name, { ...skill, category, path: folder, own });
    }
    return { skills, bad, problems };
  }
}

interface Walk {
  root: string;
  own: boolean;
  /** Directories on the way, so that links in a circle end. */
  seen: Set<string>;
  looked: number;
  found: Found[];
  before: ReadonlyMap<string, Listing>;
  now: Map<string, Listing>;
}

/** Throws what the system says of a directory that cannot be read. */
function descend(dir: string, depth: number, walk: Walk): void {
  const known = walk.before.get(dir);
  // One look at the file instead of three at the folder: most of the time nothing has changed.
  const file = known?.skill ? statOf(join(dir, SKILL)) : undefined;
  if (known && file) {
    walk.now.set(dir, known);
    return take(dir, { stat: file, depth }, walk);
  }
  const stat = statSync(dir);
  const identity = `${stat.dev}:${stat.ino}`;
  if (walk.seen.has(identity)) return;
  walk.seen.add(identity);
  const stamp = `${identity}:${stat.mtimeMs}`;
  const listing = known?.stamp === stamp && !known.skill ? known : listed(dir, stamp);
  // A directory that changed a moment ago may change again within the same tick of its clock.
  if (Date.now() - stat.mtimeMs > RACY_MS) walk.now.set(dir, listing);
  if (listing.skill) return take(dir, { stat: statOf(join(dir, SKILL)), depth }, walk);
  if (depth === limits.skills.depthMax) return;
  for (const name of listing.folders) {
    if (++walk.looked > limits.skills.foldersMax) return;
    try {
      descend(join(dir, name), depth + 1, walk);
    } catch {
      // one folder that cannot be read hides only itself
    }
  }
}

const RACY_MS = 100;

function take(folder: string, { stat, depth }: { stat: Stats | undefined; depth: number }, { root, own, found }: Walk): void {
  const category = relative(root, dirname(folder)).replaceAll('\\', '/');
  const stamp = stat ? `${stat.ino}:${stat.size}:${stat.mtimeMs}` : 'none';
  found.push({ folder, category: depth < 2 ? 'general' : category, own, stamp });
}

function listed(dir: string, stamp: string): Listing {
  const entries = readdirSync(dir, { withFileTypes: true });
  if (entries.some(({ name }) => name === SKILL)) return { stamp, skill: true, folders: [] };
  const folders = entries.filter(
    (entry) =>
      !entry.name.startsWith('.') &&
      entry.name !== 'node_modules' &&
      (entry.isDirectory() || (entry.isSymbolicLink() && (statOf(join(dir, entry.name))?.isDirectory() ?? false))),
  );
  return { stamp, skill: false, folders: folders.map(({ name }) => name).toSorted() };
}

function remembered({ folder, stamp }: Found, known: ReadonlyMap<string, Remembered>): Remembered {
  const before = known.get(folder);
  return before?.stamp === stamp ? before : { stamp, parsed: parseFile(join(folder, SKILL), basename(folder)) };
}

function parseFile(path: string, folder: string): ParsedSkill {
  const head = readHead(path);
  return typeof head === 'string' ? parseSkill(head, folder) : { skill: undefined, problems: [{ line: 1, message: head.why }] };
}

/** The beginning of the file: the frontmatter is there. */
function readHead(path: string): string | { why: string } {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (thrown) {
    return { why: `it cannot be read (${errnoOf(thrown) ?? 'error'})` };
  }
  try {
    if (!fstatSync(fd).isFile()) return { why: 'it is no regular file' };
    const bytes = Buffer.alloc(limits.skills.frontmatterMaxBytes);
    const length = readSync(fd, bytes, 0, bytes.length, 0);
    const head = bytes.subarray(0, length);
    return head.includes(0) ? { why: 'it is binary' } : head.toString('utf8');
  } catch (thrown) {
    return { why: `it cannot be read (${errnoOf(thrown) ?? 'error'})` };
  } finally {
    closeSync(fd);
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
