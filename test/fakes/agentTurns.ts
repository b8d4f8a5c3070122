/**
 * Stands in for the agent worker: serves `turn.run` and the conversation methods on `run/agent.sock`
 * with the promise of the contract (one turn per idempotency key: joined while it runs, replayed after).
 * Lives in the test's own process, so it outlives any worker that the test kills.
 */
import { AgentError } from '../../base/errors.ts';
import { conversationCommand, resetConversation, runTurn, stopConversation, type TurnOutcome } from '../../ipc/contracts/agent.ts';
import { handle } from '../../ipc/link.ts';
import type { ParamsOf } from '../../ipc/method.ts';
import { serve } from '../../ipc/serve.ts';
import { ensureToken, type Home } from '../../state/home.ts';

export type Question = ParamsOf<typeof runTurn>;

export interface FakeAgent extends AsyncDisposable {
  /** Turns that ran, in order: one per idempotency key. */
  readonly turns: Question[];
  /** Calls of `turn.run`, joins and replays included. */
  calls(): number;
  readonly resets: string[];
  readonly stops: string[];
  /** Slash commands, each time one is asked for. */
  readonly commands: ParamsOf<typeof conversationCommand>[];
}

type Answer = string | Partial<TurnOutcome>;

/** `answer` gives the text of a turn; what it throws is the error of the call. `onCommand` runs before a slash command is answered. */
export async function fakeAgent(
  home: Home,
  answer: (question: Question) => Answer | Promise<Answer>,
  { slot = 'agent', onCommand = () => {} }: { slot?: string; onCommand?: () => void } = {},
): Promise<FakeAgent> {
  const turns: Question[] = [];
  const resets: string[] = [];
  const stops: string[] = [];
  const commands: FakeAgent['commands'] = [];
  const outcomes = new Map<string, Promise<TurnOutcome>>();
  let calls = 0;

  const run = async (question: Question): Promise<TurnOutcome> => {
    turns.push(question);
    const given = await answer(question);
    const outcome = typeof given === 'string' ? { text: given } : given;
    return {
      session_id: `session-${turns.length}`,
      message_id: turns.length,
      status: 'complete',
      text: '',
      error: null,
      tools_ran: false,
      ...outcome,
    };
  };
  const server = await serve({
    path: home.run.socket(slot),
    slot,
    token: ensureToken(home),
    code: 'fake',
    nonce: 'fake',
    handlers: [
      handle(runTurn, (question) => {
        calls++;
        const known = outcomes.get(question.idempotency_key) ?? run(question);
        outcomes.set(question.idempotency_key, known);
        known.catch(() => outcomes.delete(question.idempotency_key));
        return known;
      }),
      handle(conversationCommand, (command) => {
        commands.push(command);
        onCommand();
        return { text: `${command.line} was run`, prompt: null };
      }),
      handle(resetConversation, ({ session_key }) => {
        resets.push(session_key);
        return { reset: true };
      }),
      handle(stopConversation, ({ session_key }) => {
        stops.push(session_key);
        return { interrupted: true };
      }),
    ],
  });
  return { turns, resets, stops, commands, calls: () => calls, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** The refusal of an agent worker without a model. */
export const noProvider = (): AgentError =>
  new AgentError('NO_PROVIDER', 'no model provider is configured', { fix: 'set one with `agent config set model.provider …`' });
