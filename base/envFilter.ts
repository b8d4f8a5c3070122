/** Allow-listed environments: a child sees the names it needs and nothing else. */

/** Keeps variables that match a name, `PREFIX*` or `*SUFFIX`. */
export function filterEnv(env: NodeJS.ProcessEnv, allowed: readonly string[]): Record<string, string> {
  const exact = new Set(allowed.filter((name) => !name.includes('*')));
  const prefixes = allowed.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  const suffixes = allowed.filter((name) => name.startsWith('*')).map((name) => name.slice(1));
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    if (exact.has(name) || prefixes.some((p) => name.startsWith(p)) || suffixes.some((s) => name.endsWith(s))) kept[name] = value;
  }
  return kept;
}
