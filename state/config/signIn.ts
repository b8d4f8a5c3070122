/**
 * Who may sign in to the dashboard, from config.yaml, `.env` and the environment: which providers are
 * complete, and what is wrong with the rest. Pure: the dashboard opens its gate with it, and a change of
 * config.yaml is judged by it before it is written.
 */
import { BlockList, isIP } from 'node:net';
import { limits } from '../../base/limits.ts';
import { parsePasswordHash, type PasswordHash } from '../../base/passwordHash.ts';
import { interpolate, type Secrets } from '../env.ts';
import { isLoopbackHost } from './dashboardAddress.ts';
import type { Config } from './schema.ts';

export interface BasicSettings {
  kind: 'basic';
  id: 'basic';
  username: string;
  /** One of the two. A password that stands in plain text is compared, never stored. */
  hash?: PasswordHash;
  password?: string;
  sessionSeconds: number;
}

export interface OidcSettings {
  kind: 'oidc';
  /** `portal` is the same protocol, spoken with the account portal. */
  id: 'self-hosted' | 'portal';
  issuer: string;
  clientId: string;
  scopes: string;
  /** Subjects or verified mail addresses; empty = whoever the provider signs in. */
  allowedUsers: string[];
}

export type ProviderSettings = BasicSettings | OidcSettings;

export interface SignInSettings {
  /** Complete ones, in the order of the sign-in page. */
  providers: ProviderSettings[];
  /** Signs the session cookies; undefined = one is made and kept in run/. */
  secret: string | undefined;
  /** Scheme and host that people type, when a proxy stands in front. */
  publicUrl: URL | undefined;
  trustedProxies: string[];
  /** What is wrong, each naming its key and what to write. */
  problems: string[];
  /** What lacks its other half, so that it is not offered. */
  incomplete: string[];
}

const PREFIX = 'AGENT_DASHBOARD_';

export function signInSettings(config: Config, secrets: Pick<Secrets, 'get'>): SignInSettings {
  const dashboard = config.dashboard ?? {};
  const found: Found = {
    problems: [],
    incomplete: [],
    /** The environment and `.env` win over config.yaml, where `${NAME}` is read from them. */
    read: (name, configured) => secrets.get(PREFIX + name) ?? found.written(configured),
    written(configured) {
      const text = interpolate(configured ?? '', secrets);
      const missing = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/.exec(text)?.[1];
      if (missing !== undefined) found.incomplete.push(`${missing}, which config.yaml names, is not set in .env`);
      return missing === undefined ? text || undefined : undefined;
    },
  };
  const publicUrl = publicUrlOf(found, dashboard.public_url);
  const trustedProxies = trustedProxiesOf(found, dashboard.trusted_proxies);
  const providers = [basicOf(found, config), selfHostedOf(found, config), portalOf(found, config)].filter((one) => one !== undefined);
  const wanted = dashboard.oauth?.provider;
  return {
    providers: providers.filter(({ kind, id }) => kind === 'basic' || wanted === undefined || id === wanted),
    secret: found.read('BASIC_AUTH_SECRET', dashboard.basic_auth?.secret),
    publicUrl,
    trustedProxies,
    problems: found.problems,
    incomplete: found.incomplete,
  };
}

interface Found {
  problems: string[];
  incomplete: string[];
  read(name: string, configured: string | undefined): string | undefined;
  written(configured: string | undefined): string | undefined;
}

function basicOf({ problems, incomplete, read, written }: Found, { dashboard }: Config): BasicSettings | undefined {
  const basic = dashboard?.basic_auth ?? {};
  const username = read('BASIC_AUTH_USERNAME', basic.username);
  // A password in the environment beats a hash in config.yaml: that is how one is changed in a hurry.
  const password = read('BASIC_AUTH_PASSWORD', undefined);
  const hashText = password ? undefined : read('BASIC_AUTH_PASSWORD_HASH', basic.password_hash);
  const hash = hashText === undefined ? undefined : parsePasswordHash(hashText);
  const plain = password ?? (hashText === undefined ? written(basic.password) : undefined);
  if (hashText !== undefined && !hash) {
    problems.push(
      'the password hash (AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH, dashboard.basic_auth.password_hash) is not of the form scrypt$N$r$p$salt$key: `agent dashboard passwd` makes one',
    );
    return undefined;
  }
  if (username === undefined && plain === undefined && !hash) return undefined;
  if (username === undefined)
    return void incomplete.push('a password is set and no AGENT_DASHBOARD_BASIC_AUTH_USERNAME: `agent dashboard passwd` sets both');
  if (plain === undefined && !hash)
    return void incomplete.push(`the user name ${username} has no password: \`agent dashboard passwd\` sets it`);
  return {
    kind: 'basic',
    id: 'basic',
    username,
    ...(hash ? { hash } : { password: plain! }),
    sessionSeconds: sessionSecondsOf({ problems, read }, basic.session_ttl_seconds),
  };
}

