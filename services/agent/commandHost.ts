/** The host of slash commands: each call goes to the function that the RPC method of that name calls. */
import { AgentError } from '../../base/errors.ts';
import { encodePrincipal, scopeOf, type Principal } from '../../agent/authority/principal.ts';
import type { Calls, CommandHost, Surface } from '../../agent/commands/host.ts';
import * as cron from '../../ipc/contracts/cron.ts';
import * as rpc from '../../ipc/contracts/rpc.ts';
import * as commands from '../../ipc/contracts/rpcRequests.ts';
import { analyticsUsage } from '../../ipc/contracts/rpcAnalytics.ts';
import * as sessions from '../../ipc/contracts/rpcSessions.ts';
import * as settings from '../../ipc/contracts/rpcSettings.ts';
import * as tools from '../../ipc/contracts/rpcTools.ts';
import type { Attachment } from '../../ipc/contracts/rpcRecords.ts';
import { isTransport } from '../../ipc/client.ts';
import { checked, type CallContext, type Handler } from '../../ipc/link.ts';
import type { Method } from '../../ipc/method.ts';
import type { Background } from './background.ts';
import { lastPrompt, undo } from './lineage.ts';
import { factsOf } from './models.ts';
import { principalOfTurn, type CommandCall } from './principal.ts';
import type { ProcessNotes } from './processNotes.ts';
import type { SessionParts } from './sessions.ts';
import type { SideQuestions } from './sideQuestions.ts';
import { sessionConfig } from './sessionConfig.ts';
import type { SessionRecord } from './store.ts';
import { originOf } from './toolbox.ts';

/** The contract behind each call: what a command says and reads has to fit it. */
type Served = { [N in keyof Calls]: Method<never, Calls[N]['result'], never> };
const methods = {
  'prompt.submit': rpc.promptSubmit,
  'prompt.btw': sessions.promptBtw,
  'prompt.background': sessions.promptBackground,
  'session.interrupt': rpc.sessionInterrupt,
  'session.steer': sessions.sessionSteer,
  'session.queue': sessions.sessionQueue,
  'session.list': rpc.sessionList,
  'session.title': rpc.sessionTitle,
  'session.undo': sessions.sessionUndo,
  'session.branch': sessions.sessionBranch,
  'session.history': rpc.sessionHistory,
  'session.compress': sessions.sessionCompress,
  'session.usage': sessions.sessionUsage,
  'session.context_breakdown': sessions.contextBreakdown,
  'analytics.usage': analyticsUsage,
  'config.get': settings.configGet,
  'config.set': settings.configSet,
  'model.options': settings.modelOptions,
  'tools.list': tools.toolsList,
  'skills.list': tools.skillsList,
  'skills.view': tools.skillView,
  'skills.toggle': tools.skillToggle,
  'memory.show': tools.memoryShow,
  'memory.review': tools.memoryReview,
  'approval.respond': commands.approvalRespond,
  'reload.mcp': settings.reloadMcp,
  'process.list': tools.processList,
  'cron.list': cron.listJobs,
  'cron.create': cron.createJob,
  'cron.blueprints': cron.listBlueprints,
  'cron.blueprints.preview': cron.previewBlueprint,
  'cron.blueprints.instantiate': cron.instantiateBlueprint,
  'cron.pause': cron.pauseJob,
  'cron.resume': cron.resumeJob,
  'cron.remove': cron.removeJob,
  'cron.run': cron.runJob,
} satisfies { [N in keyof Served]: { result: { _output: Calls[N]['result'] } } };

/** Calls that are not about one session. */
const WITHOUT_SESSION: ReadonlySet<string> = new Set([
  'session.list',
  'analytics.usage',
  'skills.view',
  'skills.toggle',
  'memory.show',
  'memory.review',
]);
/** Calls that take the surface as well. */
const WITH_SURFACE: ReadonlySet<string> = new Set(['prompt.submit', 'prompt.background', 'session.steer']);

export interface HostParts extends SessionParts {
  side: SideQuestions;
  background: Background;
  notes: ProcessNotes;
}

export interface HostRequest {
  session: SessionRecord;
  surface: Surface;
  user?: string | null;
  /** The chat platform knows the sender as an owner. */
  isOwner?: boolean;
  call: CallContext;
  /** Stands in for `prompt.submit`: a chat of the gateway submits its prompts itself. */
  capture?: (text: string) => void;
  /** Side questions are waited for: the surface hears no events. */
  waits?: boolean;
}

