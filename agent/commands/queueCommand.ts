/** `/queue`: prompts that wait for their turn (interface spec, Slash commands). */
import { AgentError } from '../../base/errors.ts';
import { ordinal, prompted, split, text, type CommandResult, type Invocation } from './command.ts';
import type { Queued } from './host.ts';

/** A bare prompt is put in line; the first word may be one of the verbs, and `add` takes a prompt that begins with one. */
export async function runQueue({ host, args }: Invocation): Promise<CommandResult> {
  const [verb, rest] = split(args);
  const show = async (params: Parameters<typeof host.call<'session.queue'>>[1], said = '') => {
    const { queued } = await host.call('session.queue', params);
    return text([said, queueLines(queued)].filter(Boolean).join('\n'), { queued });
  };
  switch (verb.toLowerCase()) {
    case '':
      return show({ action: 'list' });
    case 'list':
      if (rest === '') return show({ action: 'list' });
      break;
    case 'clear':
      if (rest === '') return show({ action: 'clear' }, 'Cleared.');
      break;
    case 'rm':
    case 'remove':
      if (isNumbers(rest, 1)) return show({ action: 'remove', index: ordinal(rest.trim(), 'a number in the queue') }, 'Removed.');
      break;
    case 'move':
      if (isNumbers(rest, 2)) {
        const [from, to] = rest.trim().split(/\s+/);
        return show({ action: 'move', index: ordinal(from, 'a number in the queue'), to: ordinal(to, 'a place in the queue') }, 'Moved.');
      }
      break;
    case 'edit': {
      const [number, prompt] = split(rest);
      if (!isNumbers(number, 1)) break;
      if (!prompt) throw new AgentError('USAGE', '/queue edit: the new text is missing', { fix: `/queue edit ${number} <prompt>` });
      return show({ action: 'edit', index: ordinal(number, 'a number in the queue'), text: prompt }, 'Changed.');
    }
    case 'add':
      if (!rest) throw new AgentError('USAGE', '/queue add: the prompt is missing', { fix: '/queue add <prompt>' });
      return enqueue(host, rest);
    default:
  }
  // `/queue list the open files` is a prompt, not the list.
  return enqueue(host, args);
}

const enqueue = (host: Invocation['host'], prompt: string): Promise<CommandResult> =>
  prompted(host, prompt, host.busy() ? 'Queued.' : 'No turn runs: it starts now.');

const isNumbers = (words: string, count: number): boolean => new RegExp(`^\\s*\\d+(?:\\s+\\d+){${count - 1}}\\s*$`).test(words);

export function queueLines(queued: readonly Queued[]): string {
  if (queued.length === 0) return 'Nothing waits.';
  return queued
    .map(({ text: prompt }, i) => {
      const line = prompt.replaceAll(/\s+/g, ' ');
      return `${String(i + 1).padStart(3)}  ${line.length > 90 ? `${line.slice(0, 89)}…` : line}`;
    })
    .join('\n');
}
