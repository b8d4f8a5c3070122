/** The network and the shelf of upstream skills: one configured address and nothing else, copies below cache/. */
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Web } from '../../agent/ports.ts';
import type { UpstreamCopy, UpstreamParts } from '../../agent/skills/upstream.ts';
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { errorFields, type Logger } from '../../base/log.ts';
import { readJson, writeJsonAtomic } from '../../state/atomicFile.ts';

/** Fetches below `base` alone. A redirect to anywhere else is an error. */
export function upstreamWeb(base: () => string): Pick<Web, 'fetch'> {
  return {
    async fetch(url, signal, known) {
      const { origin } = new URL(base());
      if (new URL(url).origin !== origin) throw new Error(`${url} is not below ${origin}`);
      const response = await fetch(url, {
        signal,
        redirect: 'error',
        headers: { accept: 'text/plain, */*', ...(known ? { 'if-none-match': known.etag } : {}) },
      }).catch((thrown: unknown) => {
        throw new Error(`${origin} cannot be reached`, { cause: thrown });
      });
      const mediaType = response.headers.get('content-type') ?? '';
      const etag = response.headers.get('etag') ?? undefined;
      if (response.status === 304) return { url, mediaType, body: new Uint8Array(), truncated: false, etag, notModified: true };
      if (!response.ok) {
        await response.body?.cancel();
        throw new Error(`${origin} answered ${response.status}`);
      }
      return { url, mediaType, etag, ...(await bounded(response)) };
    },
  };
}

async function bounded(response: Response): Promise<{ body: Uint8Array; truncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > limits.skills.fileMaxBytes) return { body: new Uint8Array(), truncated: true };
    chunks.push(chunk);
  }
  return { body: Buffer.concat(chunks), truncated: false };
}

export function upstreamCopies(dir: string, log: Logger): UpstreamParts['copies'] {
  const pathOf = (url: string) => join(dir, `${digest(url, 32)}.json`);
  return {
    read(url) {
      try {
        const copy = readJson(pathOf(url)) as Partial<UpstreamCopy & { url: string }> | undefined;
        if (copy?.url !== url || typeof copy.text !== 'string' || typeof copy.checkedAt !== 'number') return undefined;
        return { text: copy.text, etag: typeof copy.etag === 'string' ? copy.etag : null, checkedAt: copy.checkedAt };
      } catch {
        return undefined;
      }
    },
    write(url, copy) {
      try {
        mkdirSync(dir, { recursive: true, mode: 0o700 });
        writeJsonAtomic(pathOf(url), { url, ...copy }, { durable: false });
        prune(dir);
      } catch (thrown) {
        log.warn('a copy of an upstream skill could not be kept', errorFields(thrown));
      }
    },
  };
}

/** Copies that nobody asked for lately go first. */
function prune(dir: string): void {
  const names = readdirSync(dir);
  if (names.length <= limits.skills.copiesMax) return;
  const age = (name: string) => statSync(join(dir, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  for (const name of names.toSorted((a, b) => age(b) - age(a)).slice(limits.skills.copiesMax)) rmSync(join(dir, name), { force: true });
}
