/** What a user can say to the gateway itself; everything else goes to the agent. */
import { formatDuration } from '../../base/time.ts';
import type { Client } from '../../ipc/client.ts';
import { resetConversation, stopConversation } from '../../ipc/contracts/agent.ts';
import { readPause } from '../../state/pause.ts';
import type { WorkerContext } from '../worker.ts';
import type { InboxRow } from './inbox.ts';
import type { Platforms } from './platforms.ts';
import { sentenceOf, type Turns } from './turns.ts';

const COMMANDS = {
  new: 'starts a new conversation here',
  stop: 'stops the answer that is being worked on',
  status: 'says how the service is',
  help: 'lists these commands',
} as const;
type Name = keyof typeof COMMANDS;

/** The command a message is, or undefined. `/reset` is `/new`. */
export function commandOf(text: string): Name | undefined {
  const word = /^\/([a-z]+)\s*$/i.exec(text.trim())?.[1]?.toLowerCase();
  if (word === 'reset') return 'new';
  return word !== undefined && Object.hasOwn(COMMANDS, word) ? (word as Name) : undefined;
}

export interface CommandParts {
  context: WorkerContext;
  agent: Client;
  platforms: Platforms;
  turns: Turns;
}

/** The answer. Never throws: an error is a sentence as well. */
export async function runCommand(parts: CommandParts, row: InboxRow): Promise<string> {
  const { agent, context } = parts;
  const conversation = { session_key: row.session_key ?? row.lane, profile: context.profile };
  try {
    switch (commandOf(row.text)) {
      case 'new':
        await agent.call(resetConversation, conversation, { repeatForMs: REPEAT_MS });
        return 'A new conversation starts here.';
      case 'stop': {
        const { interrupted } = await agent.call(stopConversation, conversation, { repeatForMs: REPEAT_MS });
        return interrupted ? 'Stopped.' : 'Nothing was being worked on.';
      }
      case 'status':
        return statusText(parts, row);
      default:
        return Object.entries(COMMANDS)
          .map(([name, what]) => `/${name} ${what}`)
          .join('\n');
    }
  } catch (thrown) {
    return sentenceOf(thrown);
  }
}

/** Long enough for a restart of the agent worker. */
const REPEAT_MS = 5_000;

function statusText({ context, platforms, turns }: CommandParts, row: InboxRow): string {
  const pause = readPause(context.home, context.profile);
  const lines = [
    `agent-service ${context.release.version}, up for ${formatDuration(process.uptime() * 1_000)}`,
    turns.active().includes(row.lane) ? 'An answer for this chat is being worked on.' : 'Nothing is being worked on for this chat.',
    ...(pause ? [`Automation is paused${pause.reason ? ` (${pause.reason})` : ''}; ${turns.held()} message(s) wait.`] : []),
    `Platforms: ${platforms
      .states()
      .map(({ platform, state }) => `${platform} ${state}`)
      .join(', ')}`,
  ];
  return lines.join('\n');
}
