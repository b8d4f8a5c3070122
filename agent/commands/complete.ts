/** What a half-written command line may become. */
import { split, type SlashCommand } from './command.ts';
import { catalogue } from './blueprints.ts';
import { skillsOf } from './dispatch.ts';
import type { CommandHost } from './host.ts';
import { availableOn, findCommand } from './registry.ts';

export interface Completion {
  text: string;
  label: string;
  summary: string;
}
export interface Completions {
  replace_from: number;
  items: Completion[];
}

const ITEMS_MAX = 50;
const QUEUE_VERBS = ['list', 'edit', 'rm', 'move', 'clear', 'add'];

/** `text` is the input up to the cursor; paths are completed by the caller (`complete.path`). */
export async function completeLine(host: CommandHost, text: string): Promise<Completions> {
  if (!text.startsWith('/')) return { replace_from: text.length, items: [] };
  const space = text.search(/\s/);
  if (space < 0) return { replace_from: 0, items: await names(host, text.slice(1).toLowerCase()) };
  const command = findCommand(text.slice(1, space), availableOn(host.surface));
  const start = Math.max(space, text.lastIndexOf(' '), text.lastIndexOf('\n')) + 1;
  const typed = text.slice(start).toLowerCase();
  const all = command ? await argumentsOf(host, command, text.slice(space + 1, start)) : [];
  const items = all.filter((item) => item.text.toLowerCase().startsWith(typed) || item.label.toLowerCase().startsWith(typed));
  return { replace_from: start, items: items.slice(0, ITEMS_MAX) };
}

async function names(host: CommandHost, typed: string): Promise<Completion[]> {
  const own = availableOn(host.surface)
    .filter(({ name, aliases = [] }) => [name, ...aliases].some((known) => known.startsWith(typed)))
    .map(({ name, takes, summary }) => ({ text: `/${name}${takes ? ' ' : ''}`, label: `/${name}`, summary }));
  const skills = (await skillsOf(host))
    .filter(({ name }) => name.toLowerCase().startsWith(typed))
    .map(({ name, description }) => ({ text: `/${name} `, label: `/${name}`, summary: description }));
  return [...own, ...skills].slice(0, ITEMS_MAX);
}

const word = (text: string, summary = ''): Completion => ({ text, label: text, summary });

async function argumentsOf(host: CommandHost, { completes }: SlashCommand, before: string): Promise<Completion[]> {
  if (completes === undefined || completes === 'path') return [];
  if (typeof completes !== 'string') return before.trim() === '' ? completes.map((value) => word(value)) : [];
  try {
    return await lists[completes](host, before);
  } catch {
    // a list that cannot be had must not disturb typing
    return [];
  }
}

const lists: Record<
  Exclude<SlashCommand['completes'], undefined | readonly string[] | 'path'>,
  (host: CommandHost, before: string) => Promise<Completion[]>
> = {
  async model(host, before) {
    if (/--reasoning\s+$/.test(before)) return ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].map((level) => word(level));
    const { providers, aliases } = await host.call('model.options', {});
    if (/--provider\s+$/.test(before)) return providers.map(({ name }) => word(name));
    const models = providers.flatMap(({ name, models: known }) =>
      known.map(({ id }) => ({ text: `${name}:${id}`, label: id, summary: name })),
    );
    return [
      ...(before.trim() === '' ? [...Object.entries(aliases).map(([alias, target]) => word(alias, target)), ...models] : []),
      ...['--provider', '--reasoning', '--session', '--global', '--once'].map((flag) => word(flag)),
    ];
  },
  async session(host) {
    const { sessions } = await host.call('session.list', { limit: 30 });
    return sessions
      .filter(({ id }) => id !== host.session.id)
      .map(({ id, title, preview }) => ({ text: id, label: title ?? preview.slice(0, 60), summary: id }));
  },
  async queue(host, before) {
    const [verb] = split(before);
    if (!before.trim()) return QUEUE_VERBS.map((name) => word(name));
    if (!['edit', 'rm', 'move'].includes(verb)) return [];
    const { queued } = await host.call('session.queue', { action: 'list' });
    return queued.map(({ text }, i) => word(String(i + 1), text.slice(0, 60)));
  },
  personality: (host) => Promise.resolve([...Object.keys(host.personalities()), 'none'].map((name) => word(name))),
  skill: async (host) => (await skillsOf(host)).map(({ name, description }) => word(name, description)),
  async blueprint(host, before) {
    const [key] = split(before);
    const all = await catalogue(host);
    if (!before.trim()) return all.map((one) => word(one.key, one.description));
    const fields = all.find((one) => one.key === key)?.fields ?? [];
    return fields.filter(({ name }) => !before.includes(`${name}=`)).map(({ name, label }) => word(`${name}=`, label));
  },
  async job(host, before) {
    if (!before.trim()) return ['list', 'run', 'pause', 'resume', 'rm'].map((name) => word(name));
    const { jobs } = await host.call('cron.list', {});
    return jobs.map(({ id, name }) => word(id, name));
  },
  command: (host) => Promise.resolve(availableOn(host.surface).map(({ name, summary }) => word(name, summary))),
};
