/**
 * Numbered migrations of config.yaml (interface spec, Versioning; reference, Config and profiles). A file that names an
 * older form in `_config_version` is read as if it had been written in the latest; the file itself stays as it is, so
 * that the release before can read it still (lesson 16). A file that names none is in the latest form.
 */
import { isPlain, type Plain } from './diff.ts';

export interface Migration {
  from: number;
  to: number;
  /** For people, after "this release". */
  does: string;
  /** Changes in place. */
  apply(config: Plain): void;
}

/** What releases before form 40 wrote into every file; only another number was somebody's choice. */
const OLD_TTL_HOURS = 24;

/** In order; forms between them changed nothing that this service has. */
export const migrations: readonly Migration[] = [
  {
    from: 39,
    to: 40,
    does: `no longer reads model_catalog.ttl_hours where it is the old default of ${OLD_TTL_HOURS}`,
    apply({ model_catalog: catalog }) {
      if (isPlain(catalog) && catalog.ttl_hours === OLD_TTL_HOURS) delete catalog.ttl_hours;
    },
  },
  {
    from: 44,
    to: 45,
    does: 'adds the toolset connections to the lists in platform_toolsets, unless agent.disabled_toolsets names it',
    apply({ platform_toolsets: places, agent }) {
      const disabled = isPlain(agent) && Array.isArray(agent.disabled_toolsets) ? agent.disabled_toolsets : [];
      if (!isPlain(places) || disabled.includes(CONNECTIONS)) return;
      for (const [platform, list] of Object.entries(places))
        if (isExplicit(platform, list) && !list.includes(CONNECTIONS)) places[platform] = [...list, CONNECTIONS];
    },
  },
];

const CONNECTIONS = 'connections';

/** A bare composite takes in new toolsets by itself (agent/tools/policy.ts); an empty list means nothing at all. */
const isExplicit = (platform: string, list: unknown): list is unknown[] =>
  Array.isArray(list) && list.length > 0 && !(list.length === 1 && list[0] === `agent-${platform}`);

/** Brings values to the latest form, in place; answers what was done. */
export function migrate(config: Plain): readonly Migration[] {
  const version = config._config_version;
  if (typeof version !== 'number') return [];
  const due = migrations.filter(({ to }) => version < to);
  for (const { apply } of due) apply(config);
  return due;
}
