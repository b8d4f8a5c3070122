/** `agent chat`: the classic REPL, or one prompt with -q. Starts the agent worker in the background when no service runs. */
import { text as readAll } from 'node:stream/consumers';
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import type { ConversationHost } from '../../chat/conversation.ts';
import type { Link } from '../../ipc/link.ts';
import { openHome, type Home } from '../../state/home.ts';
import { chatHistory } from '../chatHistory.ts';
import { jsonOption, textOption, type Command, type Input } from '../command.ts';
import { dialWorker } from '../connect.ts';
import { ensureSupervisor } from '../launch.ts';
import { withProgress } from '../progress.ts';
import { startInstalled } from '../service/startInstalled.ts';
import { slotOf } from '../slots.ts';
import { readSnapshot } from '../snapshot.ts';
import { statusView } from '../statusView.ts';
import { note, out, print, printJson, printProblem } from '../terminal.ts';

export const command: Command = {
  name: 'chat',
  summary: 'Talk to the agent in this terminal',
  details:
    'With no service running it starts the agent worker alone in the background; that leaves ten minutes after its last client, and `agent up` makes it the full service. ' +
    'Text from a pipe is one prompt, like -q.',
  options: [
    { flags: '-q, --query <text>', summary: 'one prompt; only the final text is printed' },
    { flags: '-m, --model <model>', summary: 'model of a new conversation' },
    { flags: '-s, --session <id>', summary: 'go on with a conversation: id, exact title, or latest' },
    { flags: '--json', summary: `with -q: ${jsonOption.summary}` },
  ],
  examples: [
    { line: 'agent chat', does: 'a conversation; /help lists what it knows' },
    { line: 'agent chat -q "What is 2 + 2?"', does: 'exit code 1 when it failed' },
    { line: 'git diff | agent chat -s latest', does: 'a pipe as the prompt' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const prompt = await oneShotPrompt(input);
  if (prompt === undefined && input.json) throw new AgentError('USAGE', '--json needs one prompt', { fix: 'agent chat -q "…" --json' });
  const home = openHome();
  // Held open while we are here: a service that a chat started stays as long as it has clients.
  const slot = slotOf('agent', input.profile);
  using _presence = await presence(home, slot);
  const host = hostOf(home, slot);
  if (prompt !== undefined) return await oneShot(host, prompt, input);
  const { runRepl } = await import('../../chat/repl/repl.ts');
  const paths = home.profile(input.profile);
  const serviceStatus = () => {
    const snapshot = readSnapshot(home);
    return snapshot ? statusView(snapshot, painter(out)) : 'No service runs.';
  };
  return await runRepl(host, { ...conversationOptions(input), history: chatHistory(paths), serviceStatus });
}

async function oneShot(host: ConversationHost, text: string, input: Input): Promise<number> {
  const { askOnce } = await import('../../chat/oneShot.ts');
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const outcome = await withProgress('thinking', () => askOnce(host, { text, ...conversationOptions(input), signal: interrupted.signal }));
  const { error, status } = outcome;
  if (input.json) printJson(outcome);
  else if (outcome.text) print(outcome.text);
  if (error) printProblem(error, input.json);
  else if (status === 'interrupted') note('agent: interrupted');
  return status === 'complete' ? exitCodes.ok : exitCodes.failed;
}

const conversationOptions = (input: Input) => ({ session: textOption(input, 'session'), model: textOption(input, 'model') });

/** The text of -q, or of a pipe; undefined = a conversation. */
async function oneShotPrompt(input: Input): Promise<string | undefined> {
  const query = textOption(input, 'query');
  const text = query ?? (process.stdin.isTTY ? undefined : await readAll(process.stdin));
  if (text === undefined) return undefined;
  if (!text.trim()) throw new AgentError('USAGE', 'the prompt is empty', { fix: 'agent chat -q "a question"' });
  return query === undefined ? text.trimEnd() : text;
}

async function presence(home: Home, slot: string): Promise<Link> {
  const start = async () => (await startInstalled(home)) ?? (await ensureSupervisor(home, { only: [slot] }));
  const { link } = await withProgress('starting the agent', start);
  return link;
}

function hostOf(home: Home, slot: string): ConversationHost {
  return { dial: (notices, signal) => dialWorker(home, slot, { notices, signal, startingMs: limits.ipc.startingMs }) };
}
