/** Blueprints of scheduled jobs: a prompt with named gaps and the schedule that fits it. */
import { parse as parseYaml } from 'yaml';
import { AgentError } from '../../base/errors.ts';

export interface Slot {
  name: string;
  /** The question. */
  label: string;
  default?: string | undefined;
  options?: readonly string[] | undefined;
  help?: string | undefined;
}

export interface Blueprint {
  key: string;
  title: string;
  description: string;
  /** May hold `{slot}`. */
  schedule: string;
  prompt: string;
  slots: readonly Slot[];
}

const at: Slot = { name: 'time', label: 'At what time?', default: '08:00', help: '24 hours, HH:MM' };

export const builtinBlueprints: readonly Blueprint[] = [
  {
    key: 'morning-briefing',
    title: 'Morning briefing',
    description: 'a short overview at the start of the day',
    schedule: '{time:cron}',
    prompt: 'Give me a short briefing for today about: {topics}. At most ten lines, the most important first.',
    slots: [{ name: 'topics', label: 'About what?', default: 'the weather, my open tasks and the news' }, at],
  },
  {
    key: 'reminder',
    title: 'Reminder',
    description: 'says something at a time or again and again',
    schedule: '{when}',
    prompt: 'Remind me: {what}. One friendly sentence, nothing else.',
    slots: [
      { name: 'what', label: 'What should I remind you of?' },
      { name: 'when', label: 'When?', default: '30m', help: '30m, every 2h, 0 9 * * 1-5, or 2030-05-01T09:00' },
    ],
  },
  {
    key: 'watch-page',
    title: 'Watch a page',
    description: 'looks at a web page and tells what changed',
    schedule: 'every {every}',
    prompt:
      'Read {url} and compare it with what you noted about it last time. Tell me in a few lines what is new about {about}; say “nothing new” if there is nothing.',
    slots: [
      { name: 'url', label: 'Which address?' },
      { name: 'about', label: 'What matters on it?', default: 'everything' },
      { name: 'every', label: 'How often?', default: '6h', options: ['1h', '6h', '1d'] },
    ],
  },
  {
    key: 'repository-digest',
    title: 'Repository digest',
    description: 'sums up the changes of a git repository',
    schedule: '{time:cron}',
    prompt:
      'Look at the git repository in {path}: sum up the commits of the last day by topic, and name what needs a second look. At most fifteen lines.',
    slots: [{ name: 'path', label: 'Which folder?' }, at],
  },
];

/** What SKILL.md declares under `metadata.<vendor>.blueprint`; undefined when there is none. Errors: BAD_REQUEST for one that cannot be used. */
export function skillBlueprint(name: string, skillText: string): Blueprint | undefined {
  const head = /^---\r?\n([\s\S]*?)\r?\n---/.exec(skillText)?.[1];
  const metadata =
    head === undefined ? undefined : (parseYaml(head) as { metadata?: Record<string, { blueprint?: unknown } | null> } | null)?.metadata;
  const found = Object.values(metadata ?? {}).find((vendor) => vendor && typeof vendor === 'object' && vendor.blueprint)?.blueprint as
    | { title?: string; description?: string; schedule?: string; prompt?: string; deliver?: string; slots?: unknown; fields?: unknown }
    | undefined;
  if (!found) return undefined;
  if (typeof found.schedule !== 'string')
    throw new AgentError('BAD_REQUEST', `the blueprint of the skill ${name} has no schedule`, { fix: 'add `schedule` to its SKILL.md' });
  return {
    key: name,
    title: String(found.title ?? name),
    description: String(found.description ?? `runs the skill ${name}`),
    schedule: found.schedule,
    prompt: String(found.prompt ?? `Use the skill "${name}": read it with skill_view, then follow it.`),
    slots: slotsOf(found.slots ?? found.fields),
  };
}

function slotsOf(declared: unknown): Slot[] {
  const entries: unknown[] = Array.isArray(declared)
    ? declared
    : Object.entries((declared ?? {}) as Record<string, unknown>).map(([name, slot]) => ({
        name,
        ...(typeof slot === 'object' ? slot : { default: slot }),
      }));
  return entries.flatMap((entry): Slot[] => {
    const {
      name,
      label,
      default: preset,
      options,
      help,
    } = (typeof entry === 'string' ? { name: entry } : (entry ?? {})) as Record<string, unknown>;
    if (typeof name !== 'string') return [];
    return [
      {
        name,
        label: typeof label === 'string' ? label : `${name}?`,
        ...(preset === undefined || preset === null ? {} : { default: String(preset) }),
        ...(Array.isArray(options) ? { options: options.map(String) } : {}),
        ...(typeof help === 'string' ? { help } : {}),
      },
    ];
  });
}

/** `{slot}` becomes its value; `{time:cron}` turns HH:MM into a daily cron line. Errors: BAD_SCHEDULE. */
export function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)(?::(cron))?\}/g, (whole, name: string, form: string | undefined) => {
    const value = values[name];
    if (value === undefined) return whole;
    if (form !== 'cron') return value;
    const time = /^(\d{1,2}):(\d{2})$/.exec(value.trim());
    if (!time || Number(time[1]) > 23 || Number(time[2]) > 59)
      throw new AgentError('BAD_SCHEDULE', `"${value}" is no time of day`, { fix: `write ${name}=08:00` });
    return `${Number(time[2])} ${Number(time[1])} * * *`;
  });
}
