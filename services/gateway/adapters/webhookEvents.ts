/** Which event a delivery is about: named by a header of the sender, or by a field of the payload. */
import type { IncomingHttpHeaders } from 'node:http';

const HEADERS = ['x-github-event', 'x-gitea-event', 'x-gitlab-event', 'x-event-key'];

/** The names a route may list: the event, and with its action (`pull_request`, `pull_request.opened`). Empty where none is named. */
export function eventNames(headers: IncomingHttpHeaders, payload: unknown): string[] {
  const { type, event, action } = (typeof payload === 'object' && payload !== null ? payload : {}) as Record<string, unknown>;
  const name = HEADERS.map((header) => headers[header]).find((value) => typeof value === 'string') ?? type ?? event;
  if (typeof name !== 'string') return [];
  return typeof action === 'string' ? [name, `${name}.${action}`] : [name];
}

/** Whether a delivery makes a turn. What a sender posts to try the address (GitHub: `ping`) makes one only where it is listed. */
export function isWanted(names: readonly string[], events: readonly string[] | undefined): boolean {
  if (events === undefined) return !names.includes('ping');
  return names.some((name) => events.includes(name));
}

/** Headers for the prompt, without those that prove who sends. */
export const shownHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' && !PROOF.test(name) ? [[name, value]] : [])),
  );

const PROOF = /authorization|cookie|secret|token|signature/;
