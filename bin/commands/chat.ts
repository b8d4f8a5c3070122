/** `agent chat`: the classic REPL, or one prompt. Starts the agent worker in the background when no service runs. */
import { fstatSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { AgentError, isAgentError, messageOf } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { painter } from '../../base/paint.ts';
import type { ConversationHost, NewSession } from '../../chat/conversation.ts';
import type { Outcome } from '../../chat/promptWatch.ts';
import { openHome, type Home } from '../../state/home.ts';
import { hasFlag, jsonOption, listOption, textOption, type Command, type Input } from '../command.ts';
import { dialWorker } from '../connect.ts';
import { withProgress } from '../progress.ts';
import { slotOf } from '../slots.ts';
import { agentPresence } from '../withAgent.ts';
import { note, out, print, printJson, printProblem } from '../terminal.ts';

export const command: Command = {
  name: 'chat',
  summary: 'Talk to the agent in this terminal',
  details:
    'With no service running it starts the agent worker alone in the background; that leaves ten minutes after its last client, and `agent up` makes it the full service. ' +
    'Text from a pipe is one prompt, like -q; with -q or --query-file it follows that text. One prompt runs unattended: nobody can be asked, so `approvals.single_query_mode` decides. ' +
    '`agent -z "…"` is `agent chat -z "…"`, `agent -c` is `agent chat -c`.',
  arguments: [{ name: 'title', summary: 'with --continue: exact title or id of the conversation', optional: true }],
  options: [
    { flags: '-q, --query <text>', summary: 'one prompt; its final text is printed' },
    { flags: '--query-file <path>', summary: 'one prompt from a file, or from the pipe with -', complete: 'file' },
    { flags: '-z, --oneshot <text>', summary: 'one prompt; the final text on stdout and nothing else anywhere unless it failed' },
    { flags: '-i, --interactive', summary: 'with a prompt: send it, then stay in the conversation' },
    { flags: '-m, --model <model>', summary: 'model of a new conversation: [provider:]model' },
    { flags: '--provider <name>', summary: 'provider of a new conversation' },
    { flags: '--reasoning <level>', summary: 'how long it thinks', choices: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] },
    { flags: '-r, --resume <id>', summary: 'go on with a conversation: id, exact title, or latest' },
    { flags: '-s, --session <id>', summary: 'the same as --resume' },
    { flags: '-c, --continue', summary: 'go on with the latest conversation, or with the one named' },
    { flags: '--image <path...>', summary: 'send an image with the prompt; may be repeated', complete: 'file' },
    {
      flags: '--safe-mode',
      summary: 'a new conversation that ignores config.yaml, rules, context files, memory, skills, SOUL.md and MCP servers',
    },
    { flags: '--source <tag>', summary: '`tool` hides a new conversation from lists', choices: ['cli', 'tool'] },
    { flags: '--usage-file <path>', summary: 'one prompt: write tokens, cost and outcome as JSON, also when it failed', complete: 'file' },
    { flags: '--events', summary: 'one prompt: every event as one JSON document a line' },
    { flags: '--cli', summary: 'the classic interface (the default)' },
    { flags: '--tui', summary: 'the full-screen interface; until it exists the classic one opens and says so' },
    { flags: '--json', summary: `one prompt: ${jsonOption.summary}` },
  ],
  examples: [
    { line: 'agent chat', does: 'a conversation; /help lists what it knows' },
    { line: 'agent chat -q "What is 2 + 2?"', does: 'exit code 1 when it failed or the model gave no answer' },
    { line: 'git diff | agent chat -q "Review this" -c', does: 'a pipe behind the prompt, in the latest conversation' },
    { line: 'agent chat --image plan.png -i -q "What is wrong here?"', does: 'sends it and stays' },
  ],
  run,
};

interface OnePrompt {
  text: string;
  images: string[];
}

