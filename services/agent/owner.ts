/** The owner of a running turn: its settings, its rules, and the session whose followers are asked. */
import { scopeOf } from '../../agent/authority/principal.ts';
import { createOwner, type Asker, type Rules } from '../../agent/approvals/owner.ts';
import type { ApprovalPolicy } from '../../agent/approvals/policy.ts';
import { isPlainlyHarmless } from '../../agent/approvals/smart.ts';
import type { Owner } from '../../agent/ports.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { isoTime } from '../../base/time.ts';
import type { Config } from '../../state/config/schema.ts';
import type { EngineParts, Running } from './engine.ts';
import { principalOfTurn } from './principal.ts';
import { sessionConfig } from './sessionConfig.ts';
import type { SessionRecord, Store } from './store.ts';

export function ownerOf(parts: EngineParts, running: Running): Owner {
  const { context, store, desk, requests, rules } = parts;
  const { session, controller, surface } = running;
  const principal = principalOfTurn(session, surface);
  const isSafe = session.safe_mode === 1;
  const config = sessionConfig(context, session);
  const asked = rootOf(store, session);
  const unattended = unattendedBy(config, running, asked);
  const owner = createOwner({
    policy: { mode: config.approvals?.mode ?? 'manual', ...(unattended ? { unattended } : {}) },
    rules: rules.forSession(asked.id, isSafe ? undefined : (scopeOf(principalOfTurn(asked, surface)) ?? '')),
    asker: askerOf(parts, asked.id),
    harmless: (toolName, danger, signal) =>
      isPlainlyHarmless(
        () => desk.auxiliary('approval', session),
        { toolName, danger: { ...danger, command: context.redact(danger.command) }, cwd: session.cwd },
        signal,
      ),
    onTimeout: config.approvals?.on_timeout ?? 'deny',
    halt: (reason) => controller.abort(reason),
  });
  // What is allowed in safe mode is not kept for other conversations.
  return isSafe ? { ...owner, permit: (call, danger, run) => owner.permit(call, { ...danger, lasting: false }, run) } : owner;

  function askerOf({ context: { redact } }: EngineParts, sessionId: string): Asker {
    return {
      async approval({ toolName, danger, choices }, signal) {
        const by = asked.id === session.id ? '' : ` (for “${session.title ?? session.id}”)`;
        const description = `${toolName}${by}: ${danger.reasons.join('; ')}`;
        const params = {
          tool_name: toolName,
          command: redact(danger.command),
          reasons: [...danger.reasons],
          description,
          choices: [...choices],
          ...(danger.rule === undefined ? {} : { rule: redact(danger.rule) }),
        };
        const waits = config.approvals?.on_timeout === 'wait';
        const timeoutMs = waits ? null : secondsOr(config.approvals?.timeout_seconds, limits.approvals.timeoutMs);
        const settled = await requests.ask(sessionId, 'approval', params, { signal, timeoutMs, askedBy: session.id, principal });
        return 'answer' in settled ? settled.answer : settled;
      },
      async clarify(questions, signal) {
        const timeoutMs = secondsOr(config.clarify?.timeout_seconds, limits.approvals.timeoutMs);
        const list = questions.map(({ qid, question, choices, multiSelect }) => ({
          qid,
          question,
          ...(choices ? { choices: [...choices] } : {}),
          ...(multiSelect ? { multi_select: true } : {}),
        }));
        const settled = await requests.ask(
          sessionId,
          'clarify',
          { questions: list },
          { signal, timeoutMs, askedBy: session.id, principal },
        );
        return 'answer' in settled ? { answers: settled.answer.answers } : settled;
      },
    };
  }
}

const secondsOr = (seconds: number | undefined, fallbackMs: number): number => (seconds === undefined ? fallbackMs : seconds * 1_000);

/** Hidden sessions (sub-agents, `/bg`) ask where they were started from. */
export function rootOf(store: Store, session: SessionRecord): SessionRecord {
  let root = session;
  for (let depth = 0; depth < PARENTS_MAX && root.hidden === 1 && root.parent_session_id !== null; depth++) {
    const parent = store.session(root.parent_session_id);
    if (!parent) break;
    root = parent;
  }
  return root;
}

const PARENTS_MAX = 10;

