/** Every HTTP route of the dashboard. The OpenAPI document is made from this list; a test holds it against what is served. */
import type { HttpRoute, KeyOf } from '../../httpRoute.ts';
import * as auth from './auth.ts';
import * as analytics from './analytics.ts';
import * as cron from './cron.ts';
import * as files from './files.ts';
import * as logs from './logs.ts';
import * as memory from './memory.ts';
import * as mcp from './mcp.ts';
import * as ops from './ops.ts';
import * as config from './config.ts';
import * as env from './env.ts';
import * as models from './models.ts';
import * as oauth from './oauth.ts';
import * as pause from './pause.ts';
import * as platforms from './platforms.ts';
import * as profiles from './profiles.ts';
import * as service from './service.ts';
import * as sessions from './sessions.ts';
import * as skills from './skills.ts';
import * as status from './status.ts';
import * as tools from './tools.ts';
import * as workers from './workers.ts';

const subjects = [
  status,
  auth,
  workers,
  pause,
  logs,
  sessions,
  cron,
  platforms,
  profiles,
  skills,
  tools,
  memory,
  mcp,
  config,
  env,
  models,
  oauth,
  analytics,
  files,
  ops,
  service,
] as const;

type ValueOf<T> = T extends unknown ? T[keyof T] : never;
type AnyRoute = Extract<ValueOf<(typeof subjects)[number]>, { readonly key: string; readonly access: unknown }>;
/** `GET /api/status`, … */
export type RouteKey = KeyOf<AnyRoute>;
export type RouteOf<K extends RouteKey> = AnyRoute extends infer R ? (R extends { readonly key: K } ? R : never) : never;

export const httpRoutes: readonly HttpRoute[] = subjects.flatMap((subject): unknown[] => Object.values(subject)).filter(isRoute);

function isRoute(value: unknown): value is HttpRoute {
  return typeof value === 'object' && value !== null && 'key' in value && 'access' in value;
}