function sessionSecondsOf({ problems, read }: Pick<Found, 'problems' | 'read'>, configured: number | undefined): number {
  const text = read('BASIC_AUTH_TTL_SECONDS', undefined);
  if (text === undefined) return configured ?? limits.signIn.passwordSessionSeconds;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= 60 && seconds <= limits.signIn.renewalsMaxSeconds) return seconds;
  problems.push(`AGENT_DASHBOARD_BASIC_AUTH_TTL_SECONDS is "${text}": write seconds from 60 to ${limits.signIn.renewalsMaxSeconds}`);
  return limits.signIn.passwordSessionSeconds;
}

function selfHostedOf(found: Found, { dashboard }: Config): OidcSettings | undefined {
  const { self_hosted: own = {}, allowed_users: allowedUsers = [] } = dashboard?.oauth ?? {};
  const issuer = found.read('OIDC_ISSUER', own.issuer);
  const clientId = found.read('OIDC_CLIENT_ID', own.client_id);
  if (issuer === undefined && clientId === undefined) return undefined;
  if (issuer === undefined || clientId === undefined) {
    const missing = issuer === undefined ? 'AGENT_DASHBOARD_OIDC_ISSUER' : 'AGENT_DASHBOARD_OIDC_CLIENT_ID';
    return void found.incomplete.push(`OpenID Connect lacks ${missing}`);
  }
  const problem = issuerProblem(issuer);
  if (problem) return void found.problems.push(`the issuer of OpenID Connect (dashboard.oauth.self_hosted.issuer) ${problem}`);
  const scopes = found.read('OIDC_SCOPES', own.scopes) ?? 'openid profile email';
  if (!scopes.split(/[\s,]+/).includes('openid'))
    return void found.problems.push(`the scopes "${scopes}" lack openid: write for example "openid profile email"`);
  return {
    kind: 'oidc',
    id: 'self-hosted',
    issuer,
    clientId,
    scopes: scopes
      .split(/[\s,]+/)
      .filter(Boolean)
      .join(' '),
    allowedUsers,
  };
}

function portalOf(found: Found, config: Config): OidcSettings | undefined {
  const clientId = found.read('OAUTH_CLIENT_ID', undefined);
  if (clientId === undefined) return undefined;
  const issuer = portalBaseUrl(config);
  if (issuer === undefined)
    return void found.incomplete.push(
      'AGENT_DASHBOARD_OAUTH_CLIENT_ID is set and no portal is: `agent config set portal.base_url https://…`',
    );
  const problem = issuerProblem(issuer);
  if (problem) return void found.problems.push(`the portal (portal.base_url) ${problem}`);
  return { kind: 'oidc', id: 'portal', issuer, clientId, scopes: 'openid', allowedUsers: config.dashboard?.oauth?.allowed_users ?? [] };
}

export const portalBaseUrl = (config: Config): string | undefined => config.portal?.base_url || undefined;

/** Undefined when it can be the address of an identity provider. */
export function issuerProblem(issuer: string): string | undefined {
  const url = URL.parse(issuer);
  if (!url) return `is "${issuer}", which is no address`;
  if (url.search || url.hash || url.username) return 'must be an address without ?, # and user name';
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname))) return undefined;
  return `is "${issuer}": it must begin with https:// (http:// only on this machine)`;
}

function publicUrlOf({ problems, read }: Found, configured: string | undefined): URL | undefined {
  const text = read('PUBLIC_URL', configured);
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const wrong = !url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash;
  if (wrong) problems.push(`dashboard.public_url is "${text}": write it as https://name, the way people type it`);
  else if (url.pathname !== '/')
    problems.push(`dashboard.public_url has the path ${url.pathname}: the dashboard needs a name of its own, not a folder of another one`);
  return wrong ? undefined : url;
}

function trustedProxiesOf({ problems, read }: Found, configured: string[] | undefined): string[] {
  const fromEnv = read('TRUSTED_PROXIES', undefined)
    ?.split(/[\s,]+/)
    .filter(Boolean);
  return (fromEnv ?? configured ?? []).filter((entry) => {
    const ok = networkOf(entry) !== undefined;
    if (!ok)
      problems.push(
        `dashboard.trusted_proxies has "${entry}": write an address or a network such as 10.0.0.0/8; everything (*, 0.0.0.0/0, ::/0) would let anyone name any address`,
      );
    return ok;
  });
}

/** An address, or a network with its prefix; undefined for anything else, and for "everybody". */
export function networkOf(entry: string): { address: string; prefix: number; family: 'ipv4' | 'ipv6' } | undefined {
  const [, address, prefix] = /^([0-9a-fA-F:.]+)(?:\/(\d{1,3}))?$/.exec(entry.trim()) ?? [];
  const version = isIP(address ?? '');
  if (version === 0) return undefined;
  const bits = version === 4 ? 32 : 128;
  const length = prefix === undefined ? bits : Number(prefix);
  return length >= 1 && length <= bits ? { address: address!, prefix: length, family: version === 4 ? 'ipv4' : 'ipv6' } : undefined;
}

/** Loopback is always trusted: who is there has this machine already. */
export function trustedList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const network = networkOf(entry);
    if (network) list.addSubnet(network.address, network.prefix, network.family);
  }
  return list;
}
