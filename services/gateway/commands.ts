/**
 * Slash commands in a chat. A few are the gateway's own, so that they work while the agent worker is away;
 * the others go to the agent's registry, which answers with a text or with a prompt to ask instead.
 */
import { mustWait } from '../../base/errors.ts';
import { formatDuration } from '../../base/time.ts';
import type { Client } from '../../ipc/client.ts';
import { conversationCommand, resetConversation, stopConversation } from '../../ipc/contracts/agent.ts';
import { readPause } from '../../state/pause.ts';
import type { WorkerContext } from '../worker.ts';
import type { Delivery } from './delivery.ts';
import { keysOf, type InboxRow } from './inbox.ts';
import type { OutboxChat } from './outbox.ts';
import type { Platforms } from './platforms.ts';
import { sentenceOf } from './replies.ts';
import type { GatewayStore } from './store.ts';
import type { Turns } from './turns.ts';

const COMMANDS = {
  new: 'starts a new conversation here',
  stop: 'stops the answer that is being worked on or sent',
  more: 'shows what was cut off the last answer',
  status: 'says how the service is',
  whoami: 'says who you are here',
  help: 'lists the commands',
} as const;
type Own = keyof typeof COMMANDS;

/** The name of the command a message is, or undefined: a slash and a name, so that `/usr/bin/x` is talk. `/reset` is `/new`. */
export function commandOf(text: string): string | undefined {
  const word = /^\/([a-z][a-z0-9_-]*)(?:@\S+)?(?:\s[\s\S]*)?$/i.exec(text.trim())?.[1]?.toLowerCase();
  return word === 'reset' ? 'new' : word;
}

/** One of the gateway's own, said without arguments. */
function ownCommand(text: string): Own | undefined {
  const name = commandOf(text);
  const bare = !/\s/.test(text.trim());
  return bare && name !== undefined && Object.hasOwn(COMMANDS, name) ? (name as Own) : undefined;
}

export interface CommandAnswer {
  text: string;
  /** To be asked as a turn of this chat instead of the line. */
  prompt: string | null;
}

export interface CommandParts {
  context: WorkerContext;
  agent: Client;
  platforms: Platforms;
  turns: Turns;
  delivery: Pick<Delivery, 'stop' | 'wake'>;
  store: GatewayStore;
}

/** The answer; a permanent error is a sentence as well. Errors: those that accepted work waits for. */
export async function runCommand(parts: CommandParts, row: InboxRow): Promise<CommandAnswer> {
  try {
    const own = ownCommand(row.text);
    return own ? { text: await runOwn(parts, row, own), prompt: null } : await ask(parts, row);
  } catch (thrown) {
    if (mustWait(thrown)) throw thrown;
    return { text: sentenceOf(thrown), prompt: null };
  }
}

async function ask({ agent }: CommandParts, row: InboxRow): Promise<CommandAnswer> {
  const { session_key, lane, text, platform, user, is_owner } = row;
  return await agent.call(
    conversationCommand,
    { session_key: session_key ?? lane, line: text, platform, user, is_owner: is_owner === 1, idempotency_key: keysOf(row).turn },
    { repeatForMs: REPEAT_MS },
  );
}

async function runOwn(parts: CommandParts, row: InboxRow, own: Own): Promise<string> {
  const { agent, context, delivery } = parts;
  const conversation = { session_key: row.session_key ?? row.lane, profile: context.profile };
  switch (own) {
    case 'new':
      await agent.call(resetConversation, conversation, { repeatForMs: REPEAT_MS });
      return 'A new conversation starts here.';
    case 'stop': {
      const sending = delivery.stop(chatOf(row));
      const { interrupted } = await agent.call(stopConversation, conversation, { repeatForMs: REPEAT_MS }).catch((thrown: unknown) => {
        // An agent that is not there works on nothing; later, a stop would hit another message.
        if (mustWait(thrown)) return { interrupted: false };
        throw thrown;
      });
      return interrupted || sending ? 'Stopped.' : 'Nothing was being worked on.';
    }
    case 'more':
      return moreText(parts, row);
    case 'status':
      return statusText(parts, row);
    case 'whoami':
      return `You are ${row.user} on ${row.platform}, in ${row.chat}.`;
    case 'help':
      return helpText(parts, row);
  }
}

const chatOf = ({ platform, chat, thread }: InboxRow): OutboxChat => ({ platform, chat, thread });

/** The rest of the last message, cut again where it is too long. */
function moreText({ platforms, store }: CommandParts, row: InboxRow): string {
  const last = store.outbox.newest(chatOf(row));
  const rest = last?.state === 'delivered' ? platforms.rest(last.platform, last.chat, last.text) : '';
  return rest === '' ? 'There is nothing more to show.' : rest;
}

/** The agent's list; while it is away, those that work without it. */
async function helpText(parts: CommandParts, row: InboxRow): Promise<string> {
  const own = Object.entries(COMMANDS).map(([name, what]) => `/${name} ${what}`);
  try {
    return (await ask(parts, row)).text;
  } catch (thrown) {
    return [...own, `The others need the agent: ${sentenceOf(thrown)}`].join('\n');
  }
}

/** Long enough for a restart of the agent worker. */
const REPEAT_MS = 5_000;

function statusText({ context, platforms, turns }: CommandParts, row: InboxRow): string {
  const pause = readPause(context.home, context.profile);
  const lines = [
    `agent-service ${context.release.version}, up for ${formatDuration(process.uptime() * 1_000)}`,
    turns.active().includes(row.lane) ? 'An answer for this chat is being worked on.' : 'Nothing is being worked on for this chat.',
    ...turns.waiting().map(({ held, slot, reason }) => `${held} message(s) wait for ${slot}: ${reason}`),
    ...(pause ? [`Automation is paused${pause.reason ? ` (${pause.reason})` : ''}; ${turns.held()} message(s) wait.`] : []),
    `Platforms: ${platforms
      .states()
      .map(({ platform, state }) => `${platform} ${state}`)
      .join(', ')}`,
  ];
  return lines.join('\n');
}
