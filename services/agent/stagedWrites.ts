/**
 * Writes of memory and skills that wait for their owner (`memory.write_approval`): kept as what is to be done,
 * shown as what it would change now, and done or dropped when the owner says so.
 */
import { lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { edited, MemoryEdit } from '../../agent/tools/memory.ts';
import type { MemoryStore } from '../../agent/ports.ts';
import { AgentError, errnoOf, messageOf } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';
import type { StagedWrite } from '../../ipc/contracts/rpcTools.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
import type { Store } from './store.ts';

/** A file of a skill, below the skills folder of the profile; `content` null = it is deleted. */
export const SkillWrite = z.object({ path: z.string().min(1), content: z.string().nullable() });
export type SkillWrite = z.infer<typeof SkillWrite>;

export type NewStagedWrite = { sessionId: string | null } & (
  | { kind: 'memory'; edit: MemoryEdit }
  | { kind: 'skill'; name: string; action: string; write: SkillWrite }
);

interface Row {
  id: string;
  kind: 'memory' | 'skill';
  target: string;
  action: string;
  payload: string;
  session_id: string | null;
  created_at: number;
}

/** What a write would do to its file now. */
type Change = { name: string; before: string; after: string } | { misfit: string };

export class StagedWrites {
  #store: Store;
  #memory: MemoryStore;
  #skills: string;

  /** `skills`: the folder that skills are written below. */
  constructor({ store, memory, skills }: { store: Store; memory: MemoryStore; skills: string }) {
    this.#store = store;
    this.#memory = memory;
    this.#skills = skills;
  }

  /** Durable when it returns; its id. Errors: QUEUE_FULL, BAD_REQUEST for a path outside the skills folder, those of the store. */
  stage(write: NewStagedWrite): string {
    if (this.#rows().length >= limits.approvals.stagedMax)
      throw new AgentError('QUEUE_FULL', `${limits.approvals.stagedMax} writes wait for review already`, {
        fix: 'ask the user to look at `agent memory pending`',
      });
    const [target, action, payload] =
      write.kind === 'memory' ? [write.edit.target, write.edit.action, write.edit] : [write.name, write.action, write.write];
    if (write.kind === 'skill') this.#fileOf(write.write.path);
    const id = `stg_${hexId(8)}`;
    this.#store.run(
      'INSERT INTO staged_writes (id, kind, target, action, payload, session_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      id,
      write.kind,
      target,
      action,
      JSON.stringify(payload),
      write.sessionId,
      Date.now(),
    );
    return id;
  }

  /** Oldest first, each with what it would change as things are. */
  async list(): Promise<StagedWrite[]> {
    const { createTwoFilesPatch } = await import('diff');
    return this.#rows().map((row) => {
      const change = this.#change(row);
      const { id, kind, target, action, session_id } = row;
      return { id, kind, target, action, diff: diffOf(change), session_id, created_at: isoTime(row.created_at) };
    });

    function diffOf(change: Change): string {
      if ('misfit' in change) return `(it does not fit any more: ${change.misfit})`;
      const { name, before, after } = change;
      if (before === after) return '(it changes nothing any more)';
      // Without the lines for tools that patch many files at once.
      return createTwoFilesPatch(name, name, before, after, '', '', { context: 2 }).replace(/^(?:Index: .*\n)?=+\n/, '');
    }
  }

  /** Each on its own: one that cannot be done stays and says why. */
  review(decision: 'approve' | 'reject', ids: readonly string[] | 'all'): { done: string[]; failed: { id: string; message: string }[] } {
    const rows = this.#rows();
    const meant = ids === 'all' ? rows.map(({ id }) => id) : ids;
    const done: string[] = [];
    const failed: { id: string; message: string }[] = [];
    for (const id of meant) {
      try {
        const row = rows.find((candidate) => candidate.id === id);
        if (!row) throw new AgentError('NOT_FOUND', 'no write of that id waits');
        if (decision === 'approve') this.#apply(row);
        this.#store.run('DELETE FROM staged_writes WHERE id = ?', id);
        done.push(id);
      } catch (thrown) {
        failed.push({ id, message: messageOf(thrown) });
      }
    }
    return { done, failed };
  }

  #rows(): Row[] {
    return this.#store.all<Row>('SELECT * FROM staged_writes ORDER BY created_at, rowid');
  }

  #apply(row: Row): void {
    if (row.kind === 'memory') {
      const edit = MemoryEdit.parse(JSON.parse(row.payload));
      return this.#memory.write(edit.target, edited(this.#memory.read(edit.target), edit).text);
    }
    const { path, content } = SkillWrite.parse(JSON.parse(row.payload));
    const file = this.#fileOf(path);
    if (content === null) return rmSync(file, { recursive: true, force: true });
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileAtomic(file, content);
  }

  /** Text before and after; an edit that no longer fits shows why instead. */
  #change(row: Row): Change {
    if (row.kind === 'memory') {
      const edit = MemoryEdit.parse(JSON.parse(row.payload));
      const before = this.#memory.read(edit.target);
      const name = edit.target === 'memory' ? 'MEMORY.md' : 'USER.md';
      try {
        return { name, before, after: edited(before, edit).text };
      } catch (thrown) {
        return { misfit: messageOf(thrown) };
      }
    }
    const { path, content } = SkillWrite.parse(JSON.parse(row.payload));
    return { name: path, before: textAt(this.#fileOf(path)), after: content ?? '' };
  }

  /** Errors: BAD_REQUEST for what is not below the skills folder, also by a symbolic link on the way. */
  #fileOf(path: string): string {
    const file = join(this.#skills, path);
    const inner = relative(this.#skills, file);
    const outside = (): never => {
      throw new AgentError('BAD_REQUEST', `${path} is not below the skills folder`, { field: 'path' });
    };
    if (inner === '' || inner.startsWith('..') || path.startsWith('/')) outside();
    let folder = this.#skills;
    for (const part of inner.split(sep)) {
      folder = join(folder, part);
      if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink()) outside();
    }
    return file;
  }
}

function textAt(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT' || errnoOf(thrown) === 'EISDIR') return '';
    throw thrown;
  }
}
