/**
 * Whom a turn, a command or a job acts for. Derived from where it comes from; what acts later or elsewhere (jobs,
 * sub-agents, background work) stores the principal that made it and never gets more than that one may do.
 */
export type Principal =
  /** The owner at a surface of their own: terminal, page, RPC client. */
  | { kind: 'owner' }
  /** A user of a chat platform. `scope`: the conversation; nothing that belongs to another one is theirs. */
  | { kind: 'chat'; platform: string; scope: string }
  /** A chat user whom `platforms.<p>.owners` names. */
  | { kind: 'chat_owner'; platform: string; scope: string }
  /** The text of a stranger: the sender of a webhook. */
  | { kind: 'webhook'; platform: string; scope: string }
  /** A scheduled job of the owner. */
  | { kind: 'schedule' };

export type PrincipalKind = Principal['kind'];

export const OWNER: Principal = { kind: 'owner' };

/** Where the owner is, behind the token of the home or a sign-in. A surface that is not listed has the fewest rights. */
const OWN_SURFACES: ReadonlySet<string> = new Set(['api', 'batch', 'cli', 'desktop', 'other', 'tui']);

export interface Origin {
  surface: string;
  /** Chat platform, on the gateway surface. */
  platform?: string | undefined;
  /** Key of the conversation, or of the session where it has none. */
  scope: string;
  /** The platform knows the sender as an owner. */
  isOwner?: boolean | undefined;
  /** Of the session: whoever made it, encoded. */
  stored?: string | null | undefined;
}

export function principalOf({ surface, platform = 'gateway', scope, isOwner = false, stored }: Origin): Principal {
  if (stored) return decodePrincipal(stored);
  if (surface === 'scheduled_task') return { kind: 'schedule' };
  if (surface !== 'gateway') return OWN_SURFACES.has(surface) ? OWNER : NOBODY;
  return { kind: platform === 'webhook' ? 'webhook' : isOwner ? 'chat_owner' : 'chat', platform, scope };
}

/** Keys in one order: equal principals have equal texts. The tier of a sender is not kept: it holds for what they say themselves. */
export function encodePrincipal(principal: Principal): string {
  if (!('scope' in principal)) return JSON.stringify({ kind: principal.kind });
  const { kind, platform, scope } = principal;
  return JSON.stringify({ kind: kind === 'chat_owner' ? 'chat' : kind, platform, scope });
}

const NOBODY: Principal = { kind: 'webhook', platform: 'unknown', scope: 'unknown' };

/** What cannot be read has the fewest rights. */
export function decodePrincipal(text: string): Principal {
  try {
    const { kind, platform, scope } = JSON.parse(text) as Record<string, unknown>;
    if (kind === 'owner' || kind === 'schedule') return { kind };
    if ((kind === 'chat' || kind === 'webhook') && typeof platform === 'string' && typeof scope === 'string')
      return { kind, platform, scope };
  } catch {
    // not written by us
  }
  return NOBODY;
}

/** What is theirs alone; undefined = the owner, to whom all belongs. */
export const scopeOf = (principal: Principal): string | undefined => ('scope' in principal ? principal.scope : undefined);
