/**
 * `patch`: changes parts of files. Mode `replace` exchanges one piece of text in one file, mode `patch`
 * applies a unified diff to several. All of it happens or none: a failure puts back what was written.
 */
import { z } from 'zod';
import { AgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Danger, ToolResult } from '../ports.ts';
import { openForChange, removeFile, replaceFile, type FileBefore, type FileHost } from './fileAccess.ts';
import { pathDanger } from './pathDanger.ts';
import { defineTool, type Tool } from './registry.ts';
import { replaceText } from './replaceText.ts';
import { shownDiff } from './textDiff.ts';

const Args = z.object({
  mode: z.enum(['replace', 'patch']).optional().describe('Default replace.'),
  path: z.string().min(1).optional().describe('replace: the file.'),
  old_string: z.string().min(1).optional().describe('replace: exact text, unique in the file.'),
  new_string: z.string().optional(),
  replace_all: z.boolean().optional(),
  patch: z.string().min(1).max(limits.tools.writeMaxChars).optional().describe('patch: a unified diff, of several files if need be.'),
});
type Args = z.infer<typeof Args>;

/** A file and what it is to become; null = it goes. */
interface Change {
  before: FileBefore;
  after: string | null;
  note: string | null;
}

export function patchTool(host: FileHost): Tool {
  return defineTool({
    name: 'patch',
    toolset: 'file',
    description: 'Changes parts of text files: replaces old_string by new_string, or applies a unified diff (mode patch). All or nothing.',
    args: Args,
    danger: (args) => dangerOf(args, host),
    async run(args) {
      const changes = args.mode === 'patch' || (args.mode === undefined && args.patch) ? await patched(args, host) : [replaced(args, host)];
      apply(changes, host);
      return report(changes);
    },
  });
}

function dangerOf({ mode, path, patch }: Args, host: FileHost): Danger | undefined {
  if (mode !== 'patch' && !(mode === undefined && patch)) return path === undefined ? undefined : pathDanger('change', [path], host);
  return pathDanger('change', namesIn(patch ?? ''), host);
}

/** Files that a diff names, as its owner is asked about them; this may not wait for the parser. */
function namesIn(patch: string): string[] {
  const names = [...patch.matchAll(/^(?:---|\+\+\+)[^\S\n]+([^\t\r\n]+)/gm)].map(([, name]) => stripped(name!));
  return [...new Set(names.filter((name) => name !== null))];
}

function replaced({ path, old_string, new_string, replace_all = false }: Args, host: FileHost): Change {
  if (path === undefined || old_string === undefined || new_string === undefined) {
    throw new AgentError('BAD_REQUEST', 'mode replace needs path, old_string and new_string');
  }
  if (old_string === new_string) throw new AgentError('BAD_REQUEST', 'old_string and new_string are the same');
  const before = existing(path, host);
  const { text, count, note } = replaceText(before.text, { old: old_string, new: new_string, all: replace_all });
  return { before, after: text, note: note ?? (count > 1 ? `${count} places` : null) };
}

function existing(name: string, host: FileHost): FileBefore & { text: string } {
  const before = openForChange(name, host);
  if (before.text === null) {
    throw new AgentError('NOT_FOUND', `there is no file ${before.path}`, { fix: 'write_file makes a new one' });
  }
  if (!before.isUtf8) {
    throw new AgentError(
      'BAD_REQUEST',
      `${before.path} is text of another encoding than UTF-8; a change here would damage what is not shown`,
      {
        fix: 'change it with a command that works on bytes, for example sed, or convert it with iconv first',
      },
    );
  }
  return { ...before, text: before.text };
}

// --- unified diffs ---

