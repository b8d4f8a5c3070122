/**
 * What a changed key of config.yaml takes to be in force: nothing (`live`), a planned restart of some
 * slots, or a restart of the supervisor. One table for the reload, for `agent config set` and the docs.
 */
import { digest } from '../../base/ids.ts';
import type { Config } from './schema.ts';

export type ChangeClass = { kind: 'live' } | { kind: 'slot'; slots: readonly string[] } | { kind: 'supervisor' };

const slot = (...slots: string[]): ChangeClass => ({ kind: 'slot', slots });
const live: ChangeClass = { kind: 'live' };

/** First match by the leading names of the key decides; what is not here is read when it is used. */
const classes: readonly { key: readonly string[]; change: ChangeClass }[] = [
  { key: ['dashboard'], change: slot('dashboard') },
  { key: ['platforms'], change: slot('gateway') },
  { key: ['gateway'], change: slot('gateway') },
  // The level of a logger is set once, when its process starts.
  { key: ['logging'], change: slot('agent', 'dashboard', 'cron', 'mcp', 'gateway', 'terminal') },
  // Workers are told how often to beat when they attach.
  { key: ['supervisor', 'liveness'], change: { kind: 'supervisor' } },
  { key: ['supervisor'], change: live },
  { key: ['database'], change: { kind: 'supervisor' } },
];

/** `path`: the names of a dotted key. `services.<name>` restarts that sidecar alone. */
export function classOf(path: readonly (string | number)[]): ChangeClass {
  if (path[0] === 'services' && path.length > 1) return slot(String(path[1]));
  return classes.find(({ key }) => key.every((name, depth) => path[depth] === name))?.change ?? live;
}

/** Digest of all settings that a worker takes over only by a restart. */
export function settingsDigest(config: Config, worker: string): string {
  const keys = classes.filter(({ change }) => change.kind === 'slot' && change.slots.includes(worker)).map(({ key }) => key[0]!);
  return digest(JSON.stringify(keys.map((key) => [key, config[key] ?? null])), 16);
}

/** For people: when the change counts. */
export function whenInForce(change: ChangeClass): string {
  switch (change.kind) {
    case 'live':
      return 'in force at once';
    case 'slot':
      return `a running service restarts ${change.slots.join(', ')} by itself`;
    case 'supervisor':
      return 'in force after the service is started again (agent down, agent up)';
  }
}
