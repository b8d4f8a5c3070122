/**
 * Which files a session reads for its prompt, by what kind of session it is. Full: all. Scheduled:
 * SOUL.md always, the project only when it was given a working directory. Delegated: none of them, its
 * task says all it needs. Safe: nothing that a user or a project wrote.
 */
import { join } from 'node:path';
import { limits } from '../../base/limits.ts';
import { blockedMarker, readContextFile, type ContextFile } from './contextFile.ts';
import { projectFiles } from './projectFiles.ts';
import { scanText } from './scan.ts';

export type PromptKind = 'full' | 'scheduled' | 'delegated' | 'safe';

export interface PromptFiles {
  soul: ContextFile | undefined;
  memory: ContextFile | undefined;
  user: ContextFile | undefined;
  project: ContextFile[];
}

export interface FilesInput {
  kind: PromptKind;
  /** SOUL.md, and the folder of MEMORY.md and USER.md. */
  soul: string;
  memories: string;
  /** `memory.enabled`. */
  memoryEnabled: boolean;
  cwd: string;
  /** Somebody chose the working directory; otherwise a scheduled job has no project. */
  cwdChosen: boolean;
}

export function readPromptFiles({ kind, soul, memories, memoryEnabled, cwd, cwdChosen }: FilesInput): PromptFiles {
  if (kind === 'safe' || kind === 'delegated') return { soul: undefined, memory: undefined, user: undefined, project: [] };
  return {
    soul: readContextFile(soul),
    memory: memoryEnabled ? memoryFile(join(memories, 'MEMORY.md'), limits.tools.memoryMaxChars) : undefined,
    user: memoryEnabled ? memoryFile(join(memories, 'USER.md'), limits.tools.userMaxChars) : undefined,
    project: kind === 'full' || cwdChosen ? projectFiles(cwd) : [],
  };
}

/** All of them, as they are listed; a project without any is one row that says so. */
export function listedFiles({ soul, memory, user, project }: PromptFiles, cwd: string): ContextFile[] {
  const none: ContextFile = { label: 'AGENTS.md', path: join(cwd, 'AGENTS.md'), chars: 0, text: '', loaded: false, status: 'missing' };
  const own = [soul, memory, user].filter((file) => file !== undefined);
  if (own.length === 0 && project.length === 0) return [];
  return [...own, ...(project.length === 0 ? [none] : project)];
}

/** Each entry is looked through by itself: one that a page talked the agent into must not cost the others. */
function memoryFile(path: string, maxChars: number): ContextFile {
  const marked = new Set<string>();
  const file = readContextFile(path, {
    maxChars,
    strip: (text) =>
      text
        .split(/\n?§\n?/)
        .map((entry) => {
          const finding = scanText(entry);
          if (!finding) return entry;
          marked.add(finding.why);
          return blockedMarker('An entry', `it ${finding.why}`);
        })
        .join('\n§\n'),
  });
  return marked.size === 0 || !file.loaded ? file : { ...file, status: `blocked: an entry ${[...marked].join('; another ')}` };
}
