/**
 * The session token of this tab: put into the page by the dashboard on loopback, taken from the login
 * address otherwise. It leaves the address bar at once, and survives a reload of this tab alone.
 */

declare global {
  interface Window {
    /** Null when the page has to bring its own. */
    __AGENT_SESSION_TOKEN__?: string | null;
  }
}

const STORED = 'agent.token';
let current: string | null = null;

/** Called once, before anything is asked of the server. */
export function takeToken(): string | null {
  const address = new URL(location.href);
  const given = address.searchParams.get('token');
  if (given !== null) {
    address.searchParams.delete('token');
    history.replaceState(null, '', address);
    sessionStorage.setItem(STORED, given);
  }
  current = window.__AGENT_SESSION_TOKEN__ ?? given ?? sessionStorage.getItem(STORED);
  return current;
}

export const token = (): string => current ?? '';

/** What a person pasted: the token itself or the whole login address. */
export function keepToken(pasted: string): void {
  const text = pasted.trim();
  const value = URL.canParse(text) ? (new URL(text).searchParams.get('token') ?? text) : text;
  sessionStorage.setItem(STORED, value);
  current = value;
}

/** The dashboard was restarted with another token: the page it serves now holds it. False when there is none to be had. */
export async function renewToken(): Promise<boolean> {
  const answer = await fetch('/', { cache: 'no-store' });
  const found = /__AGENT_SESSION_TOKEN__=("(?:[^"\\]|\\.)*")/.exec(await answer.text())?.[1];
  const fresh = found === undefined ? null : (JSON.parse(found) as string);
  if (fresh === null || fresh === current) return false;
  current = fresh;
  return true;
}