/** Nobody is there to be asked: scheduled jobs, one-shot prompts of commands, messages from no chat, and all that these started. */
function unattendedBy(config: Config, { surface, prompt }: Running, asked: SessionRecord): ApprovalPolicy['unattended'] {
  if (surface === 'scheduled_task') {
    return {
      decision: config.approvals?.cron_mode ?? 'deny',
      setting: 'approvals.cron_mode',
      why: 'nobody can be asked in a scheduled job',
    };
  }
  const nowhere = surface === 'gateway' && asked.session_key === null;
  if (prompt.unattended === 1 || nowhere) {
    const why = nowhere ? 'nobody can be asked where this message came from' : 'nobody can be asked in a one-shot prompt';
    return { decision: config.approvals?.single_query_mode ?? 'deny', setting: 'approvals.single_query_mode', why };
  }
  return undefined;
}

// --- what was allowed before ---

export interface RuleRow {
  id: string;
  tool_name: string;
  rule: string;
  /** Conversation of the chat that allowed it; '' = the owner. */
  scope: string;
  created_at: number;
}

/** Rules for good are rows of exact_rules; those for a session live as long as this worker. */
export class ApprovalRules {
  #parts: Pick<EngineParts, 'store' | 'context'>;
  #ofSession = new Map<string, Set<string>>();

  constructor(parts: Pick<EngineParts, 'store' | 'context'>) {
    this.#parts = parts;
  }

  /** Rules of earlier releases allowed every command of a shape (`rm -r`): they are not honoured. */
  dropShapes(): void {
    const { store, context } = this.#parts;
    const { changes } = store.run('DELETE FROM approval_rules');
    if (changes > 0)
      context.log.warn(
        `${changes} approval rules of an earlier release were removed: each allowed a whole class of commands; such commands are asked about again`,
      );
  }

  /** `scope`: whose kept rules count and are made, '' = the owner's; undefined = none are. */
  forSession(sessionId: string, scope: string | undefined): Rules {
    const { store, context } = this.#parts;
    // In a chat's session the owner and the chat allow each for their own turns.
    const key = `${sessionId} ${scope ?? ''}`;
    return {
      has: (toolName, rule) =>
        (this.#ofSession.get(key)?.has(`${toolName} ${rule}`) ?? false) ||
        (scope !== undefined &&
          store.one('SELECT 1 FROM exact_rules WHERE scope = ? AND tool_name = ? AND rule = ?', scope, toolName, rule) !== undefined),
      add: (toolName, rule, lasts) => {
        // Also when it is for good: a store that refuses the row must not ask twice in one conversation.
        const rules = this.#ofSession.get(key) ?? new Set();
        this.#ofSession.set(key, rules.add(`${toolName} ${rule}`));
        if (this.#ofSession.size > SESSIONS_MAX) this.#ofSession.delete(this.#ofSession.keys().next().value!);
        if (lasts !== 'always' || scope === undefined) return;
        try {
          if (this.#count(scope) < limits.approvals.rulesMax)
            store.run(
              'INSERT OR IGNORE INTO exact_rules (id, scope, tool_name, rule, created_at) VALUES (?, ?, ?, ?, ?)',
              `rule_${hexId(8)}`,
              scope,
              toolName,
              rule,
              Date.now(),
            );
          else context.log.warn(`${limits.approvals.rulesMax} approval rules are kept already; "${rule}" holds for this session alone`);
        } catch (thrown) {
          context.log.warn('an approval rule could not be kept', errorFields(thrown));
        }
      },
    };
  }

  #count(scope: string): number {
    return this.#parts.store.one<{ n: number }>('SELECT count(*) AS n FROM exact_rules WHERE scope = ?', scope)!.n;
  }

  /** As they were added. */
  list(): RuleRow[] {
    return this.#parts.store.all<RuleRow>('SELECT * FROM exact_rules ORDER BY created_at, rowid');
  }

  /** By id or by its text. False = there is none. Sessions that were allowed it ask again as well. */
  remove(name: string): boolean {
    for (const { tool_name, rule, id } of this.list())
      if (id === name || rule === name) for (const rules of this.#ofSession.values()) rules.delete(`${tool_name} ${rule}`);
    return this.#parts.store.run('DELETE FROM exact_rules WHERE id = ? OR rule = ?', name, name).changes > 0;
  }

  rows(): { id: string; rule: string; tool_name: string; chat: string | null; created_at: string }[] {
    return this.list().map(({ id, rule, tool_name, scope, created_at }) => ({
      id,
      rule,
      tool_name,
      chat: scope || null,
      created_at: isoTime(created_at),
    }));
  }
}

const SESSIONS_MAX = 1_000;
