/**
 * Looking through a tree of files, for lines or for names: .gitignore is honoured, binaries and other
 * people's dependencies are left out, everything is bounded. Runs in a thread of its own: a regular
 * expression may take for ever, and only a thread can be ended over it.
 */
import { closeSync, readdirSync, readFileSync, readSync, statSync, type Dirent } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { limits } from '../../base/limits.ts';
import { openPlainFile } from '../../base/regularFile.ts';
import { readRegularText } from '../../base/regularFile.ts';

const { searchFileMaxBytes, searchFilesMax, searchLineMaxChars, searchMs } = limits.tools;

export interface ScanRequest {
  /** A folder, or one file. */
  root: string;
  target: 'content' | 'files';
  /** Regular expression or literal text (content), or a glob (files). */
  pattern: string;
  literal: boolean;
  ignoreCase: boolean;
  /** Only files whose path fits. */
  glob: string | null;
  /** Lines before and after each hit. */
  context: number;
  limit: number;
}

export interface ScanHit {
  path: string;
  /** 0 for names. */
  line: number;
  text: string;
  before: string[];
  after: string[];
}

export interface ScanResult {
  hits: ScanHit[];
  filesSeen: number;
  /** Why there may be more. */
  stopped: 'limit' | 'time' | 'files' | null;
}

/** Skipped everywhere, listed in .gitignore or not. */
const NEVER = new Set(['.git', '.hg', '.svn', 'node_modules', '__pycache__', '.venv']);

/** Errors: SyntaxError of the regular expression; system errors of the root itself. */
export function scan(request: ScanRequest): ScanResult {
  const result: ScanResult = { hits: [], filesSeen: 0, stopped: null };
  const deadlineMs = performance.now() + searchMs;
  const fits = request.glob === null ? () => true : globMatcher(request.glob);
  const look = request.target === 'files' ? nameLook(request) : contentLook(request);
  for (const file of filesOf(request.root)) {
    if (performance.now() > deadlineMs) return { ...result, stopped: 'time' };
    if (++result.filesSeen > searchFilesMax) return { ...result, stopped: 'files' };
    if (!fits(file.relative)) continue;
    for (const hit of look(file)) {
      if (result.hits.length >= request.limit) return { ...result, stopped: 'limit' };
      result.hits.push(hit);
    }
  }
  return result;
}

interface Found {
  path: string;
  relative: string;
}

// --- walking ---

interface Rules {
  dir: string;
  rules: Ignore;
}

/** Regular files below a folder in the order of their names; links are not followed. */
function* filesOf(root: string): Generator<Found> {
  if (!statSync(root).isDirectory()) {
    yield { path: root, relative: basename(root) };
    return;
  }
  yield* below(root, root, [...rulesAbove(root), ...rulesIn(root)]);
}

function* below(dir: string, root: string, rules: Rules[]): Generator<Found> {
  for (const entry of entriesOf(dir)) {
    const path = join(dir, entry.name);
    const isFolder = entry.isDirectory();
    if (!isFolder && !entry.isFile()) continue;
    if (NEVER.has(entry.name) || isIgnored(path, isFolder, rules)) continue;
    if (isFolder) yield* below(path, root, [...rules, ...rulesIn(path)]);
    else yield { path, relative: relative(root, path) };
  }
}

function entriesOf(dir: string): Dirent[] {
  try {
    return readdirSync(dir, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** The nearest file that says anything about the path decides, as in git. */
function isIgnored(path: string, isFolder: boolean, rules: Rules[]): boolean {
  for (const { dir, rules: here } of rules.toReversed()) {
    const verdict = here.test(relative(dir, path) + (isFolder ? '/' : ''));
    if (verdict.ignored || verdict.unignored) return verdict.ignored;
  }
  return false;
}

function rulesIn(dir: string): Rules[] {
  try {
    return [{ dir, rules: ignore().add(readRegularText(join(dir, '.gitignore'))) }];
  } catch {
    return [];
  }
}

/** Those between the top of the repository and the root. */
function rulesAbove(root: string): Rules[] {
  const found: Rules[] = [];
  for (let dir = root; ;) {
    if (statSync(join(dir, '.git'), { throwIfNoEntry: false })) return found;
    const parent = dirname(dir);
    if (parent === dir) return [];
    found.unshift(...rulesIn(parent));
    dir = parent;
  }
}

// --- names ---

/** Globs in the sense of .gitignore: without a slash anywhere, `{a,b}` for alternatives. */
function globMatcher(glob: string): (path: string) => boolean {
  const rules = ignore().add(expandBraces(glob.replace(/^\.\//, '')).map((one) => one.replace(/^(?=[!#])/, '\\')));
  return (path) => rules.ignores(path);
}

const ALTERNATIVES_MAX = 200;

function expandBraces(glob: string): string[] {
  const match = /^(.*?)\{([^{}]*,[^{}]*)\}(.*)$/s.exec(glob);
  if (!match) return [glob];
  const [, head, middle, tail] = match as unknown as [string, string, string, string];
  return middle
    .split(',')
    .flatMap((part) => expandBraces(head + part + tail))
    .slice(0, ALTERNATIVES_MAX);
}

function nameLook({ pattern }: ScanRequest): (file: Found) => ScanHit[] {
  const fits = globMatcher(pattern);
  return ({ path, relative: name }) => (fits(name) ? [{ path, line: 0, text: '', before: [], after: [] }] : []);
}

// --- lines ---

function contentLook({ pattern, literal, ignoreCase, context }: ScanRequest): (file: Found) => Iterable<ScanHit> {
  const expression = new RegExp(literal ? RegExp.escape(pattern) : pattern, ignoreCase ? 'i' : '');
  return function* ({ path }) {
    const text = textOf(path);
    // One look at the whole is faster than a look at each line; an expression with anchors may fit only a line.
    if (text === undefined || (literal && !expression.test(text))) return;
    const lines = text.split('\n');
    for (const [index, line] of lines.entries()) {
      if (!expression.test(line)) continue;
      const around = (from: number, to: number) => lines.slice(Math.max(0, from), to).map(shortened);
      yield {
        path,
        line: index + 1,
        text: shortened(line),
        before: around(index - context, index),
        after: around(index + 1, index + 1 + context),
      };
    }
  };
}

const shortened = (line: string): string => {
  const plain = line.endsWith('\r') ? line.slice(0, -1) : line;
  return plain.length > searchLineMaxChars ? `${plain.slice(0, searchLineMaxChars)}…` : plain;
};

/** Undefined for what is binary, too large, not a file of a disk, or cannot be read. */
function textOf(path: string): string | undefined {
  let fd: number | undefined;
  try {
    const file = openPlainFile(path);
    if (file.kind !== 'file') return undefined;
    fd = file.fd;
    const { size } = file.stat;
    if (size > searchFileMaxBytes) return undefined;
    const head = Buffer.alloc(Math.min(1_024, size));
    if (head.subarray(0, readSync(fd, head, 0, head.length, 0)).includes(0)) return undefined;
    // From its beginning: reading at a place does not move the place of the file.
    return readFileSync(fd, 'utf8');
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
