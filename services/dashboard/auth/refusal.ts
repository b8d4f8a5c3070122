/** The 401 of the gate: beside the problem its `error` and `login_url`, by which a page knows it from any other 401. */
import { AgentError } from '../../../base/errors.ts';

export class GateRefusal extends AgentError {
  readonly error: 'unauthenticated' | 'session_expired' | 'not_gated';
  /** Null: there is nowhere to sign in, the session token is what is missing. */
  readonly loginUrl: string | null;

  constructor(error: GateRefusal['error'], loginUrl: string | null, message: string, fix: string) {
    super('UNAUTHENTICATED', message, { fix });
    this.error = error;
    this.loginUrl = loginUrl;
  }
}

export const LOGIN_PATH = '/login';

export const tokenMissing = (): GateRefusal =>
  new GateRefusal(
    'unauthenticated',
    null,
    'the session token is missing or not valid',
    'load the page again, or open the address that `agent dashboard` prints',
  );

export const signInNeeded = (): GateRefusal =>
  new GateRefusal('unauthenticated', LOGIN_PATH, 'nobody is signed in', `sign in at ${LOGIN_PATH}`);

export const sessionOver = (): GateRefusal =>
  new GateRefusal('session_expired', LOGIN_PATH, 'the session is over', `sign in again at ${LOGIN_PATH}`);
