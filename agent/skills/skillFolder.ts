/** Files of one skill. Nothing outside its folder is named or read, whatever a path or a link says. */
import { readdirSync, realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { readTextFile } from '../context/textFile.ts';
import { isSafeRelative } from './skillFile.ts';

const { fileMaxBytes, filesDepthMax, filesMax } = limits.skills;

/** Errors: BAD_REQUEST for a path that leads out, NOT_FOUND with the names there are. */
export function readSkillFile(folder: string, file: string): string {
  const path = pathInside(folder, file);
  const read = readTextFile(path, fileMaxBytes);
  if (read.kind === 'text') return read.text;
  if (read.kind === 'missing') throw noFile(folder, file);
  throw new AgentError('BAD_REQUEST', `${path} cannot be shown: ${read.why}`, { fix: 'use the terminal for what is no text' });
}

/** Null = there is no such file. Errors: BAD_REQUEST. */
export function textOrNull(folder: string, file: string): string | null {
  try {
    return readSkillFile(folder, file);
  } catch (thrown) {
    if (thrown instanceof AgentError && thrown.code === 'NOT_FOUND') return null;
    throw thrown;
  }
}

/** Where a file of the skill lies or would lie. Errors: BAD_REQUEST. */
export function pathInside(folder: string, file: string): string {
  if (!isSafeRelative(file)) {
    throw new AgentError('BAD_REQUEST', `"${file}" is not a path below the folder of the skill`, {
      field: 'file',
      fix: 'write it relative to the folder and without .., for example references/api.md',
    });
  }
  const path = join(folder, file);
  const real = nearestReal(path);
  const root = realpathSync(folder);
  if (real !== root && !real.startsWith(root + sep)) {
    throw new AgentError('BAD_REQUEST', `${path} is a link that leads out of the folder of the skill`, { field: 'file' });
  }
  return path;
}

/** Real path of the file, or of the nearest directory above it that exists. */
function nearestReal(path: string): string {
  for (let at = path; ; at = join(at, '..')) {
    try {
      return realpathSync(at);
    } catch (thrown) {
      if (errnoOf(thrown) !== 'ENOENT' && errnoOf(thrown) !== 'ENOTDIR')
        throw new AgentError('BAD_REQUEST', `${path} cannot be used (${errnoOf(thrown) ?? 'error'})`, { cause: thrown, field: 'file' });
    }
  }
}

/** Names of the files beside SKILL.md, with slashes, sorted. */
export function skillFiles(folder: string): string[] {
  const names: string[] = [];
  const look = (below: string, depth: number): void => {
    for (const entry of entriesOf(join(folder, below))) {
      if (names.length >= filesMax) return;
      const name = below ? `${below}/${entry.name}` : entry.name;
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      if (entry.isDirectory() && depth < filesDepthMax) look(name, depth + 1);
      else if (entry.isFile() && name !== 'SKILL.md') names.push(name);
    }
  };
  look('', 1);
  return names.toSorted();
}

function entriesOf(dir: string) {
  try {
    return readdirSync(dir, { withFileTypes: true });
  } catch {
    return [];
  }
}

function noFile(folder: string, file: string): AgentError {
  const names = skillFiles(folder);
  return new AgentError('NOT_FOUND', `the skill has no file ${file}`, {
    fix: names.length ? `it has SKILL.md, ${names.slice(0, 20).join(', ')}` : 'it has SKILL.md alone',
  });
}
