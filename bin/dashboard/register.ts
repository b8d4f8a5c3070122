/** `agent dashboard register`: this dashboard as a client of the account portal (RFC 7591); its id goes to .env. */
import { hostname } from 'node:os';
import { z } from 'zod';
import { AgentError, isAgentError, messageOf } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { dashboardAddress } from '../../state/config/dashboardAddress.ts';
import { loadConfig } from '../../state/config/load.ts';
import type { Config } from '../../state/config/schema.ts';
import { issuerProblem, portalBaseUrl, signInSettings } from '../../state/config/signIn.ts';
import { readSecrets } from '../../state/env.ts';
import { setEnvValue } from '../../state/envFile.ts';
import { dashboardEnv } from '../../state/startedWith.ts';
import { openHome, prepareHome, type Home } from '../../state/home.ts';
import { textOption, type Input } from '../command.ts';
import { withProgress } from '../progress.ts';
import { askSecret } from '../secretPrompt.ts';
import { note, print, printJson } from '../terminal.ts';
import { restartDashboard, whenItCounts } from './running.ts';

const Discovery = z.looseObject({ issuer: z.string(), registration_endpoint: z.string().optional() });
const Registered = z.looseObject({ client_id: z.string().min(1).max(1_000) });

export async function register(input: Input): Promise<number> {
  const home = openHome();
  prepareHome(home);
  const { config } = loadConfig(home);
  const portal = portalOf(config);
  const origin = publicOrigin(home, config);
  const callback = `${origin}/auth/callback`;
  const endpoint = await withProgress('asking the portal', () => registrationEndpoint(portal));
  const client = {
    client_name: textOption(input, 'name') ?? `Agent dashboard on ${hostname()}`,
    redirect_uris: [callback],
    post_logout_redirect_uris: [`${origin}/auth/signed-out`],
    application_type: /^http:/.test(callback) ? 'native' : 'web',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
  const { client_id: id } = await askRegistration(endpoint, client);
  await setEnvValue(home.env, 'AGENT_DASHBOARD_OAUTH_CLIENT_ID', id);
  const restarted = await restartDashboard(home, 'agent dashboard register');
  if (input.json) printJson({ client_id: id, portal, callback, path: home.env, restarted });
  else {
    print(`Registered with ${portal} as ${id}; browsers are sent back to ${callback}.`);
    note(whenItCounts(restarted));
  }
  return exitCodes.ok;
}

/** Errors: PORTAL_UNAVAILABLE. */
function portalOf(config: Config): string {
  const portal = portalBaseUrl(config);
  if (portal === undefined)
    throw new AgentError('PORTAL_UNAVAILABLE', 'no account portal is configured, so there is nothing to register with', {
      fix: 'agent config set portal.base_url https://…; without a portal people sign in by password (`agent dashboard passwd`) or OpenID Connect',
    });
  const problem = issuerProblem(portal);
  if (problem) throw new AgentError('CONFIG_INVALID', `portal.base_url ${problem}`);
  return portal;
}

/** How browsers see the dashboard. Errors: CONFIG_INVALID. */
function publicOrigin(home: Home, config: Config): string {
  const { publicUrl, problems } = signInSettings(config, readSecrets(home.env));
  if (publicUrl) return publicUrl.origin;
  const wrong = problems.find((problem) => problem.startsWith('dashboard.public_url'));
  if (wrong) throw new AgentError('CONFIG_INVALID', wrong);
  const { host, port } = dashboardAddress(config, dashboardEnv(home.config));
  if (host === '0.0.0.0' || host === '::')
    throw new AgentError('CONFIG_INVALID', `the dashboard listens on ${host}, which is no address to come back to`, {
      fix: 'agent config set dashboard.public_url https://the-name-people-type',
    });
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Errors: PORTAL_UNAVAILABLE. */
async function registrationEndpoint(portal: string): Promise<string> {
  const { status, body } = await ask(`${portal.replace(/\/$/, '')}/.well-known/openid-configuration`, {});
  const found = status === 200 ? Discovery.safeParse(body).data : undefined;
  if (!found || found.issuer.replace(/\/$/, '') !== portal.replace(/\/$/, ''))
    throw unavailable(`${portal} does not answer as an account portal (status ${status})`);
  const endpoint = found.registration_endpoint;
  if (endpoint === undefined || issuerProblem(endpoint)) throw unavailable(`${portal} takes no registrations`);
  return endpoint;
}

/** The portal may want to know who registers. Errors: PORTAL_UNAVAILABLE, with its words. */
async function askRegistration(endpoint: string, client: object): Promise<z.infer<typeof Registered>> {
  const post = (token?: string) =>
    ask(endpoint, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(token ? { Authorization: `Bearer ${token}` } : {}) },
      body: JSON.stringify(client),
    });
  let answer = await withProgress('registering', () => post());
  if (answer.status === 401 && process.stdin.isTTY) {
    note('The portal wants a registration token; its account page shows one.');
    answer = await post(await askSecret('Registration token'));
  }
  const registered = answer.status === 200 || answer.status === 201 ? Registered.safeParse(answer.body).data : undefined;
  if (registered) return registered;
  const { error = '', error_description: why = '' } = (answer.body ?? {}) as { error?: string; error_description?: string };
  throw unavailable(
    `the portal refused the registration (${answer.status}${error ? `: ${[error, why].filter(Boolean).join(', ').slice(0, 200)}` : ''})`,
  );
}

async function ask(address: string, options: RequestInit): Promise<{ status: number; body: unknown }> {
  try {
    const answer = await fetch(address, { ...options, redirect: 'error', signal: AbortSignal.timeout(limits.signIn.providerMs) });
    const text = await answer.text();
    return { status: answer.status, body: text.startsWith('{') ? (JSON.parse(text) as unknown) : null };
  } catch (thrown) {
    if (isAgentError(thrown)) throw thrown;
    const { cause } = thrown as { cause?: unknown };
    throw unavailable(`${address} cannot be reached: ${cause instanceof Error ? cause.message : messageOf(thrown)}`);
  }
}

const unavailable = (what: string): AgentError =>
  new AgentError('PORTAL_UNAVAILABLE', what, { fix: 'check portal.base_url (`agent config get portal.base_url`), then try again' });
