/**
 * The owner of a turn: decides by policy what needs no person, asks for the rest through the host, and keeps
 * what was allowed for the session or for good. Waiting for a person is not counted by the guard of a tool.
 */
import { AgentError } from '../../base/errors.ts';
import type { Danger, Owner, Question, ToolCall, ToolResult, ToolRun } from '../ports.ts';
import { decide, deniedResult, unansweredResult, type ApprovalPolicy, type Unanswered } from './policy.ts';

export type Choice = 'once' | 'session' | 'always' | 'deny';

/** How a person is reached: once asked, until an answer, a limit, or the end of the turn. */
export interface Asker {
  approval(
    question: { toolName: string; danger: Danger; choices: readonly Choice[] },
    signal: AbortSignal,
  ): Promise<{ choice: Choice } | { unanswered: Unanswered }>;
  clarify(
    questions: readonly Question[],
    signal: AbortSignal,
  ): Promise<{ answers: Record<string, string | null> | undefined } | { unanswered: Unanswered }>;
}

/** What the owner allowed before. */
export interface Rules {
  has(toolName: string, rule: string): boolean;
  /** Errors: those of the store; the call itself is allowed all the same. */
  add(toolName: string, rule: string, lasts: 'session' | 'always'): void;
}

export interface OwnerParts {
  policy: ApprovalPolicy;
  rules: Rules;
  asker: Asker;
  /** Mode `smart`: true = plainly harmless. Never rejects. */
  harmless(toolName: string, danger: Danger, signal: AbortSignal): Promise<boolean>;
  /** What an unanswered approval does to the turn. */
  onTimeout: 'deny' | 'halt' | 'wait';
  /** Ends the turn. */
  halt(reason: AgentError): void;
}

export function createOwner(parts: OwnerParts): Owner {
  const { policy, asker } = parts;
  return {
    permit: (call, danger, run) => permit(parts, call, danger, run),
    async clarify(questions, run) {
      if (policy.unattended) return undefined;
      const answer = await untimed(run, asker.clarify(questions, run.signal));
      return 'answers' in answer ? answer.answers : undefined;
    },
  };
}

async function permit(parts: OwnerParts, call: ToolCall, danger: Danger, run: ToolRun): Promise<ToolResult | undefined> {
  const { policy, rules, asker, harmless, onTimeout, halt } = parts;
  const decision = decide(danger, policy, (rule) => rules.has(call.name, rule));
  if (decision.kind === 'allow') return undefined;
  if (decision.kind === 'refuse') return decision.result;
  if (decision.smart && (await untimed(run, harmless(call.name, danger, run.signal)))) return undefined;

  const choices: Choice[] = [
    'once',
    ...(danger.rule === undefined ? [] : (['session'] as const)),
    ...(danger.lasting ? (['always'] as const) : []),
    'deny',
  ];
  const answer = await untimed(run, asker.approval({ toolName: call.name, danger, choices }, run.signal));
  if ('unanswered' in answer) {
    if (answer.unanswered === 'timeout' && onTimeout === 'halt')
      halt(
        new AgentError('NOT_ANSWERED', 'nobody answered the request for approval in time', {
          fix: 'send the message again when you are there',
        }),
      );
    return unansweredResult(danger, answer.unanswered);
  }
  if (answer.choice === 'deny') return deniedResult(danger);
  if (answer.choice !== 'once' && danger.rule !== undefined) rules.add(call.name, danger.rule, answer.choice);
  return undefined;
}

/** A person takes longer than any tool may. */
const untimed = <T>({ untimed: wait }: ToolRun, work: Promise<T>): Promise<T> => (wait ? wait(work) : work);