async function run(input: Input): Promise<number> {
  refuseContradictions(input);
  const prompt = await promptOf(input);
  const interactive = prompt === undefined || hasFlag(input, 'interactive');
  const asked = ['json', 'events', 'usageFile'].find((name) => input.options[name] !== undefined && input.options[name] !== false);
  if (interactive && asked)
    throw new AgentError('USAGE', `--${asked === 'usageFile' ? 'usage-file' : asked} needs one prompt`, {
      fix: `agent chat -q "…" --${asked}`,
    });
  const home = openHome();
  // Held open while we are here: a service that a chat started stays as long as it has clients.
  const slot = slotOf('agent', input.profile);
  using _presence = await agentPresence(home, slot);
  const host = hostOf(home, slot);
  return interactive ? await converse(host, input, { home, seed: prompt }) : await oneShot(host, prompt, input);
}

async function converse(
  host: ConversationHost,
  input: Input,
  { home, seed }: { home: Home; seed: OnePrompt | undefined },
): Promise<number> {
  const [{ runRepl }, { chatHistory }, { readSnapshot }, { statusView }] = await Promise.all([
    import('../../chat/repl/repl.ts'),
    import('../chatHistory.ts'),
    import('../snapshot.ts'),
    import('../statusView.ts'),
  ]);
  const serviceStatus = () => {
    const snapshot = readSnapshot(home);
    return snapshot ? statusView(snapshot, painter(out)) : 'No service runs.';
  };
  return await runRepl(host, {
    ...conversationOptions(input),
    ...(seed ? { seed: { text: seed.text, attachments: seed.images } } : {}),
    interface: hasFlag(input, 'tui') ? 'tui' : hasFlag(input, 'cli') ? 'cli' : undefined,
    history: chatHistory(home.profile(input.profile)),
    serviceStatus,
  });
}

async function oneShot(host: ConversationHost, { text, images }: OnePrompt, input: Input): Promise<number> {
  const { askOnce } = await import('../../chat/oneShot.ts');
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const events = hasFlag(input, 'events');
  const ask = () =>
    askOnce(host, {
      text,
      ...conversationOptions(input),
      attachments: images.map((path) => ({ path })),
      onEvent: events ? (event) => print(JSON.stringify(event)) : undefined,
      signal: interrupted.signal,
    });
  const usageFile = textOption(input, 'usageFile');
  let outcome: Outcome;
  try {
    outcome = textOption(input, 'oneshot') === undefined ? await withProgress('thinking', ask) : await ask();
  } catch (thrown) {
    if (usageFile !== undefined) writeUsage(usageFile, failedOutcome(thrown));
    throw thrown;
  }
  if (usageFile !== undefined) writeUsage(usageFile, outcome);
  const { error, status, warnings } = outcome;
  if (input.json) printJson(outcome);
  else if (outcome.text && !events) print(outcome.text);
  if (textOption(input, 'oneshot') === undefined && !input.json) for (const warning of warnings) note(`agent: ${warning}`);
  if (error) printProblem(error, input.json);
  else if (status === 'interrupted') note('agent: interrupted');
  if (status === 'complete') return outcome.text.trim() === '' ? exitCodes.failed : exitCodes.ok;
  return interrupted.signal.aborted ? exitCodes.interrupted : exitCodes.failed;
}

function conversationOptions(input: Input): { session?: string; fresh: NewSession } {
  const named =
    textOption(input, 'resume') ?? textOption(input, 'session') ?? (hasFlag(input, 'continue') ? (input.args[0] ?? 'latest') : undefined);
  const [model, provider, reasoning] = [textOption(input, 'model'), textOption(input, 'provider'), textOption(input, 'reasoning')];
  return {
    ...(named === undefined ? {} : { session: named }),
    fresh: {
      ...(model === undefined ? {} : { model }),
      ...(provider === undefined ? {} : { provider }),
      ...(reasoning === undefined ? {} : { reasoning_effort: reasoning }),
      // Interface spec, Environment switches: the variable is the option, for whoever starts a chat as a child.
      ...(hasFlag(input, 'safeMode') || process.env.AGENT_SAFE_MODE === '1' ? { safe_mode: true } : {}),
      ...(textOption(input, 'source') === 'tool' ? { hidden: true } : {}),
    },
  };
}

