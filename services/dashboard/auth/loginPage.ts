/** The sign-in page: no script, one style, everything that came from elsewhere escaped. */
import { randomBytes } from 'node:crypto';
import type { Provider } from './provider.ts';

export interface LoginPage {
  html: string;
  policy: string;
}

export interface LoginState {
  providers: readonly Provider[];
  /** Where to go afterwards; a place of this page. */
  next: string;
  /** What went wrong the last time. */
  problem?: LoginProblem | undefined;
}

export const loginProblems = {
  wrong: 'The user name or the password is wrong.',
  many: 'Too many sign-ins were tried from this address. Wait a minute, then try again.',
  busy: 'Too many people sign in at this moment. Try again.',
  refused: 'The sign-in did not succeed. Try again; if this account should have access, ask whoever runs this service.',
  away: 'The sign-in service cannot be reached. Try again in a moment.',
  stale: 'That sign-in took too long or was begun in another browser. Start again.',
  forged: 'That request did not come from this page. Start again.',
  over: 'You have been signed out.',
} as const;
export type LoginProblem = keyof typeof loginProblems;

export function loginPage({ providers, next, problem }: LoginState): LoginPage {
  const nonce = randomBytes(16).toString('base64');
  const redirects = providers.filter(({ kind }) => kind === 'redirect').map((provider) => link(provider, next));
  const form = providers.some(({ kind }) => kind === 'password') ? passwordForm(next, problem) : '';
  const or = redirects.length && form ? '<p class="or">or</p>' : '';
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Sign in · Agent</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<style nonce="${nonce}">${style}</style>
</head>
<body>
<main>
<svg viewBox="0 0 32 32" width="40" height="40" aria-hidden="true"><rect width="32" height="32" rx="9" class="mark"/><path d="M9.5 23 16 8.5 22.5 23" class="sign"/><circle cx="16" cy="19.2" r="1.9" class="dot"/></svg>
<h1>Sign in</h1>
${problem ? `<p class="${problem === 'over' ? 'note' : 'problem'}" role="${problem === 'over' ? 'status' : 'alert'}" id="problem">${loginProblems[problem]}</p>` : ''}
${redirects.join('\n')}${or}${form}
</main>
</body>
</html>
`;
  return { html, policy: policyOf(nonce) };
}

function link({ id, label }: Provider, next: string): string {
  const query = new URLSearchParams({ provider: id, next });
  return `<a class="button strong" href="/auth/login?${escapeHtml(query.toString())}">Sign in with ${escapeHtml(label)}</a>`;
}

function passwordForm(next: string, problem: LoginProblem | undefined): string {
  const wrong = problem === 'wrong' ? ' aria-invalid="true" aria-describedby="problem"' : '';
  return `<form method="post" action="/auth/password-login">
<input type="hidden" name="next" value="${escapeHtml(next)}">
<label for="username">User name</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus${wrong}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${wrong}>
<button class="button strong" type="submit">Sign in</button>
</form>`;
}

function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    "img-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => escapes[sign]!);

/** A place of the page to come back to; `/` for anything that could lead elsewhere. */
export function safeNext(wanted: unknown): string {
  if (typeof wanted !== 'string' || wanted.length > 2_000) return '/';
  // Browsers take a backslash for a slash and pass over tabs and line ends: only what stays on this origin counts.
  // oxlint-disable-next-line no-control-regex -- these are what is refused
  if (!/^\/(?![/\\])[^\u0000-\u001f\\]*$/.test(wanted)) return '/';
  const url = URL.parse(wanted, 'http://here.invalid');
  // `/.//evil.example` has lost its dot by now.
  if (url?.pathname.startsWith('//')) return '/';
  if (url?.origin !== 'http://here.invalid' || /^\/(?:login|auth|api)(?:\/|$)/.test(url.pathname)) return '/';
  return `${url.pathname}${url.search}${url.hash}`;
}

/** Colours of web/style.css; borders of fields are darker, for the contrast of what one can click. */
const style = `
:root{--paper:#faf8f4;--surface:#fffefc;--ink:#25221d;--soft:#5c554a;--line:#e5dfd5;--edge:#8a8173;--accent:#0b6b66;--on:#fff;--bad:#ab2419;--badbg:#fbe8e5}
@media (prefers-color-scheme:dark){:root{--paper:#181715;--surface:#211f1c;--ink:#ece8e1;--soft:#b8b1a6;--line:#38342f;--edge:#7d766a;--accent:#6fcbc1;--on:#0d1f1d;--bad:#f4a097;--badbg:#3b1d19}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1.5rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{width:100%;max-width:24rem;display:grid;gap:.9rem;padding:2rem;background:var(--surface);border:1px solid var(--line);border-radius:1rem}
h1{margin:0;font:600 1.375rem/1.3 system-ui,sans-serif}
form{display:grid;gap:.4rem}
label{font-weight:500;font-size:.9rem;margin-top:.4rem}
input{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--edge);border-radius:.5rem;padding:.5rem .75rem;min-height:2.75rem;width:100%}
.button{font:600 1rem/1.2 system-ui,sans-serif;display:block;text-align:center;text-decoration:none;border:0;border-radius:.5rem;padding:.85rem 1rem;cursor:pointer;overflow-wrap:anywhere}
.strong{background:var(--accent);color:var(--on)}
button.button{margin-top:.9rem;width:100%}
.button:hover{filter:brightness(1.08)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.or{margin:0;text-align:center;color:var(--soft);font-size:.9rem}
.problem,.note{margin:0;padding:.6rem .8rem;border-radius:.5rem;font-size:.95rem}
.problem{background:var(--badbg);color:var(--bad)}
.note{background:var(--paper);color:var(--soft)}
.mark{fill:var(--accent)}.sign{fill:none;stroke:var(--on);stroke-width:2.8;stroke-linecap:round;stroke-linejoin:round}.dot{fill:var(--on)}
`;
