/**
 * Skills whose files live in a public repository: fetched when they are read, kept with their ETag, and
 * read from the copy when the network is away. What comes from there is looked through like any stranger's text.
 */
import { AgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';
import { scanText } from '../context/scan.ts';
import type { Web } from '../ports.ts';
import { isSafeRelative, type Upstream } from './skillFile.ts';

export interface UpstreamCopy {
  text: string;
  etag: string | null;
  /** Milliseconds: when it was last known to be the newest. */
  checkedAt: number;
}

export interface UpstreamParts {
  /** Address before `/owner/name/HEAD/path`. */
  base(): string;
  web: Pick<Web, 'fetch'>;
  /** Copies by address. `write` may fail without harm. */
  copies: { read(url: string): UpstreamCopy | undefined; write(url: string, copy: UpstreamCopy): void };
  now(): number;
}

export interface UpstreamFile {
  text: string;
  /** Said with the text when it may be old. */
  note: string | null;
}

const { fileMaxBytes, upstreamFreshMs, upstreamMs } = limits.skills;

/** Errors: BAD_REQUEST for an unsafe path, SKILL_UNREACHABLE without network and copy, TOOL_REFUSED for text that attacks. */
export async function upstreamFile(
  parts: UpstreamParts,
  { repo, path }: Upstream,
  file: string,
  signal: AbortSignal,
): Promise<UpstreamFile> {
  if (!isSafeRelative(file) || !isSafeRelative(path))
    throw new AgentError('BAD_REQUEST', `"${file}" is not a path below the folder of the skill`, { field: 'file' });
  const url = `${parts.base().replace(/\/+$/, '')}/${[...repo.split('/'), 'HEAD', ...path.split('/'), ...file.split('/')].map(encodeURIComponent).join('/')}`;
  const copy = parts.copies.read(url);
  if (copy && parts.now() - copy.checkedAt < upstreamFreshMs) return { text: copy.text, note: null };
  try {
    const text = await fetched(parts, url, copy, signal);
    return { text, note: null };
  } catch (thrown) {
    if (signal.aborted || (thrown instanceof AgentError && thrown.code === 'TOOL_REFUSED')) throw thrown;
    if (copy) return { text: copy.text, note: `This is the copy of ${isoTime(copy.checkedAt)}: ${messageOf(thrown)}.` };
    throw new AgentError('SKILL_UNREACHABLE', `${file} of ${repo} cannot be fetched (${messageOf(thrown)}) and no copy is kept`, {
      cause: thrown,
      fix: 'try again with a network, or go on without this skill',
    });
  }
}

async function fetched(
  { web, copies, now }: UpstreamParts,
  url: string,
  copy: UpstreamCopy | undefined,
  signal: AbortSignal,
): Promise<string> {
  const answer = await web.fetch(
    url,
    AbortSignal.any([signal, AbortSignal.timeout(upstreamMs)]),
    copy?.etag ? { etag: copy.etag } : undefined,
  );
  if (answer.notModified && copy) {
    copies.write(url, { ...copy, checkedAt: now() });
    return copy.text;
  }
  if (answer.truncated || answer.body.byteLength > fileMaxBytes) throw new Error(`it has more than ${fileMaxBytes} bytes`);
  if (answer.body.includes(0)) throw new Error('it is binary');
  const text = new TextDecoder().decode(answer.body);
  const finding = scanText(text, 'skill');
  if (finding) {
    throw new AgentError('TOOL_REFUSED', `${url} is not read: it ${finding.why} (line ${finding.line})`, {
      fix: 'tell the user; go on without this skill',
    });
  }
  copies.write(url, { text, etag: answer.etag ?? null, checkedAt: now() });
  return text;
}

/** Files that a text links to, as they can be asked for. */
export function linkedFiles(text: string): string[] {
  const links = [...text.matchAll(/\]\(([^)\s#?]+)\)|`([\w./-]+\/[\w.-]+\.\w+)`/g)].map(([, link, code]) =>
    (link ?? code)!.replace(/^\.\//, ''),
  );
  return [...new Set(links)].filter((link) => !link.includes(':') && isSafeRelative(link)).slice(0, limits.skills.filesMax);
}