async function patched({ patch }: Args, host: FileHost): Promise<Change[]> {
  if (patch === undefined) throw new AgentError('BAD_REQUEST', 'mode patch needs patch, a unified diff');
  const { parsePatch, applyPatch } = await import('diff');
  let files: ReturnType<typeof parsePatch>;
  try {
    files = parsePatch(patch).filter(({ hunks }) => hunks.length > 0);
  } catch (thrown) {
    throw new AgentError('BAD_REQUEST', `this is no unified diff: ${messageOf(thrown)}`, {
      fix: 'count the lines of each hunk, or use mode replace',
    });
  }
  if (files.length === 0)
    throw new AgentError('BAD_REQUEST', 'the patch changes nothing', { fix: 'begin each file with --- and +++ lines' });
  if (files.length > limits.tools.patchFilesMax)
    throw new AgentError('BAD_REQUEST', `${files.length} files; ${limits.tools.patchFilesMax} at most`);
  const judged = new Set(namesIn(patch));
  const seen = new Set<string>();
  return files.map((file): Change => {
    const from = stripped(file.oldFileName ?? '');
    const to = stripped(file.newFileName ?? '');
    const name = to ?? from;
    if (name === null) throw new AgentError('BAD_REQUEST', 'a part of the patch names no file');
    // The parser reads quotes and escapes in names: what it makes of them is no file that anybody was asked about.
    if (!judged.has(name))
      throw new AgentError('BAD_REQUEST', `the patch names ${name} in quotes or escapes`, { fix: 'write names of files as they are' });
    if (from !== null && to !== null && from !== to) throw new AgentError('BAD_REQUEST', `${from} → ${to}: files are not renamed here`);
    const before = from === null ? openForChange(name, host) : existing(name, host);
    if (from === null && before.text !== null) throw new AgentError('BAD_REQUEST', `${before.path} exists already`);
    if (seen.has(before.real)) throw new AgentError('BAD_REQUEST', `${before.path} occurs twice in the patch`);
    seen.add(before.real);
    const source = before.text ?? '';
    const exact = applyPatch(source, file, { autoConvertLineEndings: true });
    const loose =
      exact === false ? applyPatch(source, file, { autoConvertLineEndings: true, fuzzFactor: 1, compareLine: sameButSpace }) : exact;
    if (loose === false) {
      throw new AgentError('BAD_REQUEST', `the patch does not fit ${before.path}; nothing was changed`, {
        fix: 'read the file again and make the diff anew',
      });
    }
    return {
      before,
      after: to === null ? null : loose,
      note: exact === false ? 'white space or a line of context differed; matched without regard to it' : null,
    };
  });
}

/** `a/x` → `x`; null = /dev/null or nothing. */
function stripped(name: string): string | null {
  const plain = name.trim();
  if (plain === '' || plain === '/dev/null') return null;
  return plain.replace(/^[ab]\//, '');
}

function sameButSpace(_line: number, line: string | undefined, _operation: string, patchContent: string): boolean {
  return line?.trim().replace(/\s+/g, ' ') === patchContent.trim().replace(/\s+/g, ' ');
}

// --- all or nothing ---

function apply(changes: readonly Change[], host: FileHost): void {
  const done: Change[] = [];
  try {
    for (const change of changes) {
      if (change.after === null) removeFile(change.before);
      else if (change.after !== change.before.text) replaceFile(change.before, change.after, host);
      done.push(change);
    }
  } catch (thrown) {
    for (const { before } of done.toReversed()) {
      if (before.text === null) removeFile(before);
      else replaceFile(before, before.text, host);
    }
    throw thrown;
  }
}

async function report(changes: readonly Change[]): Promise<ToolResult> {
  const files = [];
  const parts = [];
  for (const { before, after, note } of changes) {
    const diff = await shownDiff(before.text ?? '', after ?? '');
    const what = after === null ? 'deleted' : before.text === null ? 'created' : 'changed';
    files.push({ path: before.path, what, added: diff.added, removed: diff.removed, diff: diff.text, note });
    parts.push([`${before.path} ${what}${note ? ` (${note})` : ''}`, what === 'changed' && diff.text].filter(Boolean).join('\n'));
  }
  return { text: parts.join('\n'), data: { files }, isError: false };
}
