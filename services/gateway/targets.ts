/** Delivery targets: `<platform>`, `<platform>:<chat>`, `<platform>:<chat>:<thread>` (contract §13). */

export interface Target {
  platform: string;
  /** Undefined = the platform's home chat. */
  chat: string | undefined;
  thread: string;
}

/** Undefined = it has not the shape of a target. */
export function parseTarget(text: string): Target | undefined {
  const match = /^([a-z][a-z0-9_-]*)(?::([^\s:]+)(?::([^\s:]+))?)?$/i.exec(text.trim());
  if (!match) return undefined;
  return { platform: match[1]!.toLowerCase(), chat: match[2], thread: match[3] ?? '' };
}
