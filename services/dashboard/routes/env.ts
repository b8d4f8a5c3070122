/** `.env` over HTTP. Values go in; out comes one only where a person asks for that one, seldom and on the record. */
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { deleteEnv, listEnv, revealEnv, setEnv } from '../../../ipc/contracts/http/env.ts';
import { loadConfig } from '../../../state/config/load.ts';
import { looksSecret } from '../../../state/env.ts';
import { readEnvVariables, setEnvValue, unsetEnvValue } from '../../../state/envFile.ts';
import { envRows } from '../../../state/envVariables.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

const MINUTE_MS = 60_000;

export function envRoutes({ context: { home, log, redact } }: Dashboard): HttpHandler[] {
  const reveals = new PerMinute(limits.env.revealsPerMinute);
  return [
    on(listEnv, ({ profile }) => envRows(readEnvVariables(profile.env), loadConfig(home, profile).config, process.env)),
    on(setEnv, async ({ body: { key, value }, profile, request }) => {
      if (looksSecret(key, value)) redact.learn([value]);
      const { replaced } = await setEnvValue(profile.env, key, value);
      log.info(`${key} ${replaced ? 'replaced' : 'set'} in .env`, { from: request.ip, profile: profile.name });
      return { ok: true as const, key, replaced };
    }),
    on(deleteEnv, async ({ body: { key }, profile, request }) => {
      const { removed } = await unsetEnvValue(profile.env, key);
      if (!removed) throw notThere(key);
      log.info(`${key} removed from .env`, { from: request.ip, profile: profile.name });
      return { ok: true as const, key };
    }),
    on(revealEnv, ({ body: { key }, profile, request }) => {
      const waitMs = reveals.take(Date.now());
      if (waitMs > 0) {
        log.warn(`${key} of .env was not shown: too many were asked for`, { from: request.ip, profile: profile.name });
        throw new AgentError('TOO_MANY_REQUESTS', `${limits.env.revealsPerMinute} values were shown within a minute`, {
          retryAfterMs: waitMs,
          fix: 'wait a minute, or read them on the machine: agent env reveal <name>',
        });
      }
      const value = readEnvVariables(profile.env)[key];
      if (!value) throw notThere(key);
      if (looksSecret(key, value)) redact.learn([value]);
      log.warn(`${key} of .env was shown in the dashboard`, { from: request.ip, profile: profile.name });
      return { key, value };
    }),
  ];
}

const notThere = (key: string): AgentError =>
  new AgentError('NOT_FOUND', `${key} does not stand in .env`, { fix: 'agent env list shows what does' });

class PerMinute {
  readonly #max: number;
  #taken: number[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** 0 = granted; otherwise milliseconds until the next one is. */
  take(nowMs: number): number {
    this.#taken = this.#taken.filter((at) => nowMs - at < MINUTE_MS);
    if (this.#taken.length >= this.#max) return this.#taken[0]! + MINUTE_MS - nowMs;
    this.#taken.push(nowMs);
    return 0;
  }
}
