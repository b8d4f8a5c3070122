/**
 * What this tab proves itself with. Where people sign in, its cookies do, and nothing is kept here. Else the
 * session token: the code of a login address is exchanged for it once, and a cookie then names this browser, so that
 * later pages hold the token. It is removed from the address bar at once and survives a reload of this tab.
 */

declare global {
  interface Window {
    /** Null when the page has to bring its own. */
    __AGENT_SESSION_TOKEN__?: string | null;
    /** A sign-in stands before everything; cookies are the proof. */
    __AGENT_AUTH_REQUIRED__?: boolean;
  }
}

const STORED = 'agent.token';
let current: string | null = null;

/** People sign in here; the page came because somebody has. */
export const signedIn: boolean = window.__AGENT_AUTH_REQUIRED__ === true;

/** Called once, before anything is asked of the server. Null: there is none, the person has to bring it. */
export async function takeToken(): Promise<string | null> {
  const address = new URL(location.href);
  const given = address.searchParams.get('token');
  const code = new URLSearchParams(address.hash.slice(1)).get('code');
  if (given !== null || code !== null) {
    address.searchParams.delete('token');
    if (code !== null) address.hash = '';
    history.replaceState(null, '', address);
  }
  const kept =
    window.__AGENT_SESSION_TOKEN__ ??
    given ??
    (code === null ? null : await exchange(code).catch(() => null)) ??
    // A link on another site brings no strict cookie; a request of this page does.
    (await tokenOfPage()) ??
    sessionStorage.getItem(STORED);
  if (kept !== null && kept !== window.__AGENT_SESSION_TOKEN__) sessionStorage.setItem(STORED, kept);
  current = kept;
  return current;
}

/** The code of a login address is good for the token once. Null: it is not valid. Errors: those of the network. */
async function exchange(code: string): Promise<string | null> {
  const answer = await fetch('/auth/code', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  return answer.ok ? ((await answer.json()) as { token: string }).token : null;
}

export const token = (): string => current ?? '';

/** What was pasted: the whole login address, its code, or the token itself. */
export async function keepToken(pasted: string): Promise<'kept' | 'rejected' | 'unreachable'> {
  const text = pasted.trim();
  const address = URL.parse(text);
  const code = new URLSearchParams((address?.hash ?? text.slice(text.indexOf('#'))).slice(1)).get('code');
  const value = code === null ? (address?.searchParams.get('token') ?? text) : await exchange(code).catch(() => undefined);
  if (value === undefined) return 'unreachable';
  if (value === null) return 'rejected';
  sessionStorage.setItem(STORED, value);
  current = value;
  return 'kept';
}

/**
 * The dashboard was restarted with another token: the page it serves now holds it. False when there is none to be had.
 * Where people sign in, each call and each dial brings its own proof.
 */
export async function renewToken(): Promise<boolean> {
  if (signedIn) return true;
  const fresh = await tokenOfPage();
  if (fresh === null || fresh === current) return false;
  current = fresh;
  return true;
}

/** The token in the page as it is served to this browser now; null for one that has not shown a code, and while the dashboard is unreachable. */
async function tokenOfPage(): Promise<string | null> {
  const answer = await fetch('/', { cache: 'no-store' }).catch(() => undefined);
  if (!answer) return null;
  if (answer.redirected && new URL(answer.url).pathname === LOGIN) return goToLogin(LOGIN);
  const found = /__AGENT_SESSION_TOKEN__=("(?:[^"\\]|\\.)*")/.exec(await answer.text())?.[1];
  return found === undefined ? null : (JSON.parse(found) as string);
}

const LOGIN = '/login';
let isLeaving = false;

/** Ends the session at the server, with every socket of it, and goes where that leads. Throws when nobody answers. */
export async function signOut(): Promise<void> {
  isLeaving = true;
  try {
    const headers = { Accept: 'application/json', 'X-Agent-Requested-With': 'page' };
    const answer = await fetch('/auth/logout', { method: 'POST', redirect: 'manual', headers });
    // The provider may have a session of its own to end.
    const { next } = answer.ok ? ((await answer.json()) as { next: string }) : { next: '/login?problem=over' };
    // Drafts and shells of this tab are not for the next one who signs in here.
    sessionStorage.clear();
    location.assign(next);
  } catch (thrown) {
    isLeaving = false;
    throw thrown;
  }
}

/** To the sign-in, and back to this place afterwards. Never answers: the page goes. */
export function goToLogin(loginUrl: string): Promise<never> {
  // A socket that ends with the session notices before the way out is known, and it must not lead elsewhere.
  if (isLeaving) return new Promise<never>(() => {});
  const address = new URL(loginUrl, location.origin);
  address.searchParams.set('next', location.pathname + location.search + location.hash);
  location.assign(address.origin === location.origin ? address : LOGIN);
  return new Promise<never>(() => {});
}
