/** Whom a turn of a session acts for, and where what belongs to them is kept. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { encodePrincipal, OWNER, principalOf, scopeOf, type Principal } from '../../agent/authority/principal.ts';
import type { CallContext } from '../../ipc/link.ts';
import { limits } from '../../base/limits.ts';
import type { SessionRecord } from './store.ts';

export function principalOfTurn(session: SessionRecord, surface: string, { isOwner }: { isOwner?: boolean | undefined } = {}): Principal {
  const { platform, session_key, id, principal: stored } = session;
  return principalOf({ surface, platform: platform ?? undefined, scope: session_key ?? id, isOwner, stored });
}

/** The one who wrote a stored prompt, as its turn would act for them. */
export const principalOfPrompt = (session: SessionRecord, { surface }: { surface: string | null }): Principal =>
  principalOfTurn(session, surfaceOfPrompt(session, { surface }));

/** Prompts of earlier releases have none: then it is where the session belongs. */
export const surfaceOfPrompt = ({ platform }: SessionRecord, { surface }: { surface: string | null }): string =>
  surface ?? (platform === null ? 'other' : 'gateway');

export const isSamePrincipal = (one: Principal, other: Principal): boolean => encodePrincipal(one) === encodePrincipal(other);

/** Whether `principal` may change, or answer for, what belongs to `other`: the owner everything, all others their own. */
export const mayActFor = (principal: Principal, other: Principal): boolean =>
  principal.kind === 'owner' || isSamePrincipal(principal, other);

/** A call that a slash command makes for the one who wrote it. */
export interface CommandCall extends CallContext {
  principal: Principal;
}

/** The principal of a call: the owner, unless a slash command passed its own. */
export const callerOf = (call: CallContext | CommandCall): Principal => ('principal' in call ? call.principal : OWNER);

/** Folder of MEMORY.md and USER.md: each conversation of a chat has its own, which no other prompt holds. */
export function memoriesOf(principal: Principal, memories: string): string {
  const scope = scopeOf(principal);
  return scope === undefined ? memories : join(chatsOf(memories), createHash('sha256').update(scope).digest('hex').slice(0, 24));
}

const chatsOf = (memories: string): string => join(memories, 'chats');

/** Keeps the notes of so many chats, those changed last. Answers how many were removed. */
export function forgetChatNotes(memories: string, max: number = limits.tools.chatNotesMax): number {
  const dir = chatsOf(memories);
  const folders = existsSync(dir) ? readdirSync(dir).map((name) => join(dir, name)) : [];
  if (folders.length <= max) return 0;
  // A file is replaced as a whole, which changes its folder.
  const changed = new Map(folders.map((path) => [path, statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0]));
  const oldest = folders.toSorted((a, b) => changed.get(a)! - changed.get(b)!).slice(0, folders.length - max);
  for (const path of oldest) rmSync(path, { recursive: true, force: true });
  return oldest.length;
}
