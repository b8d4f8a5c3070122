/** Whom a skill is offered to: pure, one sentence for each reason why not. */
import type { SkillFile } from './skillFile.ts';

export interface Offer {
  /** `linux`, `darwin`, `win32`. */
  os: string;
  /** What is the case here: `kanban`, `container`, `supervisor`. */
  environments: ReadonlySet<string>;
  /** On a chat platform: its name; null = unknown. Undefined: not a chat. */
  platform: string | null | undefined;
  /** Toolsets of the session; undefined = not known, and not asked about. */
  toolsets: ReadonlySet<string> | undefined;
  /** `skills.disabled`. */
  disabled: ReadonlySet<string>;
}

const osNames: Record<string, readonly string[]> = { darwin: ['darwin', 'macos'], win32: ['win32', 'windows'] };

/** Why a skill is not offered; null = it is. */
export function hiddenBecause(skill: SkillFile, offer: Offer): string | null {
  const { name, platforms, sessionPlatforms } = skill;
  if (offer.disabled.has(name)) return 'disabled: skills.disabled names it';
  const here = osNames[offer.os] ?? [offer.os];
  if (platforms.length > 0 && !platforms.some((os) => here.includes(os))) return `platforms: it is for ${platforms.join(', ')}`;
  return environmentGate(skill, offer) ?? channelGate(sessionPlatforms, offer) ?? toolsetGate(skill, offer);
}

/** Relevant in one of these; words that nobody knows are not held against it. */
function environmentGate({ environments }: SkillFile, offer: Offer): string | null {
  const known = environments.filter((word) => ['kanban', 'container', 'supervisor'].includes(word));
  if (known.length === 0 || known.some((word) => offer.environments.has(word))) return null;
  return `environments: it is for ${known.join(', ')}`;
}

/** Interface spec: hides on channels outside the list; an unknown platform keeps it visible. */
function channelGate(list: readonly string[] | undefined, { platform }: Offer): string | null {
  if (!list || platform === undefined || platform === null || list.includes(platform.toLowerCase())) return null;
  return `session_platforms: it is for ${list.join(', ') || 'no chat platform'}`;
}

function toolsetGate({ requiresToolsets, fallbackForToolsets }: SkillFile, { toolsets }: Offer): string | null {
  if (!toolsets) return null;
  const missing = requiresToolsets.filter((name) => !toolsets.has(name));
  if (missing.length > 0) return `requires_toolsets: ${missing.join(', ')} is not available here`;
  const better = fallbackForToolsets.find((name) => toolsets.has(name));
  return better ? `fallback_for_toolsets: ${better} is available` : null;
}
