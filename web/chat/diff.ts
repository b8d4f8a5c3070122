/** Unified diffs in what tools say: found by their hunk heads, read line by line, never guessed. */

export interface DiffLine {
  kind: 'same' | 'added' | 'removed';
  /** Numbers in the old and the new text; null where it does not stand. */
  old: number | null;
  now: number | null;
  text: string;
}

export interface DiffFile {
  /** What the tool wrote above the hunks: the path, and what was done to it. */
  title: string;
  hunks: { head: string; lines: DiffLine[] }[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/;
/** Heads of files in diffs that other programs make: the title says the same. */
const NOISE = /^(?:diff --git |index [0-9a-f]+\.\.|--- |new file mode |deleted file mode )/;

/** Null when there is no diff in it. */
export function readDiff(text: string): DiffFile[] | null {
  if (!text.includes('@@ -')) return null;
  const files: DiffFile[] = [];
  const lines = text.replace(/\n$/, '').split('\n');
  let file: DiffFile | undefined;
  let titled = false;
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!;
    const head = HUNK.exec(line);
    if (!head) {
      at++;
      if (line.trim() === '' || NOISE.test(line)) continue;
      file = newFile(line.replace(/^\+\+\+ (?:b\/)?/, ''));
      files.push(file);
      titled = true;
      continue;
    }
    if (!file) files.push((file = newFile('')));
    const hunk = readHunk(lines, at + 1, head);
    file.hunks.push({ head: line, lines: hunk.lines });
    file.added += hunk.lines.filter(({ kind }) => kind === 'added').length;
    file.removed += hunk.lines.filter(({ kind }) => kind === 'removed').length;
    at = hunk.next;
  }
  const drawn = files.filter(({ hunks }, index) => hunks.length > 0 || (titled && index > 0) || files.length > 1);
  return drawn.some(({ hunks }) => hunks.length > 0) ? drawn : null;
}

const newFile = (title: string): DiffFile => ({ title, hunks: [], added: 0, removed: 0 });

/** As many lines as the head promises, or until something stands there that is none. */
function readHunk(lines: readonly string[], from: number, head: RegExpExecArray): { lines: DiffLine[]; next: number } {
  let old = Number(head[1]);
  let now = Number(head[3]);
  let oldLeft = Number(head[2] ?? 1);
  let nowLeft = Number(head[4] ?? 1);
  const read: DiffLine[] = [];
  let at = from;
  for (; at < lines.length && (oldLeft > 0 || nowLeft > 0); at++) {
    const line = lines[at]!;
    const text = line.slice(1);
    if (line.startsWith('+')) read.push({ kind: 'added', old: null, now: (nowLeft--, now++), text });
    else if (line.startsWith('-')) read.push({ kind: 'removed', old: (oldLeft--, old++), now: null, text });
    else if (line.startsWith(' ') || line === '') read.push({ kind: 'same', old: (oldLeft--, old++), now: (nowLeft--, now++), text });
    else if (!line.startsWith('\\')) break;
  }
  while (lines[at]?.startsWith('\\')) at++;
  return { lines: read, next: at };
}
