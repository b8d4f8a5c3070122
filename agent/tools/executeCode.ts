/** `execute_code`: a script in a folder of its own, by the interpreters this machine has, under the rules of every command. */
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { z } from 'zod';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Danger } from '../ports.ts';
import { TEMP } from '../sandbox/policy.ts';
import type { CommandHost } from './command.ts';
import { defineTool, type Tool } from './registry.ts';
import { runToEnd, timeoutMsOf } from './runToEnd.ts';

export const languages = { python: 'python3', node: 'node', bash: 'bash' } as const;
export type Language = keyof typeof languages;

const FILES: Record<Language, string> = { python: 'script.py', node: 'script.mjs', bash: 'script.sh' };

export interface ExecuteCodeOptions {
  /** Named in the environment as SESSION_DIR; the script itself runs in its own folder. */
  cwd: string;
  host: CommandHost;
  /** Path of each interpreter that is there. */
  interpreters: ReadonlyMap<Language, string>;
  timeoutSeconds?: number | undefined;
  /** What is dangerous about a command that would run there. */
  dangerOf?: ((command: string, workdir?: string) => Danger | undefined) | undefined;
}

const maxSeconds = limits.tools.terminalMaxMs / 1_000;

/** By the interpreters of the worker, which do not change: a schema is made once. */
const argsByHost = new WeakMap<ReadonlyMap<Language, string>, ReturnType<typeof makeArgs>>();

function argsFor(interpreters: ReadonlyMap<Language, string>): ReturnType<typeof makeArgs> {
  const args = argsByHost.get(interpreters) ?? makeArgs([...interpreters.keys()] as [Language, ...Language[]]);
  argsByHost.set(interpreters, args);
  return args;
}

const makeArgs = (names: [Language, ...Language[]]) =>
  z.object({
    language: z.enum(names),
    code: z.string().min(1).max(limits.tools.codeMaxChars),
    timeout: z.number().positive().max(maxSeconds).optional().describe('Seconds.'),
  });

/** At least one interpreter is there. */
export function executeCodeTool({ cwd, host, interpreters, timeoutSeconds, dangerOf }: ExecuteCodeOptions): Tool {
  return defineTool({
    name: 'execute_code',
    toolset: 'code_execution',
    description: 'Runs a script in an empty temporary folder; answers its output. SESSION_DIR names the directory of the session.',
    args: argsFor(interpreters),
    danger: ({ language, code }) => (language === 'bash' ? dangerOf?.(code, join(tmpdir(), 'agent-code')) : scriptDanger(language, code)),
    async run({ language, code, timeout }, run) {
      const dir = scriptFolder(FILES[language], code, host.sandbox?.temp ?? tmpdir());
      try {
        const env = () => ({ ...host.env(), SESSION_DIR: cwd });
        const shownDir = host.sandbox ? join(TEMP, basename(dir)) : dir;
        const spec = { file: interpreters.get(language)!, args: [FILES[language]], cwd: shownDir, name: 'execute_code' };
        return await runToEnd({ ...spec, timeoutMs: timeoutMsOf(timeout, timeoutSeconds) }, { ...host, env }, run);
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
  });
}

/** A program can do whatever a command can, and its text does not tell. */
function scriptDanger(language: Language, code: string): Danger {
  return {
    command: code,
    reasons: [`what a ${language} script does is not visible in its text`],
    rule: `this ${language} script (${sha256(code)})`,
  };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

function scriptFolder(file: string, code: string, parent: string): string {
  let dir: string | undefined;
  try {
    dir = mkdtempSync(join(parent, 'agent-code-'));
    writeFileSync(join(dir, file), code, { mode: 0o600 });
    return dir;
  } catch (cause) {
    if (dir) rmSync(dir, { recursive: true, force: true });
    const isFull = errnoOf(cause) === 'ENOSPC';
    throw new AgentError(isFull ? 'DISK_FULL' : 'FILE_FAILED', `the script cannot be written below ${parent} (${errnoOf(cause)})`, {
      cause,
    });
  }
}

/** Looked up once, in the PATH the scripts will have. */
export function findInterpreters(path: string): Map<Language, string> {
  const found = new Map<Language, string>();
  for (const [language, name] of Object.entries(languages) as [Language, string][]) {
    const file = path
      .split(delimiter)
      .filter((dir) => dir.startsWith('/'))
      .map((dir) => join(dir, name))
      .find(isExecutable);
    if (file) found.set(language, file);
  }
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
