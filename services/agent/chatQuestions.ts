/** Open questions of a turn that came from a chat: the gateway is told, asks there, and answers by `request.answer`. */
import { isAgentError } from '../../base/errors.ts';
import { errorFields } from '../../base/log.ts';
import { conversationAsked, conversationSettled } from '../../ipc/contracts/gateway.ts';
import type { OpenRequest } from '../../ipc/contracts/rpcRequests.ts';
import type { WorkerContext } from '../worker.ts';
import type { Store } from './store.ts';

export interface ChatQuestions {
  /** Answers false when nobody can be asked there. Never rejects. */
  ask(sessionId: string, request: OpenRequest): Promise<boolean>;
  /** The question is over: the chat forgets it. */
  settled(sessionId: string, requestId: string, reason: string): void;
}

export function createChatQuestions(context: WorkerContext, store: Store): ChatQuestions {
  const gateway = context.peer(context.profile === 'default' ? 'gateway' : `gateway@${context.profile}`);
  const keyOf = (sessionId: string): string | null => {
    const session = store.session(sessionId);
    return session?.platform ? session.session_key : null;
  };
  return {
    async ask(sessionId, { id, method, params }) {
      const session_key = keyOf(sessionId);
      if (session_key === null) return false;
      try {
        const asked = { session_key, session_id: sessionId, request_id: id, kind: method, params };
        return (await gateway.call(conversationAsked, asked, { repeatForMs: REPEAT_MS })).asked;
      } catch (thrown) {
        // A gateway that comes back joins the turn, and is told again then.
        context.log.warn('the gateway could not be told of an open question', { session_id: sessionId, ...errorFields(thrown) });
        return isAgentError(thrown) && thrown.retry;
      }
    },
    settled(sessionId, requestId, reason) {
      if (keyOf(sessionId) === null || !gateway.isOpen) return;
      gateway.call(conversationSettled, { request_id: requestId, reason }).catch(() => {});
    },
  };
}

/** Long enough for a restart of the gateway. */
const REPEAT_MS = 30_000;
