/** Methods of the gateway RPC about open questions and what was allowed for good. */
import { AgentError } from '../../../base/errors.ts';
import { isoTime } from '../../../base/time.ts';
import { approvalPending, approvalRespond, approvalRules, requestAnswer, requestShown } from '../../../ipc/contracts/rpcRequests.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { callerOf, mayActFor } from '../principal.ts';
import { requireSession, type SessionParts } from '../sessions.ts';

export function requestMethods({ store, requests, rules }: SessionParts): Handler[] {
  return [
    handle(requestShown, ({ session_id, request_id }) => {
      const shown = requests.shown(requireSession(store, session_id).id, request_id);
      return { acknowledged: shown !== null, expires_at: shown?.expiresAt ? isoTime(shown.expiresAt) : null };
    }),
    handle(requestAnswer, ({ session_id, request_id, result }) => ({
      status: requests.answer(requireSession(store, session_id).id, request_id, result) ? ('ok' as const) : ('expired' as const),
    })),
    handle(approvalPending, ({ session_id }) => ({ requests: requests.list(requireSession(store, session_id).id) })),
    handle(approvalRespond, ({ session_id, choice, request_id, all }, call) => {
      const session = requireSession(store, session_id);
      const open = requests.of(session.id).filter(({ kind, principal }) => kind === 'approval' && mayActFor(callerOf(call), principal));
      const meant = all ? open : request_id === undefined ? open.slice(0, 1) : open.filter(({ id }) => id === request_id);
      const answered = meant.filter(({ id }) => requests.answer(session.id, id, { choice }));
      return { resolved: answered.length };
    }),
    handle(approvalRules, ({ remove }) => {
      if (remove !== undefined && !rules.remove(remove))
        throw new AgentError('NOT_FOUND', `no rule is called "${remove}"`, { field: 'remove', fix: '`agent approvals list` shows them' });
      return { rules: rules.rows() };
    }),
  ];
}
