/** What a test file said in TAP, read for people: its titled tests, and each failure with what it takes to understand it. */

export interface Point {
  ok: boolean;
  title: string;
  skip: string | undefined;
}

/** The tests of the file itself; what stands inside of them is indented. */
export function pointsOf(lines: readonly string[]): Point[] {
  const points: Point[] = [];
  let before = '';
  for (const line of lines) {
    const point = readPoint(line);
    if (!point) continue;
    // Of a test that ran out of time tap tells a second time, under another number.
    const said = line.replace(/\d+/, '');
    if (point.ok || said !== before) points.push(point);
    before = said;
  }
  return points;
}

function readPoint(line: string): Point | undefined {
  const match = /^(not )?ok \d+(?: - (.*?))?(?: # (.*))?$/.exec(line.replace(/ \{$/, ''));
  if (!match) return undefined;
  const [, not, title = '', directive = ''] = match;
  const skip = /^(?:SKIP|TODO)\b\s*(.*)$/i.exec(directive)?.[1];
  return { ok: not === undefined, title, skip };
}

/** Each assert that failed, behind the titles of the tests that it stands in, with its diagnostics; and tests that failed without one. */
export function failures(lines: readonly string[]): string[] {
  const told: string[] = [];
  /** Titles of the tests that are open, by their depth. */
  let titles: string[] = [];
  let toldIn = '';
  for (const [at, line] of lines.entries()) {
    const [, spaces = '', what = ''] = /^( *)(.*)$/.exec(line)!;
    const depth = spaces.length / 4;
    const opened = /^# Subtest: (.*)$/.exec(what)?.[1];
    if (opened !== undefined) titles = [...titles.slice(0, depth), opened];
    if (/^Bail out!/.test(what)) told.push(what);
    const failed = readPoint(what);
    if (!failed || failed.ok || failed.skip !== undefined) continue;
    const path = [...titles.slice(0, depth), failed.title].join(' › ');
    const isTest = titles[depth] === failed.title;
    if (isTest && toldIn.startsWith(path)) continue;
    toldIn = path;
    told.push(`✗ ${path}`, ...diagnosticsBelow(lines, at, spaces.length));
  }
  return told;
}

function diagnosticsBelow(lines: readonly string[], at: number, indent: number): string[] {
  if (!lines[at + 1]?.startsWith(`${' '.repeat(indent + 2)}---`)) return [];
  const end = lines.indexOf(`${' '.repeat(indent + 2)}...`, at);
  return lines.slice(at + 2, end).map((line) => `  ${line.slice(indent + 2)}`);
}
