/**
 * Children of `delegate_task`: a hidden session each, with fewer tools than its parent. They run as any turn
 * does, so they are durable, bounded and interruptible; their progress is shown on the parent's session, and
 * what must be asked about is asked there. A child never outlives the call that made it, nor the worker.
 */
import type { Delegation, Delegator, Owner, ToolRun } from '../../../agent/ports.ts';
import { encodePrincipal } from '../../../agent/authority/principal.ts';
import { cutMiddle } from '../../../agent/tools/outputCap.ts';
import type { SessionTools } from '../../../agent/tools/registry.ts';
import { AgentError, isAgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { within } from '../../../base/time.ts';
import type { WorkerContext } from '../../worker.ts';
import type { EventLog } from '../events.ts';
import { principalOfTurn } from '../principal.ts';
import { sessionConfig } from '../sessionConfig.ts';
import type { SessionRecord, Store } from '../store.ts';
import { turnErrorOf, type Transcripts, type TurnRecord } from '../transcripts.ts';
import type { Turns } from '../turns.ts';

export interface DelegateParts {
  context: WorkerContext;
  store: Store;
  transcripts: Transcripts;
  events: EventLog;
  turns: Turns;
}

export interface Parent {
  session: SessionRecord;
  surface: string;
  /** Nobody can be asked in its turn. */
  unattended: boolean;
  /** Toolsets of the running turn. */
  toolsets(): string[];
}

type Outcome = Awaited<ReturnType<Delegator['run']>>;
type ChildRun = ToolRun & { index: number; count: number };

/** A running child, as its parent's call sees it. */
interface Watch {
  /** Its tool calls are shown there. */
  tell(tool: string, text: string): void;
  /** Waits for a person, which is neither a stall nor time of any call above it. */
  untimed<T>(work: Promise<T>): Promise<T>;
  /** So many of its questions are open, and of its own children's. */
  waiting: number;
}

/** `sessions.source` of a child. */
export const CHILD_SOURCE = 'delegation';

/** Children talk to nobody, decide nothing for later conversations, and pass nothing on. */
const NEVER_FOR_CHILDREN = ['clarify', 'memory', 'messaging'];

const { delegateDepth, delegateLookMs, delegateStallMs, delegateSummaryMaxChars } = limits.tools;

export class Delegations {
  #parts: () => DelegateParts;
  #endProcesses: (sessionId: string) => Promise<void>;
  #children = new Map<string, Watch>();

  /** `endProcesses`: of a session. */
  constructor(parts: () => DelegateParts, endProcesses: (sessionId: string) => Promise<void>) {
    this.#parts = parts;
    this.#endProcesses = endProcesses;
  }

  /** Whether the session may have children (`delegation.max_depth`). */
  allows(session: SessionRecord): boolean {
    return this.#depthOf(session) < this.#maxDepth(session);
  }

  /** What the tools of a child do beside their work: their calls are shown above, and so is that they wait for a person. */
  watching(session: SessionRecord, owner: Owner | undefined): Pick<SessionTools, 'onCall' | 'owner'> {
    const watch = this.#children.get(session.id);
    if (!watch) return {};
    return {
      onCall: (name, args) => watch.tell(name, JSON.stringify(args).slice(0, 200)),
      owner: owner && {
        ...owner,
        permit: (call, danger, run) =>
          owner.permit(call, danger, { ...run, untimed: (work) => watch.untimed(run.untimed ? run.untimed(work) : work) }),
      },
    };
  }

  delegator(parent: Parent): Delegator {
    return { run: (task, run) => this.#run(parent, task, run) };
  }

  /** Prompts of children that still waited when the last worker ended: their parents' turns are over. */
  abandonLeft(): void {
    const { store, transcripts } = this.#parts();
    const left = store.all<{ id: number }>(
      'SELECT m.id FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.position IS NULL AND s.source = ?',
      CHILD_SOURCE,
    );
    for (const { id } of left) transcripts.withdraw(transcripts.message(id)!);
  }

  async #run(parent: Parent, task: Delegation, run: ChildRun): Promise<Outcome> {
    const { events } = this.#parts();
    run.signal.throwIfAborted();
    const child = this.#createChild(parent, task);
    const startedAt = performance.now();
    const emit = (type: string, payload: Record<string, unknown>) =>
      events.emit(parent.session.id, null, type, { subagent_id: child.id, ...payload });
    emit('subagent.start', {
      parent_id: parent.session.source === CHILD_SOURCE ? parent.session.id : null,
      goal: task.goal,
      task_index: run.index,
      task_count: run.count,
      depth: this.#depthOf(child),
    });
    this.#children.set(
      child.id,
      this.#watch(parent, run, (tool_name, text) => emit('subagent.progress', { tool_name, text })),
    );
    let outcome: Outcome;
    try {
      outcome = await this.#perform(parent, child, task, run);
    } catch (thrown) {
      const status = run.signal.aborted || (isAgentError(thrown) && thrown.code === 'DRAINING') ? 'interrupted' : 'error';
      outcome = { status, summary: messageOf(thrown), sessionId: child.id, modelCalls: 0 };
    } finally {
      this.#children.delete(child.id);
      // Nobody is left who could read or end what it started in the background.
      await this.#endProcesses(child.id);
    }
    const { status, summary, modelCalls } = outcome;
    const duration_s = Math.round(performance.now() - startedAt) / 1_000;
    emit('subagent.complete', { status, summary, duration_s, model_calls: modelCalls });
    return outcome;
  }

  #watch(parent: Parent, run: ToolRun, show: Watch['tell']): Watch {
    const above = this.#children.get(parent.session.id);
    const watch: Watch = {
      tell(tool, text) {
        run.progress(tool);
        show(tool, text);
      },
      async untimed(work) {
        watch.waiting++;
        const here = run.untimed ? run.untimed(work) : work;
        return (above ? above.untimed(here) : here).finally(() => watch.waiting--);
      },
      waiting: 0,
    };
    return watch;
  }

  /** Errors: BAD_REQUEST for toolsets that the parent does not have. */
  #createChild(parent: Parent, { goal, toolsets }: Delegation): SessionRecord {
    const { context, store } = this.#parts();
    const own = parent.toolsets();
    const unknown = toolsets?.filter((name) => !own.includes(name)) ?? [];
    if (unknown.length > 0) {
      throw new AgentError('BAD_REQUEST', `you do not have ${unknown.join(', ')} yourself`, { fix: `toolsets: ${own.join(', ')}` });
    }
    const mayDelegate = this.#depthOf(parent.session) + 1 < this.#maxDepth(parent.session);
    const kept = own.filter(
      (name) => (toolsets?.includes(name) ?? true) && !NEVER_FOR_CHILDREN.includes(name) && (name !== 'delegation' || mayDelegate),
    );
    const choices = { '*': false, ...Object.fromEntries(kept.map((name) => [name, true])) };
    const { session } = parent;
    const { model, provider, reasoning_effort } = sessionConfig(context, session).delegation ?? {};
    return store.transaction(() => {
      const { id } = store.createSession({
        source: CHILD_SOURCE,
        platform: session.platform ?? undefined,
        title: goal.slice(0, limits.turn.titleMaxChars),
        model: model ?? session.model ?? undefined,
        provider: provider ?? (model === undefined ? (session.provider ?? undefined) : undefined),
        cwd: session.cwd,
        principal: encodePrincipal(principalOfTurn(session, parent.surface)),
      });
      store.run(
        'UPDATE sessions SET hidden = 1, parent_session_id = ?, toolset_choices = ?, reasoning_effort = ?, safe_mode = ? WHERE id = ?',
        session.id,
        JSON.stringify(choices),
        reasoning_effort ?? session.reasoning_effort,
        session.safe_mode,
        id,
      );
      return store.session(id)!;
    });
  }

  /** The child's one turn, from its prompt to its end, the parent's interrupt, or its stall. */
  async #perform({ surface, unattended }: Parent, child: SessionRecord, task: Delegation, { signal }: ChildRun): Promise<Outcome> {
    const { transcripts, turns } = this.#parts();
    const { messageId } = turns.submit({ sessionId: child.id, text: promptOf(task), surface, unattended });
    const open = () => transcripts.message(messageId)?.position === null || turns.runs(messageId);
    let stalled = false;
    let seen = { seq: -1, at: performance.now() };
    while (open()) {
      const ended = await endedWithin(turns.ended(messageId), signal);
      if (ended) continue;
      const seq = this.#lastEvent(child.id);
      if (seq !== seen.seq || this.#children.get(child.id)?.waiting) seen = { seq, at: performance.now() };
      stalled = performance.now() - seen.at > delegateStallMs;
      if (!signal.aborted && !stalled) continue;
      turns.withdraw(messageId);
      if (open()) await within(turns.ended(messageId), { ms: limits.turn.toolStopMs, what: 'ending a child' }).catch(() => {});
      break;
    }
    return this.#outcome(child.id, messageId, { stalled });
  }

  #outcome(sessionId: string, messageId: number, { stalled }: { stalled: boolean }): Outcome {
    const { store, transcripts } = this.#parts();
    const turn = transcripts.lastTurnOf(messageId) as (TurnRecord & { model_calls: number }) | undefined;
    const answers = store.one<{ n: number }>("SELECT count(*) AS n FROM messages WHERE session_id = ? AND role = 'assistant'", sessionId);
    const modelCalls = turn?.model_calls || (answers?.n ?? 0);
    const text = cutMiddle(turn?.text ?? '', delegateSummaryMaxChars);
    if (stalled) return { status: 'timeout', summary: text || `nothing happened for ${delegateStallMs / 1_000} s`, sessionId, modelCalls };
    const status = !turn || turn.status === 'running' ? 'interrupted' : turn.status;
    const error = turn && status === 'error' ? turnErrorOf(turn) : null;
    const summary = error ? [text, `${error.code}: ${error.message}`].filter(Boolean).join('\n') : text;
    return { status, summary, sessionId, modelCalls };
  }

  /** Number of the newest event: rises with every word and every tool. */
  #lastEvent(sessionId: string): number {
    return (
      this.#parts().store.one<{ seq: number | null }>('SELECT max(seq) AS seq FROM session_events WHERE session_id = ?', sessionId)?.seq ??
      0
    );
  }

  #maxDepth(session: SessionRecord): number {
    return sessionConfig(this.#parts().context, session).delegation?.max_depth ?? delegateDepth;
  }

  #depthOf(session: SessionRecord): number {
    const { store } = this.#parts();
    let depth = 0;
    for (let at: SessionRecord | undefined = session; at?.source === CHILD_SOURCE; depth++) {
      at = at.parent_session_id === null ? undefined : store.session(at.parent_session_id);
    }
    return depth;
  }
}

/** True when it ended; false after a while, and when the parent is interrupted. */
async function endedWithin(ended: Promise<void>, signal: AbortSignal): Promise<boolean> {
  try {
    await within(ended, { ms: delegateLookMs, signal, what: 'a child' });
    return true;
  } catch (thrown) {
    if (signal.aborted || (isAgentError(thrown) && thrown.code === 'TIMEOUT')) return false;
    throw thrown;
  }
}

function promptOf({ goal, context }: Delegation): string {
  return [
    goal,
    context && `What you need to know:\n${context}`,
    'You do this for another agent. Nobody can answer questions: decide yourself, and say what you assumed. ' +
      'Your last message is your report: what you did, what you found (with paths and numbers), and what is open.',
  ]
    .filter(Boolean)
    .join('\n\n');
}
