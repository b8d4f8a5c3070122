/**
 * Forged requests. A cookie goes along with whatever some page makes the browser send, so a signed-in request
 * must show that this page made it: the browser says so (Sec-Fetch-Site, Origin), and whatever changes
 * something carries a header that no form and no foreign page can add.
 */
import type { IncomingMessage } from 'node:http';
import { AgentError } from '../../../base/errors.ts';

export const REQUESTED_WITH = 'x-agent-requested-with';

type Asked = Pick<IncomingMessage, 'headers' | 'method'>;

/** Errors: FORBIDDEN_REQUEST. `origin`: how the browser sees this dashboard. */
export function requireOwnPage(request: Asked, origin: string): void {
  requireSameSite(request, origin);
  if (!isHarmless(request) && !request.headers[REQUESTED_WITH]) {
    throw forged(`${request.method} needs the header X-Agent-Requested-With`);
  }
}

/** The same for a form of ours, which can carry no header of its own. Errors: FORBIDDEN_REQUEST. */
export function requireSameSite({ headers, method }: Asked, origin: string): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw forged(`it comes from another site (${String(site).slice(0, 20)})`);
  if (isHarmless({ method }) || headers.origin === undefined) return;
  // Where the browser said "same-origin" it has compared with what it sees itself; a proxy may show us less.
  if (headers.origin !== origin && site !== 'same-origin') throw forged(`it comes from ${headers.origin.slice(0, 100)}`);
}

const isHarmless = ({ method }: Pick<IncomingMessage, 'method'>): boolean => method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

const forged = (why: string): AgentError =>
  new AgentError('FORBIDDEN_REQUEST', `this request was not made by the dashboard's own page: ${why}`, {
    fix: 'programs send X-Agent-Requested-With with whatever is no GET',
  });
