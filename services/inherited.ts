/**
 * Listeners that the supervisor keeps over restarts (stack §4): inherited as descriptors, named in
 * AGENT_LISTEN as `name=fd,…`. Without a supervisor there are none, and a worker binds by itself.
 */

const NAMED = /^([a-z]+)=(\d+)$/;

/** The descriptor to listen on, or undefined. */
export function inheritedListener(name: string, env: NodeJS.ProcessEnv = process.env): number | undefined {
  for (const entry of (env.AGENT_LISTEN ?? '').split(',')) {
    const match = NAMED.exec(entry);
    if (match?.[1] === name) return Number(match[2]);
  }
  return undefined;
}
