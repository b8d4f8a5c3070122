/** Methods of the gateway RPC about slash commands, the queue and work beside the conversation. */
import { completeLine } from '../../../agent/commands/complete.ts';
import { dispatch, skillsOf } from '../../../agent/commands/dispatch.ts';
import type { Surface } from '../../../agent/commands/host.ts';
import { availableOn, findCommand } from '../../../agent/commands/registry.ts';
import { AgentError } from '../../../base/errors.ts';
import { conversationCommand } from '../../../ipc/contracts/agent.ts';
import { commandDispatch, commandsCatalog, completePath, completeSlash, type CommandRow } from '../../../ipc/contracts/rpcCommands.ts';
import { promptBackground, promptBtw, sessionQueue } from '../../../ipc/contracts/rpcSessions.ts';
import { promptSubmit } from '../../../ipc/contracts/rpc.ts';
import { handle, type CallContext, type Handler } from '../../../ipc/link.ts';
import type { ParamsOf, ResultOf } from '../../../ipc/method.ts';
import { AnsweredCommands } from '../answeredCommands.ts';
import { createCommandHost, type HostParts } from '../commandHost.ts';
import { completePaths } from '../completePaths.ts';
import { callerOf } from '../principal.ts';
import { clearQueued, editQueued, moveQueued, placeInQueue, queuedOf, removeQueued } from '../queue.ts';
import { defaultDirectory, requireSession } from '../sessions.ts';

/** `all` gives every method of the gateway RPC, these included. */
export function commandMethods(parts: HostParts, all: () => readonly Handler[]): Handler[] {
  const { context, store, side, background } = parts;
  const answered = new AnsweredCommands(store, context.log);
  const hostOf = (sessionId: string, surface: Surface | undefined, call: CallContext) => {
    const session = requireSession(store, sessionId);
    return createCommandHost(parts, all(), { session, surface: surface ?? 'other', call });
  };
  return [
    handle(commandsCatalog, async ({ surface = 'cli', session_id }, call) => {
      const skills = session_id === undefined ? [] : await skillsOf(hostOf(session_id, surface, call));
      return { commands: catalogOf(surface, skills) };
    }),
    handle(commandDispatch, async ({ session_id, line, surface }, call) => {
      const done = await dispatch(hostOf(session_id, surface, call), line);
      return {
        kind: done.kind,
        name: done.name,
        args: done.args ?? '',
        text: done.text,
        data: done.data ?? null,
        session_id: done.sessionId ?? null,
        message_id: done.messageId ?? null,
        choices: done.choices ?? [],
      };
    }),
    handle(completeSlash, async ({ text, session_id, surface }, call) => {
      const session = session_id ?? store.findSession('latest')?.id;
      if (session === undefined) return { replace_from: 0, items: namesOnly(surface ?? 'cli', text) };
      const space = text.search(/\s/);
      if (space > 0 && findCommand(text.slice(1, space), availableOn(surface ?? 'cli'))?.completes === 'path')
        return completePaths(text, requireSession(store, session).cwd, space + 1);
      return completeLine(hostOf(session, surface ?? 'cli', call), text);
    }),
    handle(completePath, ({ text, session_id }) => {
      const cwd = session_id === undefined ? defaultDirectory(context) : requireSession(store, session_id).cwd;
      return completePaths(text, cwd, Math.max(text.lastIndexOf('@') + 1, text.search(/\S+$/), 0));
    }),
    handle(sessionQueue, (params, call) => manageQueue(parts, all(), params, call)),
    handle(promptBtw, ({ session_id, text }, { link }) => {
      const session = requireSession(store, session_id);
      parts.events.follow(session.id, link);
      return { task_id: side.ask(session, text) };
    }),
    handle(promptBackground, ({ session_id, text, surface }, { link }) => {
      const session = requireSession(store, session_id);
      parts.events.follow(session.id, link);
      const { taskId, sessionId } = background.start(session, { text, surface: surface ?? 'other' });
      return { task_id: taskId, session_id: sessionId };
    }),
    // Between workers: not in the table of what a relayed browser may call.
    handle(conversationCommand, (params, call) => answered.once(params, () => runLine(parts, all(), params, call))),
  ];
}

