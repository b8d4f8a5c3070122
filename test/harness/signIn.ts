/** A dashboard that others can reach, with a password; the cheapest one to sign in to. */
import { randomBytes, scryptSync } from 'node:crypto';
import { startDashboard, type TestDashboard } from './dashboard.ts';
import { freePort, testHome, type TestHome } from './home.ts';
import { WebClient } from './webClient.ts';

export const USERNAME = 'ada';
export const PASSWORD = 'correct horse battery staple';

/** As good as any other, and quick to check: tests sign in often. */
export function cheapHash(password: string): string {
  const salt = randomBytes(16);
  const key = scryptSync(password, salt, 32, { N: 1_024, r: 8, p: 1 });
  return `scrypt$1024$8$1$${salt.toString('base64')}$${key.toString('base64')}`;
}

export interface Gated extends AsyncDisposable {
  home: TestHome;
  dashboard: TestDashboard;
  /** Without a slash at the end. */
  address: string;
  /** Signed in as Ada. */
  signedIn(): Promise<WebClient>;
}

export interface GatedOptions {
  env?: Record<string, string>;
  files?: Record<string, string>;
  /** Without the password provider. */
  password?: boolean;
  home?: TestHome;
  port?: number;
}

export async function startGated({ env = {}, files = {}, password = true, ...given }: GatedOptions = {}): Promise<Gated> {
  const port = given.port ?? (await freePort());
  const home = given.home ?? testHome(files);
  const basic = password
    ? { AGENT_DASHBOARD_BASIC_AUTH_USERNAME: USERNAME, AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH: cheapHash(PASSWORD) }
    : {};
  const dashboard = await startDashboard(home, {
    env: { AGENT_DASHBOARD_HOST: '0.0.0.0', AGENT_DASHBOARD_PORT: String(port), ...basic, ...env },
  });
  const address = `http://127.0.0.1:${port}`;
  return {
    home,
    dashboard,
    address,
    async signedIn() {
      const web = new WebClient();
      const answer = await web.api(`${address}/auth/password-login`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ username: USERNAME, password: PASSWORD }),
      });
      if (answer.status !== 200) throw new Error(`the sign-in answered ${answer.status}: ${answer.text}`);
      return web;
    },
    async [Symbol.asyncDispose]() {
      await dashboard[Symbol.asyncDispose]();
      if (!given.home) home[Symbol.dispose]();
    },
  };
}

/** A ticket, as the page asks for one before each dial. */
export async function ticketOf(web: WebClient, address: string): Promise<string> {
  return (await web.api(`${address}/api/auth/ws-ticket`, { method: 'POST' })).json<{ ticket: string }>().ticket;
}