/** What stands in an existing conversation is not changed by the way it is opened. */
function refuseContradictions(input: Input): void {
  const resumes = ['resume', 'session', 'continue'].filter((name) => input.options[name] !== undefined && input.options[name] !== false);
  if (resumes.length > 1)
    throw new AgentError('USAGE', `--${resumes[0]} and --${resumes[1]} name a conversation both`, { fix: 'give one of them' });
  if (input.args.length > 0 && !hasFlag(input, 'continue'))
    throw new AgentError('USAGE', `"${input.args[0]}" is neither an option nor a prompt`, {
      fix: `agent chat -q ${JSON.stringify(input.args[0])}`,
    });
  const ofNew = ['model', 'provider', 'reasoning', 'source', 'safeMode'].find(
    (name) => input.options[name] !== undefined && input.options[name] !== false,
  );
  if (resumes.length && ofNew)
    throw new AgentError('USAGE', `--${ofNew === 'safeMode' ? 'safe-mode' : ofNew} is for a new conversation`, {
      fix: 'leave it out; /model and /reasoning switch inside one',
    });
  if (hasFlag(input, 'cli') && hasFlag(input, 'tui')) throw new AgentError('USAGE', '--cli and --tui exclude each other');
  const prompts = ['query', 'queryFile', 'oneshot'].filter((name) => input.options[name] !== undefined);
  if (prompts.length > 1) throw new AgentError('USAGE', 'more than one prompt was given', { fix: 'give one of -q, --query-file and -z' });
}

/** The text of -q, -z or --query-file, followed by what the pipe holds; undefined = a conversation. */
async function promptOf(input: Input): Promise<OnePrompt | undefined> {
  const file = textOption(input, 'queryFile');
  const given =
    textOption(input, 'query') ?? textOption(input, 'oneshot') ?? (file === undefined || file === '-' ? undefined : readQuery(file));
  const piped = given === undefined ? !process.stdin.isTTY : isPipe();
  return joined(given, piped ? await readAll(process.stdin) : undefined, input);
}

/** Behind a prompt only a pipe of a shell or a file is read: what another program left open may never end. */
function isPipe(): boolean {
  const stat = fstatSync(0);
  return stat.isFIFO() || stat.isFile();
}

function joined(given: string | undefined, piped: string | undefined, input: Input): OnePrompt | undefined {
  const images = listOption(input, 'image').map((path) => resolve(path));
  const file = textOption(input, 'queryFile');
  if (given === undefined && piped === undefined && file !== '-') {
    if (images.length && !hasFlag(input, 'interactive'))
      throw new AgentError('USAGE', '--image needs a prompt', { fix: 'agent chat --image <path> -q "…"' });
    return undefined;
  }
  const text = [given, piped?.trimEnd()].filter((part) => part !== undefined && part !== '').join('\n\n');
  if (!text.trim()) throw new AgentError('USAGE', 'the prompt is empty', { fix: 'agent chat -q "a question"' });
  return { text, images };
}

function readQuery(path: string): string {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch (thrown) {
    throw new AgentError('NOT_FOUND', `--query-file: ${path} cannot be read: ${messageOf(thrown)}`, { cause: thrown });
  }
}

function failedOutcome(thrown: unknown): Omit<Outcome, 'session_id'> & { session_id: null } {
  const error = isAgentError(thrown)
    ? { code: thrown.code as string, message: thrown.message, fix: thrown.fix ?? null }
    : { code: 'INTERNAL', message: messageOf(thrown), fix: null };
  return { session_id: null, text: '', status: 'error', tools: [], usage: null, error, warnings: [] };
}

function writeUsage(
  path: string,
  { session_id, status, usage, tools, error }: Omit<Outcome, 'session_id'> & { session_id: string | null },
): void {
  writeFileSync(path, `${JSON.stringify({ session_id, status, usage, tool_calls: tools.length, error }, null, 2)}\n`, { mode: 0o600 });
}

function hostOf(home: Home, slot: string): ConversationHost {
  return {
    dial: (notices, signal, handlers = []) => dialWorker(home, slot, { notices, handlers, signal, startingMs: limits.ipc.startingMs }),
  };
}
