/** `search_files`: lines or names of files below a folder, .gitignore honoured. */
import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { z } from 'zod';
import { AgentError, errnoOf, isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { ToolResult } from '../ports.ts';
import { hostPath, refuseOutside, type FileSandbox } from './fileAccess.ts';
import type { Offload } from './heavyTask.ts';
import { defineTool, type Tool } from './registry.ts';
import type { ScanHit, ScanResult } from './scan.ts';

export interface SearchFilesOptions {
  cwd: string;
  offload: Offload;
  isSecret(realPath: string): boolean;
  sandbox?: FileSandbox | undefined;
}

const { searchDefault, searchMax, searchMs } = limits.tools;
/** Beyond the scan's own limit: an expression that never comes back is ended with its thread. */
const THREAD_GRACE_MS = 5_000;

const Args = z.object({
  pattern: z.string().min(1).max(2_000).describe('Regular expression over lines; with target files a glob (`*.ts`, `src/**/*.{js,ts}`).'),
  target: z.enum(['content', 'files']).optional().describe('Default content.'),
  path: z.string().optional().describe('Folder or file; default: the directory of the session.'),
  glob: z.string().max(500).optional().describe('Only files that fit.'),
  literal: z.boolean().optional().describe('The pattern is plain text.'),
  ignore_case: z.boolean().optional(),
  context: z.number().int().min(0).max(10).optional().describe('Lines around each hit.'),
  limit: z.number().int().min(1).max(searchMax).optional().describe(`Default ${searchDefault}.`),
});

export function searchFilesTool({ cwd, offload, isSecret, sandbox }: SearchFilesOptions): Tool {
  return defineTool({
    name: 'search_files',
    toolset: 'file',
    description: 'Searches file contents or file names below a folder. What .gitignore names, and binaries, are left out.',
    args: Args,
    readsOnly: true,
    async run(
      { pattern, target = 'content', path = '.', glob, literal = false, ignore_case = false, context = 0, limit = searchDefault },
      { signal },
    ) {
      const root = realRoot(hostPath(path, { cwd, sandbox }));
      refuseOutside(root, root, 'read', sandbox);
      refuseBadExpression(pattern, target === 'content' && !literal);
      const request = { root, target, pattern, literal, ignoreCase: ignore_case, glob: glob ?? null, context, limit };
      const found = await offload.scan(request, { signal, timeoutMs: searchMs + THREAD_GRACE_MS }).catch((thrown: unknown) => {
        if (!isAgentError(thrown) || thrown.code !== 'TIMEOUT') throw thrown;
        throw new AgentError('TOOL_TIMEOUT', 'the search was stopped: the pattern takes too long on some line', {
          fix: 'use a simpler expression, literal, or a narrower path or glob',
        });
      });
      const hits = found.hits.filter((hit) => !isSecret(hit.path) && (sandbox?.mayRead(hit.path) ?? true));
      return render({ ...found, hits }, { root, target, context });
    },
  });
}

function realRoot(path: string): string {
  try {
    return realpathSync(path);
  } catch (thrown) {
    throw new AgentError('NOT_FOUND', `cannot look into ${path} (${errnoOf(thrown) ?? String(thrown)})`, { cause: thrown });
  }
}

function refuseBadExpression(pattern: string, isExpression: boolean): void {
  if (!isExpression) return;
  try {
    new RegExp(pattern);
  } catch (thrown) {
    throw new AgentError('BAD_REQUEST', `pattern: ${(thrown as Error).message}`, { fix: 'mend the expression, or set literal' });
  }
}

const STOPPED = {
  limit: 'there are more; raise limit or narrow the search',
  time: `stopped after ${searchMs / 1_000} s; narrow the search`,
  files: `stopped after ${limits.tools.searchFilesMax} files; narrow the search`,
};

function render({ hits, filesSeen, stopped }: ScanResult, how: { root: string; target: string; context: number }): ToolResult {
  const { root, target, context } = how;
  const shown = (path: string) => relative(root, path) || path;
  const text = target === 'files' ? hits.map((hit) => shown(hit.path)).join('\n') : byFile(hits, shown, context);
  const more = stopped ? `[${STOPPED[stopped]}]` : '';
  const none = hits.length === 0 ? `Nothing found in ${filesSeen} files below ${root}.` : `Below ${root}:`;
  const rows = hits.map(({ path, line, text: found }) => (target === 'files' ? { path } : { path, line, text: found }));
  return {
    text: [none, text, more].filter(Boolean).join('\n'),
    data: { root, hits: rows, files_seen: filesSeen, stopped },
    isError: false,
  };
}

/** One heading a file; lines that several hits have in common stand once. */
function byFile(hits: ScanHit[], shown: (path: string) => string, context: number): string {
  return [...Map.groupBy(hits, (hit) => hit.path)].map(([path, own]) => [shown(path), ...numbered(own, context)].join('\n')).join('\n');
}

function numbered(hits: ScanHit[], context: number): string[] {
  const lines = new Map<number, { text: string; isHit: boolean }>();
  for (const { line, text, before, after } of hits) {
    for (const [index, other] of [...before, text, ...after].entries()) {
      const number = line - before.length + index;
      if (number === line || !lines.has(number)) lines.set(number, { text: other, isHit: number === line });
    }
  }
  const sorted = [...lines].toSorted(([a], [b]) => a - b);
  return sorted.flatMap(([number, { text, isHit }], index) => {
    const isGap = context > 0 && index > 0 && sorted[index - 1]![0] < number - 1;
    return [...(isGap ? ['  --'] : []), `  ${number}${isHit ? ':' : '-'} ${text}`];
  });
}