/** `handlers`: every method of the gateway RPC. */
export function createCommandHost(parts: HostParts, handlers: readonly Handler[], request: HostRequest): CommandHost {
  const { context, store, turns, desk } = parts;
  const { session, surface, capture, isOwner } = request;
  const principal = principalOfTurn(session, surface, { isOwner });
  const call = async (name: keyof Calls, params: object): Promise<unknown> => {
    if (name.startsWith('cron.')) return askCron(parts, methods[name], ownJobs(principal, originOf(session), name, params));
    if (name === 'prompt.submit' && capture) {
      capture((params as { text: string }).text);
      return { status: 'streaming', message_id: 0 };
    }
    const handler = handlers.find(({ method }) => method.name === name);
    if (!handler) throw new AgentError('METHOD_NOT_FOUND', `${name} is not served by this build`);
    const full = {
      ...params,
      ...(WITHOUT_SESSION.has(name) ? {} : { session_id: session.id }),
      ...(WITH_SURFACE.has(name) ? { surface } : {}),
    };
    const asCaller: CommandCall = { ...request.call, principal };
    return await handler.run(checked(handler.method.params, full, handler.method.invalid, name), asCaller);
  };
  return {
    surface,
    principal,
    session: { id: session.id, title: session.title, platform: session.platform },
    user: request.user ?? null,
    origin: originOf(session),
    busy: () => turns.isRunning(session.id),
    call: call as CommandHost['call'],
    startNew: (title) => startNew(parts, handlers, { ...request, title }),
    askAgain: async () => askAgain(parts, request, call),
    findSession: (name) => store.findSession(name),
    sideAnswer: (taskId) => (request.waits ? parts.side.answerOf(taskId) : null),
    facts() {
      const { provider, model, scripted } = factsOf(desk.resolve(session));
      const { version } = context.release;
      const names = session.tool_names ? (JSON.parse(session.tool_names) as string[]) : [];
      return {
        version,
        profile: context.profile,
        home: context.paths.dir,
        model,
        provider,
        scripted,
        cwd: session.cwd,
        tools: names.length,
      };
    },
    skillBlueprints: () => parts.skills.blueprints(session),
    reloadEnv: () => context.secrets().names().length,
    personalities: () => sessionConfig(context, session).personalities ?? {},
    quickCommands: () => sessionConfig(context, session).quick_commands ?? {},
  };
}

/** The old exchange steps back in the transaction that stores the new prompt. */
async function askAgain(
  { store, events, turns }: HostParts,
  { session, surface, capture }: HostRequest,
  call: (name: keyof Calls, params: object) => Promise<unknown>,
): ReturnType<CommandHost['askAgain']> {
  const last = lastPrompt(store, session.id);
  if (!last) return null;
  if (capture) {
    await call('session.undo', { count: 1 });
    capture(last.content);
    return { text: last.content, messageId: 0 };
  }
  const attachments = last.attachments === null ? [] : (JSON.parse(last.attachments) as Attachment[]);
  const { messageId } = turns.submit({ sessionId: session.id, text: last.content, surface, attachments, busy: 'queue' }, () => {
    undo(store, session.id, 1);
    events.emit(session.id, null, 'session.changed', { reason: 'undone' });
  });
  return { text: last.content, messageId };
}

/** A chat gets a session under its key at its next message; a surface is given one. */
async function startNew(
  { store, turns }: HostParts,
  handlers: readonly Handler[],
  { session, surface, title, call }: HostRequest & { title: string | undefined },
): Promise<{ sessionId: string }> {
  if (session.session_key !== null && surface === 'gateway') {
    turns.interrupt(session.id);
    store.forgetConversation(session.session_key);
    return { sessionId: session.id };
  }
  const create = handlers.find(({ method }) => method.name === rpc.sessionCreate.name)!;
  const made = (await create.run({ source: surface, cwd: session.cwd, ...(title ? { title } : {}) }, call)) as { session_id: string };
  return { sessionId: made.session_id };
}

/** A chat sees, makes and changes its own jobs alone, and they write to that chat alone. Errors: NOT_PERMITTED. */
function ownJobs(principal: Principal, origin: string | null, name: keyof Calls, params: object): object {
  if (scopeOf(principal) === undefined) return params;
  const created_by = encodePrincipal(principal);
  const asked = params as { deliver?: string; values?: { deliver?: string } };
  const target = asked.deliver ?? asked.values?.deliver;
  if (target !== undefined && target !== 'origin' && target !== origin) {
    throw new AgentError('NOT_PERMITTED', `a job made here delivers to this chat alone, not to ${target}`, { fix: 'leave deliver out' });
  }
  const deliver = origin ?? 'local';
  if (name === 'cron.create') return { ...params, deliver, created_by };
  if (name === 'cron.blueprints.instantiate') return { ...params, values: { ...asked.values, deliver }, created_by };
  return { ...params, created_by };
}

async function askCron({ context }: HostParts, method: Method<unknown, unknown>, params: unknown): Promise<unknown> {
  try {
    return await context.peer('cron').call(method, { profile: context.profile, ...(params as object) });
  } catch (thrown) {
    if (!isTransport(thrown)) throw thrown;
    throw new AgentError('PEER_UNREACHABLE', 'the cron worker does not answer', {
      cause: thrown,
      fix: 'agent status shows why; agent start cron',
    });
  }
}
