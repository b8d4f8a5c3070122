/** The phases of one sign-in as a table: it ends once, and what comes later changes nothing. */
import { machine } from '../../../base/machine.ts';
import type { SignInState } from '../../../ipc/contracts/rpcSignIn.ts';

export interface FlowState {
  phase: SignInState;
  message: string | null;
}

export type FlowEvent =
  | { type: 'approved' }
  | { type: 'denied'; message: string }
  | { type: 'expired' }
  /** This try failed for good. */
  | { type: 'failed'; message: string }
  /** Trouble that may pass: the flow goes on. */
  | { type: 'troubled'; message: string };

/** What the runner does: stops asking, closes the listener. */
export type FlowEffect = 'close';

const stay = (state: FlowState) => ({ state, effects: [] });
const ended = { approved: stay, denied: stay, expired: stay, failed: stay, troubled: stay };
const end = (phase: SignInState, message: string | null) => ({ state: { phase, message }, effects: ['close' as const] });

export const nextFlow = machine<FlowState, FlowEvent, FlowEffect>('sign-in', {
  pending: {
    approved: () => end('approved', null),
    denied: (_, { message }) => end('denied', message),
    expired: ({ message }) => end('expired', message ?? 'nobody finished it in time'),
    failed: (_, { message }) => end('error', message),
    troubled: (_, { message }) => ({ state: { phase: 'pending', message }, effects: [] }),
  },
  approved: ended,
  denied: ended,
  expired: ended,
  error: ended,
});
