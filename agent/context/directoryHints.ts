/**
 * AGENTS.md of subdirectories, found as the work gets there: the first result of a tool about a file
 * below one carries it, once a session. The beginning of the prompt stays as it was.
 */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { limits } from '../../base/limits.ts';
import { readContextFile } from './contextFile.ts';
import { projectFileInForce, projectFiles } from './projectFiles.ts';

export class DirectoryHints {
  #cwd: string | undefined;
  #seen = new Set<string>();
  #given = 0;

  constructor(cwd: string) {
    this.#cwd = real(cwd);
  }

  /** What to add to a result about `path`: empty when nothing is new. Never throws. */
  for(path: string): string {
    const file = real(path);
    if (file === undefined || this.#cwd === undefined) return '';
    // Whoever reads the file itself has it already.
    if (basename(file) === 'AGENTS.md') this.#seen.add(dirname(file));
    return directoriesBelow(this.#cwd, file)
      .map((dir) => this.#hintOf(dir))
      .join('');
  }

  #hintOf(dir: string): string {
    if (this.#seen.has(dir) || this.#given >= limits.context.hintsMax) return '';
    this.#seen.add(dir);
    const label = relative(this.#cwd!, join(dir, 'AGENTS.md'));
    const { text } = readContextFile(join(dir, 'AGENTS.md'), { label, maxChars: limits.context.hintMaxChars });
    if (!text || !this.#applies()) return '';
    this.#given++;
    return `\n\n[${label} applies to what lies below it:]\n${text}`;
  }

  /** One kind of context file counts: not when the project speaks through another one. */
  #applies(): boolean {
    const inForce = projectFileInForce(projectFiles(this.#cwd!));
    return inForce === undefined || inForce.label === 'AGENTS.md';
  }
}

/** Directories from just below `cwd` down to that of the file, outermost first. */
function directoriesBelow(cwd: string, file: string): string[] {
  const inside = relative(cwd, dirname(file));
  if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`)) return [];
  const parts = inside.split(sep);
  return parts.map((_, index) => join(cwd, ...parts.slice(0, index + 1)));
}

function real(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
