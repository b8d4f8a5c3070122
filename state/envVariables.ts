/** The variables of `.env` that this product knows, and how each variable of a profile stands: never with its value. */
import { interpolate } from './env.ts';
import { ENV_NAME } from './envFile.ts';
import type { Config } from './config/schema.ts';

export const envCategories = ['providers', 'platforms', 'dashboard', 'cron', 'web', 'other'] as const;
export type EnvCategory = (typeof envCategories)[number];

export interface EnvVariable {
  description: string;
  /** Where one gets a value; null = nowhere but here. */
  url: string | null;
  category: EnvCategory;
  is_password: boolean;
  /** Few people need it. */
  advanced?: true;
  /** Read by a chat platform. */
  platform?: true;
}

const key = (description: string, url: string): EnvVariable => ({ description, url, category: 'providers', is_password: true });
const dashboard = (description: string, is_password = false): EnvVariable => ({
  description,
  url: null,
  category: 'dashboard',
  is_password,
  advanced: true,
});

export const envVariables: Readonly<Record<string, EnvVariable>> = {
  OPENAI_API_KEY: key('OpenAI', 'https://platform.openai.com/api-keys'),
  ANTHROPIC_API_KEY: key('Anthropic', 'https://console.anthropic.com/settings/keys'),
  GOOGLE_GENERATIVE_AI_API_KEY: key('Google Gemini', 'https://aistudio.google.com/apikey'),
  GEMINI_API_KEY: { ...key('Google Gemini, the other name of its key', 'https://aistudio.google.com/apikey'), advanced: true },
  OPENROUTER_API_KEY: key('OpenRouter, an aggregator of many providers', 'https://openrouter.ai/keys'),
  BRAVE_API_KEY: {
    description: 'Brave Search, for web.search with kind brave and key_env BRAVE_API_KEY',
    url: 'https://api-dashboard.search.brave.com',
    category: 'web',
    is_password: true,
  },
  IRC_PASSWORD: {
    description: 'Password of the IRC server or account',
    url: null,
    category: 'platforms',
    is_password: true,
    platform: true,
  },
  IRC_ACCOUNT_PASSWORD: { description: 'Password of the IRC account', url: null, category: 'platforms', is_password: true, platform: true },
  WEBHOOK_SECRET: {
    description: 'Proves that a message of the webhook platform comes from who it says',
    url: null,
    category: 'platforms',
    is_password: true,
    platform: true,
  },
  AGENT_CRON_FIRE_SECRET: {
    description: 'Opens POST /api/cron/fire to an outside scheduler that signs with it',
    url: null,
    category: 'cron',
    is_password: true,
  },
  AGENT_DASHBOARD_SESSION_TOKEN: dashboard('Pins the token of the dashboard over restarts', true),
  AGENT_DASHBOARD_BASIC_AUTH_USERNAME: dashboard('User name of the sign-in with a password'),
  AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH: dashboard('Hash of the password, as `agent dashboard passwd` makes it', true),
  AGENT_DASHBOARD_BASIC_AUTH_PASSWORD: dashboard('The password itself; the hash is better', true),
  AGENT_DASHBOARD_BASIC_AUTH_SECRET: dashboard('Signs sessions of the dashboard; without it all end with a restart', true),
  AGENT_DASHBOARD_BASIC_AUTH_TTL_SECONDS: dashboard('How long a sign-in lasts'),
  AGENT_DASHBOARD_PUBLIC_URL: dashboard('Scheme and host that people type, when a proxy stands in front'),
  AGENT_DASHBOARD_TRUSTED_PROXIES: dashboard('Addresses or networks whose X-Forwarded headers count'),
  AGENT_DASHBOARD_OAUTH_CLIENT_ID: dashboard('Client id of the sign-in through the portal'),
  AGENT_DASHBOARD_OIDC_ISSUER: dashboard('Address of your own OpenID provider'),
  AGENT_DASHBOARD_OIDC_CLIENT_ID: dashboard('Client id there'),
  AGENT_DASHBOARD_OIDC_SCOPES: dashboard('Scopes asked for there'),
};

export interface EnvRow {
  is_set: boolean;
  /** `env_file`, or `environment`, which stands over the file and cannot be changed from here. */
  source: 'env_file' | 'environment' | null;
  /** Something to recognise it by; the value itself only where it is no secret. */
  redacted_value: string | null;
  description: string;
  url: string | null;
  category: EnvCategory;
  is_password: boolean;
  /** Keys of config.yaml that name it. */
  used_by: string[];
  tools: string[];
  advanced: boolean;
  channel_managed: boolean;
  /** Not of the built-in table. */
  custom: boolean;
}

/** Every known variable, what stands in the file, and what config.yaml asks for. */
export function envRows(file: NodeJS.Dict<string>, config: Config, env: NodeJS.ProcessEnv): Record<string, EnvRow> {
  const uses = usesOf(config);
  const names = new Set([...Object.keys(envVariables), ...uses.keys(), ...Object.keys(file).filter((name) => ENV_NAME.test(name))]);
  return Object.fromEntries([...names].map((name) => [name, rowOf(name, { file, env, used: uses.get(name) ?? [] })]));
}

function rowOf(name: string, { file, env, used }: { file: NodeJS.Dict<string>; env: NodeJS.ProcessEnv; used: string[] }): EnvRow {
  const known = Object.hasOwn(envVariables, name) ? envVariables[name] : undefined;
  const value = env[name] || file[name];
  const isPassword = known?.is_password ?? true;
  return {
    is_set: Boolean(value),
    source: env[name] ? 'environment' : file[name] ? 'env_file' : null,
    redacted_value: value ? (isPassword ? redacted(value) : value) : null,
    description: known?.description ?? (used.length > 0 ? `Named by ${used.join(', ')}` : ''),
    url: known?.url ?? null,
    category: known?.category ?? categoryOf(used),
    is_password: isPassword,
    used_by: used,
    tools: known?.category === 'web' ? ['web_search'] : [],
    advanced: known?.advanced === true,
    channel_managed: known?.platform === true || used.some((key) => key.startsWith('platforms.')),
    custom: known === undefined,
  };
}

/** The last four characters tell two keys apart and open nothing; of a short value even those say too much. */
export const redacted = (value: string): string => (value.length >= 20 ? `••••${value.slice(-4)}` : '••••');

function categoryOf(used: readonly string[]): EnvCategory {
  const [section] = (used[0] ?? '').split('.');
  return section === 'providers' || section === 'platforms' || section === 'web' || section === 'dashboard' ? section : 'other';
}

/** Variables that config.yaml names: `key_env`, `pool`, `${NAME}`. */
function usesOf(config: Config): Map<string, string[]> {
  const uses = new Map<string, string[]>();
  const add = (name: string, key: string) => {
    if (ENV_NAME.test(name)) uses.set(name, [...(uses.get(name) ?? []), key]);
  };
  const walk = (value: unknown, path: string): void => {
    if (typeof value === 'string') {
      if (/(?:^|\.)(?:key_env|client_secret_env)$/.test(path) || /\.pool\.\d+$/.test(path)) add(value, path);
      interpolate(value, { get: (name) => (add(name, path), undefined) });
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) walk(inner, path === '' ? name : `${path}.${name}`);
    }
  };
  walk(config, '');
  return uses;
}
