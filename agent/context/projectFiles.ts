/**
 * The instructions of a project, found from the working directory. One kind counts, the first that is
 * there: `.agent.md` or `AGENT.md` up to the root of the repository, `AGENTS.md`, `CLAUDE.md`, then the
 * rules of Cursor. The others are named as shadowed, so that nobody wonders.
 */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { limits } from '../../base/limits.ts';
import { readContextFile, type ContextFile } from './contextFile.ts';

/** Files with their status, those in force first; empty when the project says nothing. */
export function projectFiles(cwd: string): ContextFile[] {
  const dir = realDirectory(cwd);
  if (dir === undefined) return [];
  const found: ContextFile[] = [];
  let winner: ContextFile | undefined;
  for (const kind of kinds(dir)) {
    const files = kind.filter(({ status }) => status !== 'missing');
    const usable = files.some(({ text }) => text !== '');
    found.push(...(winner ? files.map((file) => shadowed(file, winner!)) : files));
    if (!winner && usable) winner = files.find(({ text }) => text !== '');
  }
  return found;
}

/** The file whose kind is in force in this directory. */
export const projectFileInForce = (files: readonly ContextFile[]): ContextFile | undefined => files.find(({ text }) => text !== '');

function* kinds(dir: string): Iterable<ContextFile[]> {
  yield fromHereUp(dir);
  yield [readContextFile(join(dir, 'AGENTS.md'))];
  yield [readContextFile(join(dir, 'CLAUDE.md'))];
  yield cursorRules(dir);
}

/** The nearest one on the way up to the root of the repository; without a repository only here. */
function fromHereUp(dir: string): ContextFile[] {
  for (const place of wayUp(dir)) {
    for (const name of ['.agent.md', 'AGENT.md']) {
      const file = readContextFile(join(place, name), { label: relative(dir, join(place, name)) });
      if (file.status !== 'missing') return [file];
    }
  }
  return [];
}

function wayUp(dir: string): string[] {
  const places = [dir];
  for (let place = dir; places.length <= limits.context.upMax; place = dirname(place)) {
    if (existsSync(join(place, '.git'))) return places;
    if (dirname(place) === place) break;
    places.push(dirname(place));
  }
  return [dir];
}

/** `.cursorrules` and `.cursor/rules/*.mdc`, in this order; together they have the room of one file. */
function cursorRules(dir: string): ContextFile[] {
  let room: number = limits.context.fileMaxChars;
  const files: ContextFile[] = [];
  for (const name of ['.cursorrules', ...ruleNames(dir)]) {
    if (room < 200) break;
    const file = readContextFile(join(dir, name), { label: name, maxChars: room, strip: withoutFrontmatter });
    room -= file.text.length;
    files.push(file);
  }
  return files;
}

function ruleNames(dir: string): string[] {
  try {
    return readdirSync(join(dir, '.cursor', 'rules'))
      .filter((name) => name.endsWith('.mdc'))
      .toSorted()
      .slice(0, limits.context.rulesMax)
      .map((name) => join('.cursor', 'rules', name));
  } catch {
    return [];
  }
}

const withoutFrontmatter = (text: string): string => text.replace(/^---\n[\s\S]*?\n---(?:\n|$)/, '');

const shadowed = (file: ContextFile, { label }: ContextFile): ContextFile =>
  file.text === '' ? file : { ...file, text: '', loaded: false, status: `shadowed by ${label}` };

function realDirectory(cwd: string): string | undefined {
  try {
    return realpathSync(cwd);
  } catch {
    return undefined;
  }
}
