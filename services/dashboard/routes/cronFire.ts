/**
 * `POST /api/cron/fire` (contract §10): an outside scheduler claims one occurrence of a job. The order is
 * the contract: proof first (401), then pause (503, nothing claimed), then the claim itself.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AgentError, isAgentError, messageOf, mustWait } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { claimJob } from '../../../ipc/contracts/cron.ts';
import { FireBody, fireCron } from '../../../ipc/contracts/http/cron.ts';
import { isPaused } from '../../../state/pause.ts';
import type { Dashboard } from '../http.ts';
import { createFireTokenCheck, type FireTokenSettings } from '../auth/fireToken.ts';
import { parseRequest } from '../problem.ts';

/** Returns when the request is proved to come from the configured scheduler; anything thrown is a refusal. */
interface Fire {
  headers: Readonly<Record<string, unknown>>;
  body: Buffer;
}
export type FireVerifier = (request: Fire) => void | Promise<void>;

export function addCronFireRoute(app: FastifyInstance, { context }: Dashboard, verifier?: FireVerifier): void {
  const verify =
    verifier ??
    eitherVerifier(
      hmacVerifier(() => ({
        secret: context.secrets().get('AGENT_CRON_FIRE_SECRET'),
        bodyAlone: context.config().config.cron?.fire_body_signature === true,
      })),
      tokenVerifier(() => context.config().config.cron?.fire_jwt),
    );
  void app.register(async (scope) => {
    // The signature covers the bytes as they came, whatever they claim to be.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

    // Nothing is answered before the proof, and of a body that is not read none can be had.
    scope.setErrorHandler((thrown: { statusCode?: number }) => {
      throw thrown.statusCode === 413 ? notProved(thrown) : thrown;
    });
    scope.post(fireCron.path, { config: { access: fireCron.access } }, async (request, reply) => {
      await prove(verify, request);
      if (isPaused(context.home, 'webhook') || isPaused(context.home, 'cron')) throw paused();
      const { job_id, scheduled_at, idempotency_key } = parseRequest(FireBody, jsonOf(request.body as Buffer));
      const claim = await context
        .peer('cron')
        .call(claimJob, { job_id, ...(scheduled_at ? { scheduled_at } : {}), ...(idempotency_key ? { idempotency_key } : {}) })
        .catch((thrown: unknown) => {
          if (!mustWait(thrown)) throw thrown;
          throw isAgentError(thrown) && thrown.code === 'PAUSED' ? paused() : unreachable(thrown);
        });
      context.log.info('cron fire', { job_id, claimed: claim.claimed, execution_id: claim.execution_id ?? undefined });
      return reply
        .status(claim.claimed ? 202 : 200)
        .send(claim.claimed ? { execution_id: claim.execution_id, claimed: true } : { claimed: false });
    });
  });
}

/** A refusal and a crash of the verifier are the same to the caller: 401, without the reason. */
async function prove(verify: FireVerifier, request: FastifyRequest): Promise<void> {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  request.body = body;
  try {
    await verify({ headers: request.headers, body });
  } catch (cause) {
    throw notProved(cause);
  }
}

const notProved = (cause: unknown): AgentError =>
  new AgentError('UNAUTHENTICATED', 'the request is not signed by the configured scheduler', {
    cause,
    fix: 'sign "<timestamp>.<body>" with AGENT_CRON_FIRE_SECRET (X-Agent-Signature: sha256=<HMAC>, X-Agent-Timestamp: <seconds>), or send the token of cron.fire_jwt (Authorization: Bearer <JWT>)',
  });

interface FireSecret {
  secret: string | undefined;
  /** Also accept a signature over the body alone, for schedulers that cannot sign the timestamp. */
  bodyAlone: boolean;
}

/** HMAC-SHA256 over `<X-Agent-Timestamp>.<raw body>` in `X-Agent-Signature: sha256=…`; the timestamp is within 300 s. */
export function hmacVerifier(settings: () => FireSecret, nowMs: () => number = Date.now): FireVerifier {
  return ({ headers, body }) => {
    const { secret, bodyAlone } = settings();
    if (!secret) throw new Error('AGENT_CRON_FIRE_SECRET is not set');
    const timestamp = String(headers['x-agent-timestamp'] ?? '');
    if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs() - Number(timestamp) * 1_000) > limits.cron.fireSkewMs)
      throw new Error('the timestamp is missing or too far off');
    const signature = /^sha256=([0-9a-f]{64})$/i.exec(String(headers['x-agent-signature'] ?? ''))?.[1];
    if (!signature) throw new Error('the signature is missing');
    const given = Buffer.from(signature, 'hex');
    const signs = (prefix: string) => timingSafeEqual(createHmac('sha256', secret).update(prefix).update(body).digest(), given);
    if (!signs(`${timestamp}.`) && !(bodyAlone && signs(''))) throw new Error('the signature is wrong');
  };
}

/**
 * A JWT in `Authorization: Bearer`, as `cron.fire_jwt` says at this moment. Keys that cannot be had are a refusal
 * too (contract §10, row auth.8: a verifier that crashes yields 401): a stranger learns nothing about the issuer.
 */
export function tokenVerifier(settings: () => FireTokenSettings | undefined): (request: Fire) => Promise<void> {
  const check = createFireTokenCheck();
  return async ({ headers }) => {
    const token = /^Bearer +(\S+)$/i.exec(String(headers.authorization ?? ''))?.[1];
    if (token === undefined) throw new Error('no token was sent');
    const current = settings();
    if (!current) throw new Error('cron.fire_jwt is not configured');
    await check(token, current);
  };
}

/** One of two proofs is enough; the second one may ask over the network. */
function eitherVerifier(first: FireVerifier, second: (request: Fire) => Promise<void>): FireVerifier {
  return async (request) => {
    try {
      await first(request);
    } catch (thrown) {
      await second(request).catch((other: unknown) => {
        throw new Error(`${messageOf(thrown)}; ${messageOf(other)}`, { cause: thrown });
      });
    }
  };
}

/** A 503, whatever the cause: a scheduler takes a 4xx for the last word. */
function unreachable(cause: unknown): AgentError {
  return new AgentError('PEER_UNREACHABLE', `the cron worker cannot take the job now: ${messageOf(cause)}`, {
    cause,
    fix: 'repeat the request; `agent status` shows the cron worker',
    retryAfterMs: limits.cron.pausedRetrySeconds * 1_000,
  });
}

function paused(): AgentError {
  return new AgentError('PAUSED', 'automation is paused; the job was not claimed', {
    fix: 'try again later, or run `agent resume`',
    retryAfterMs: limits.cron.pausedRetrySeconds * 1_000,
  });
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw Object.assign(new Error('the body is not JSON', { cause }), { statusCode: 400 });
  }
}