/** A line of a chat. A command that asks for a turn answers with its prompt, which the chat submits itself. */
async function runLine(
  parts: HostParts,
  handlers: readonly Handler[],
  { session_key, line, platform, user, is_owner: isOwner }: ParamsOf<typeof conversationCommand>,
  call: CallContext,
): Promise<ResultOf<typeof conversationCommand>> {
  const { context, store } = parts;
  const session =
    store.conversation(session_key) ??
    store.transaction(() => {
      const made = store.createSession({ source: platform, platform, sessionKey: session_key, cwd: defaultDirectory(context) });
      store.bindConversation(session_key, made.id);
      return made;
    });
  let prompt: string | null = null;
  const capture = (text: string) => void (prompt = text);
  const host = createCommandHost(parts, handlers, {
    session,
    surface: 'gateway',
    user: user ?? null,
    isOwner,
    call,
    capture,
    waits: true,
  });
  const { text, choices = [], args = '', kind } = await dispatch(host, line);
  const lines = kind === 'choice' ? choices.filter((choice) => choice.line).map((choice) => `${choice.line}   ${choice.label}`) : [];
  const open = kind === 'choice' && args.startsWith('/') ? [`Answer with: ${args}…`] : [];
  return { text: [text, ...lines, ...open].filter(Boolean).join('\n'), prompt };
}

interface QueueParams {
  session_id: string;
  action: 'list' | 'add' | 'edit' | 'remove' | 'move' | 'clear';
  index?: number | undefined;
  message_id?: number | undefined;
  to?: number | undefined;
  text?: string | undefined;
}

async function manageQueue(
  parts: HostParts,
  handlers: readonly Handler[],
  { session_id, action, message_id, to, text, ...params }: QueueParams,
  call: CallContext,
): Promise<{ queued: { id: number; text: string }[] }> {
  const session = requireSession(parts.store, session_id);
  const queue = { session, principal: callerOf(call) };
  parts.events.follow(session.id, call.link);
  const index = message_id === undefined ? params.index : placeInQueue(parts, queue, message_id);
  switch (action) {
    case 'add': {
      const submit = handlers.find(({ method }) => method.name === promptSubmit.name)!;
      await submit.run({ session_id: session.id, text: required(text, 'text'), busy: 'queue' }, call);
      break;
    }
    case 'edit':
      editQueued(parts, queue, { index: required(index, 'index'), text: required(text, 'text') });
      break;
    case 'remove':
      removeQueued(parts, queue, required(index, 'index'));
      break;
    case 'move':
      moveQueued(parts, queue, { index: required(index, 'index'), to: required(to, 'to') });
      break;
    case 'clear':
      clearQueued(parts, queue);
      break;
    case 'list':
  }
  return { queued: queuedOf(parts, queue) };
}

function required<T>(value: T | undefined, field: string): T {
  if (value !== undefined) return value;
  throw new AgentError('BAD_REQUEST', `session.queue: ${field} is missing`, { field });
}

function catalogOf(surface: Surface, skills: readonly { name: string; description: string }[]): CommandRow[] {
  const own = availableOn(surface).map(({ name, aliases = [], takes = '', summary, category, local = false }) => ({
    name,
    aliases: [...aliases],
    takes,
    summary,
    category,
    local,
  }));
  const taken = new Set(own.map(({ name }) => name));
  const ofSkills = skills
    .filter(({ name }) => !taken.has(name))
    .map(({ name, description }) => ({
      name,
      aliases: [],
      takes: '[text]',
      summary: description,
      category: 'skill' as const,
      local: false,
    }));
  return [...own, ...ofSkills];
}

function namesOnly(surface: Surface, text: string): { text: string; label: string; summary: string }[] {
  return availableOn(surface)
    .filter(({ name }) => `/${name}`.startsWith(text))
    .map(({ name, summary }) => ({ text: `/${name}`, label: `/${name}`, summary }));
}
