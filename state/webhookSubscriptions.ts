/**
 * `webhook_subscriptions.json` of a profile: webhook routes that were made by command, beside those of config.yaml.
 * Commands write it, its gateway reads it at each delivery. A secret stands in `.env`; the file holds `${NAME}`.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from '../base/lazyZod.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { readJson, writeJsonAtomic } from './atomicFile.ts';
import { setEnvValue, unsetEnvValue } from './envFile.ts';
import { readSecrets } from './env.ts';
import type { ProfilePaths } from './home.ts';
import { withFileLock } from './lock.ts';

/** What a route may be called, here and in config.yaml. */
export const ROUTE_NAME = /^[\w.-]{1,64}$/;

/** Events that one route lists. */
export const WEBHOOK_EVENTS_MAX = 100;

const Subscription = z.looseObject({
  prompt: z.string().min(1),
  /** A delivery target; `none`: the answer stays in the session. */
  deliver: z.string(),
  /** Events that make a turn; absent = all but GitHub's ping. */
  events: z.array(z.string()).max(WEBHOOK_EVENTS_MAX).optional(),
  /** `${NAME}`. */
  secret: z.string(),
  /** Whose agent answers; absent = that of the gateway. */
  profile: z.string().optional(),
  created_at: z.string(),
});
export type Subscription = z.infer<typeof Subscription>;

const File = z.looseObject({ routes: z.record(z.string(), Subscription) });

type Where = Pick<ProfilePaths, 'dir' | 'env'>;

export const subscriptionsPath = ({ dir }: Pick<Where, 'dir'>): string => join(dir, 'webhook_subscriptions.json');

/** Errors: CONFIG_INVALID with what to do. */
export function readSubscriptions(where: Pick<Where, 'dir'>): Record<string, Subscription> {
  const path = subscriptionsPath(where);
  try {
    const value = readJson(path);
    return value === undefined ? {} : File.parse(value).routes;
  } catch (cause) {
    throw new AgentError('CONFIG_INVALID', `${path} cannot be read: ${messageOf(cause).split('\n')[0]}`, {
      cause,
      fix: 'correct it, or remove it and subscribe again',
    });
  }
}

export interface Wanted {
  prompt?: string | undefined;
  deliver?: string | undefined;
  profile?: string | undefined;
  /** Empty = every event but GitHub's ping. */
  events?: readonly string[] | undefined;
}

/**
 * Makes a route or changes it; what is not given stays, the secret always. `secret` is answered only for a new one.
 * Errors: CONFIG_INVALID, QUEUE_FULL, DISK_FULL, HOME_UNUSABLE, LOCK_HELD.
 */
export async function subscribe(where: Where, name: string, wanted: Wanted): Promise<{ route: Subscription; secret: string | null }> {
  const path = subscriptionsPath(where);
  return withFileLock(path, async () => {
    const routes = readSubscriptions(where);
    const old = Object.hasOwn(routes, name) ? routes[name] : undefined;
    if (!old && Object.keys(routes).length >= limits.gateway.subscriptionsMax)
      throw new AgentError('QUEUE_FULL', `there are ${limits.gateway.subscriptionsMax} webhook routes already`, {
        fix: 'remove one: agent webhook remove <name>',
      });
    const made = old ? null : await makeSecret(where, name);
    const profile = wanted.profile ?? old?.profile;
    const events = wanted.events ?? old?.events ?? [];
    const route: Subscription = {
      ...old,
      events: events.length === 0 ? undefined : [...events],
      prompt: wanted.prompt ?? old?.prompt ?? '{__raw__}',
      deliver: wanted.deliver ?? old?.deliver ?? 'none',
      secret: old?.secret ?? `\${${made!.variable}}`,
      ...(profile === undefined ? {} : { profile }),
      created_at: old?.created_at ?? new Date().toISOString(),
    };
    writeJsonAtomic(path, { routes: { ...routes, [name]: route } });
    return { route, secret: made?.value ?? null };
  });
}

/** With its secret. False = there was none of that name. Errors: as `subscribe`. */
export async function unsubscribe(where: Where, name: string): Promise<boolean> {
  const path = subscriptionsPath(where);
  return withFileLock(path, async () => {
    const routes = readSubscriptions(where);
    if (!Object.hasOwn(routes, name)) return false;
    const { [name]: gone, ...others } = routes;
    writeJsonAtomic(path, { routes: others });
    const variable = /^\$\{(\w+)\}$/.exec(gone!.secret)?.[1];
    if (variable?.startsWith('WEBHOOK_')) await unsetEnvValue(where.env, variable);
    return true;
  });
}

/** 192 random bits under a name of its own: `a-b` and `a_b` must not share one. */
async function makeSecret({ env }: Where, name: string): Promise<{ variable: string; value: string }> {
  const taken = new Set(readSecrets(env, {}).names());
  const wanted = `WEBHOOK_ROUTE_${name.toUpperCase().replaceAll(/\W/g, '_').replaceAll(/[.-]/g, '_')}`;
  let variable = `${wanted}_SECRET`;
  for (let n = 2; taken.has(variable); n++) variable = `${wanted}_${n}_SECRET`;
  const value = randomBytes(24).toString('hex');
  await setEnvValue(env, variable, value);
  return { variable, value };
}
