/** What went wrong with a request to a provider: which kind of trouble, what the provider itself said, and the words for it. */
import { AgentError, errnoOf, isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { EndpointSettings } from './kinds.ts';
import { retryAfterMs } from './retry.ts';

/**
 * `overflow`: the prompt is larger than the window. `rate`: over a rate, the same key may be asked later. `notFree`: the free tier
 * has no such model or feature. `unpaid`, `auth`: this key cannot serve. `route`: deterministic, this way leads nowhere for this
 * process. `passing`: the same request may succeed. `refused`: it will not.
 */
export type Trouble = 'overflow' | 'rate' | 'notFree' | 'unpaid' | 'auth' | 'route' | 'passing' | 'refused';

export interface Failure {
  trouble: Trouble;
  status: number | undefined;
  /** How long the provider asks us to wait. */
  askedMs: number | undefined;
  /** Its reason, in one line. */
  says: string;
  /** Of the structured body (interface spec, Errors). */
  reason: string | undefined;
  alternates: readonly string[];
  upgradeUrl: string | undefined;
  cause: unknown;
}

/** `welcome`: the request went to the inference host of the free tier. */
export function failureOf(thrown: unknown, { welcome }: { welcome: boolean }): Failure {
  const { status, headers, body } = answerOf(thrown);
  const told = structured(body);
  const askedMs = told.retryAfterMs ?? retryAfterMs(headers);
  return {
    trouble: troubleOf({ status, thrown, body, reason: told.reason, welcome }),
    status,
    askedMs,
    says: wordsOf(thrown, status, body),
    reason: told.reason,
    alternates: told.alternates,
    upgradeUrl: told.upgradeUrl,
    cause: thrown,
  };
}

interface Answer {
  status: number | undefined;
  headers: Record<string, string> | undefined;
  /** As text; a stream's error frame as JSON. */
  body: string;
}

/** The packages throw an object with these fields; told by its shape, so that none of them is loaded for it. */
function answerOf(thrown: unknown): Answer {
  const { statusCode, responseHeaders, responseBody, data } = (thrown ?? {}) as {
    statusCode?: unknown;
    responseHeaders?: Record<string, string>;
    responseBody?: unknown;
    data?: unknown;
  };
  const body = typeof responseBody === 'string' ? responseBody : data === undefined ? '' : JSON.stringify(data);
  // A 200 stands there when the stream itself broke: that is no answer.
  return { status: typeof statusCode === 'number' && statusCode >= 300 ? statusCode : undefined, headers: responseHeaders, body };
}

interface Told {
  reason: string | undefined;
  retryAfterMs: number | undefined;
  alternates: readonly string[];
  upgradeUrl: string | undefined;
}

/** `{reason, retry_after, alternates, upgrade_url}`, bare or below `error`. */
function structured(body: string): Told {
  const outer = objectOf(body);
  const inner = typeof outer.error === 'object' && outer.error !== null ? (outer.error as Record<string, unknown>) : {};
  const field = (name: string) => outer[name] ?? inner[name];
  const seconds = Number(field('retry_after') ?? Number.NaN);
  const alternates = field('alternates');
  const url = field('upgrade_url');
  const reason = field('reason');
  return {
    reason: typeof reason === 'string' ? reason : undefined,
    retryAfterMs: seconds >= 0 ? seconds * 1_000 : undefined,
    alternates: Array.isArray(alternates) ? alternates.filter((name) => typeof name === 'string') : [],
    upgradeUrl: typeof url === 'string' && /^https?:\/\//.test(url) ? url : undefined,
  };
}

function objectOf(body: string): Record<string, unknown> {
  try {
    const value = JSON.parse(body) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** How the vendors and local servers say that a prompt does not fit. */
const OVERFLOW =
  /context_length_exceeded|exceed_context_size|maximum context length|context window|prompt is too long|exceed(?:s|ed)? (?:the )?(?:available |model'?s? |maximum )?context|input token count.{0,40}exceeds|input length.{0,60}exceed|greater than the context length|too many tokens|input is too long|request_too_large/i;
/** A limit of tokens a minute is a rate, whatever it calls itself. */
const RATE_WORDS = /per minute|rate.?limit|\btpm\b/i;

function troubleOf(facts: {
  status: number | undefined;
  thrown: unknown;
  body: string;
  reason: string | undefined;
  welcome: boolean;
}): Trouble {
  const { status, thrown, body, reason, welcome } = facts;
  const text = `${body} ${messageOf(thrown)}`;
  if (isAgentError(thrown) && thrown.code === 'PROVIDER_SIGN_IN') return 'auth';
  if (isAgentError(thrown) && thrown.code === 'REDIRECT_REFUSED') return 'refused';
  if (status !== 429 && OVERFLOW.test(text) && !RATE_WORDS.test(text)) return 'overflow';
  if (status === 429 && (reason === 'model_not_free' || reason === 'feature_not_free')) return 'notFree';
  if (status === 429) return /insufficient_quota/.test(body) ? 'unpaid' : 'rate';
  if (welcome && (status === 400 || status === 403)) return 'route';
  if (status === 402) return 'unpaid';
  if (status === 401) return 'auth';
  if (status === undefined || status === 408 || status === 425 || status >= 500) return 'passing';
  return 'refused';
}

// --- words ---

function wordsOf(thrown: unknown, status: number | undefined, body: string): string {
  if (isAgentError(thrown)) return thrown.message;
  if (status !== undefined) return `it answered ${status}: ${oneLine(messageOf(thrown) || body)}`;
  const cause = (thrown as { cause?: unknown } | null)?.cause;
  const inner = (cause as { cause?: unknown } | undefined)?.cause;
  return errnoOf(cause) ?? errnoOf(inner) ?? oneLine(cause === undefined ? messageOf(thrown) : messageOf(cause));
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, limits.models.errorTextMaxChars);

/** The stream ended after its first words. */
export function cutError({ provider }: EndpointSettings, { says, cause }: Failure): AgentError {
  return new AgentError('PROVIDER_CUT', `${provider} ended the stream early (${says}); what it had sent is kept`, {
    cause,
    fix: 'say "go on" to continue from there',
  });
}

/** Nothing was received, and nothing else is left to try. `others`: what became of the fallbacks. */
export function refusedError(settings: EndpointSettings, failure: Failure, others: readonly string[] = []): AgentError {
  const { trouble, status, askedMs, says, reason, alternates, upgradeUrl, cause } = failure;
  const after = others.length > 0 ? `; then ${others.join('; ')}` : '';
  return new AgentError(
    trouble === 'overflow' ? 'CONTEXT_OVERFLOW' : 'PROVIDER_FAILED',
    `${settings.provider} (${settings.model}): ${says}${after}`,
    {
      cause,
      fix: fixOf(failure, settings),
      facts: { status: status ?? null, reason: reason ?? null, alternates, upgrade_url: upgradeUrl ?? null },
      ...(askedMs === undefined ? {} : { retryAfterMs: askedMs }),
    },
  );
}

function fixOf({ trouble, status, alternates, cause }: Failure, { keyEnv, baseUrl, detected }: EndpointSettings): string {
  const other = alternates[0] ? `, or choose ${alternates[0]}` : '';
  switch (trouble) {
    case 'notFree':
      return `sign in: \`agent auth upgrade\` in a terminal, /login in a chat${other}`;
    case 'overflow':
      return '/compress makes room; a model with a larger window takes it as it is';
    case 'unpaid':
      return keyEnv ? `the account behind ${keyEnv} has no credit left` : 'the account has no credit left';
    case 'rate':
      return `wait, or use another provider${other}`;
    case 'route':
      return 'this way is not tried again until the service restarts; choose another model with /model';
    case 'passing':
      if (status !== undefined) return 'try again later; the provider has trouble';
      return detected
        ? `the server on this machine has gone: start it again at ${baseUrl}`
        : `check that ${baseUrl} is reachable from here`;
    default:
      if (isAgentError(cause) && cause.code === 'REDIRECT_REFUSED' && cause.fix) return cause.fix;
      if (status === 401 || status === 403)
        return keyEnv ? `check the key in ${keyEnv}` : 'set key_env of the provider and put the key into .env';
      if (status === 404) return 'check model.default and base_url in config.yaml';
      return 'the provider refuses this request as it is; its own words say why';
  }
}
