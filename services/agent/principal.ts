/** Whom a turn of a session acts for, and where what belongs to them is kept. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { principalOf, scopeOf, type Principal } from '../../agent/authority/principal.ts';
import type { SessionRecord } from './store.ts';

export function principalOfTurn(session: SessionRecord, surface: string, { isOwner }: { isOwner?: boolean | undefined } = {}): Principal {
  const { platform, session_key, id, principal: stored } = session;
  return principalOf({ surface, platform: platform ?? undefined, scope: session_key ?? id, isOwner, stored });
}

/** Folder of MEMORY.md and USER.md: each conversation of a chat has its own, which no other prompt holds. */
export function memoriesOf(principal: Principal, memories: string): string {
  const scope = scopeOf(principal);
  return scope === undefined ? memories : join(memories, 'chats', createHash('sha256').update(scope).digest('hex').slice(0, 24));
}
