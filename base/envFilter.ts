/** Allow-listed environments: a child sees the names it needs and nothing else. */

/**
 * Names the incarnation that a process descends from. It passes every filter, so that whatever a worker starts, in
 * whatever session, is found and ended with it. Not a secret: it opens nothing.
 */
export const INCARNATION_VARIABLE = 'AGENT_INCARNATION';

/** Keeps variables that match a name, `PREFIX*` or `*SUFFIX`, and the mark of the incarnation. */
export function filterEnv(env: NodeJS.ProcessEnv, allowed: readonly string[]): Record<string, string> {
  const exact = new Set([...allowed.filter((name) => !name.includes('*')), INCARNATION_VARIABLE]);
  const prefixes = allowed.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  const suffixes = allowed.filter((name) => name.startsWith('*')).map((name) => name.slice(1));
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    if (exact.has(name) || prefixes.some((p) => name.startsWith(p)) || suffixes.some((s) => name.endsWith(s))) kept[name] = value;
  }
  return kept;
}
