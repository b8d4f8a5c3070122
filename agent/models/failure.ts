/** What went wrong with a request to a provider: which kind of trouble, what the provider itself said, and the words for it. */
import { AgentError, errnoOf, isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { formatDuration } from '../../base/time.ts';
import type { EndpointSettings } from './kinds.ts';
import { readErrorBody } from './errorBody.ts';
import { retryAfterMs } from './retry.ts';

/**
 * `overflow`: the prompt is larger than the window. `rate`: over a rate, the same key may be asked later. `notFree`: the free tier
 * has no such model or feature. `unpaid`, `auth`: this key cannot serve. `region`: the provider does not serve this country.
 * `route`: deterministic, this way leads nowhere for this process. `slow`: no first byte in time. `passing`: the same
 * request may succeed. `refused`: it will not.
 */
export type Trouble = 'overflow' | 'rate' | 'notFree' | 'unpaid' | 'auth' | 'region' | 'route' | 'slow' | 'passing' | 'refused';

export interface Failure {
  trouble: Trouble;
  status: number | undefined;
  /** How long the provider asks us to wait. */
  askedMs: number | undefined;
  /** Its reason, in one line. */
  says: string;
  /** The provider was reached and sent something. */
  hasAnswered: boolean;
  /** Of the structured body (interface spec, Errors). */
  reason: string | undefined;
  alternates: readonly string[];
  upgradeUrl: string | undefined;
  cause: unknown;
}

/** `welcome`: the request went to the inference host of the free tier. `redact` keeps keys that the provider repeats out of its words. */
export function failureOf(
  thrown: unknown,
  { welcome, redact = (text) => text }: { welcome: boolean; redact?: ((text: string) => string) | undefined },
): Failure {
  const { status: answered, headers, text } = answerOf(thrown);
  const body = readErrorBody(text);
  const status = answered ?? body.status;
  return {
    trouble: troubleOf({ status, thrown, text, reason: body.reason, welcome }),
    status,
    askedMs: body.retryAfterMs ?? retryAfterMs(headers),
    says: redact(wordsOf(thrown, status, body.message)),
    hasAnswered: status !== undefined || text !== '',
    reason: body.reason,
    alternates: body.alternates,
    upgradeUrl: body.upgradeUrl,
    cause: thrown,
  };
}

interface Answer {
  status: number | undefined;
  headers: Record<string, string> | undefined;
  /** The body as text; a stream's error frame as JSON. */
  text: string;
}

/** The packages throw an object with these fields; recognised by its shape, so that none of them is loaded for it. */
function answerOf(thrown: unknown): Answer {
  const { statusCode, responseHeaders, responseBody, data } = (thrown ?? {}) as {
    statusCode?: unknown;
    responseHeaders?: Record<string, string>;
    responseBody?: unknown;
    data?: unknown;
  };
  const text = typeof responseBody === 'string' ? responseBody : data === undefined ? '' : JSON.stringify(data);
  // A stream that broke carries the 200 of its beginning: that is not the status of the failure.
  return { status: typeof statusCode === 'number' && statusCode >= 300 ? statusCode : undefined, headers: responseHeaders, text };
}

/** How the vendors and local servers say that a prompt does not fit. */
const OVERFLOW =
  /context_length_exceeded|exceed_context_size|maximum context length|context window|prompt is too long|exceed(?:s|ed)? (?:the )?(?:available |model'?s? |maximum )?context|input token count.{0,40}exceeds|input length.{0,60}exceed|greater than the context length|too many tokens|input is too long|request_too_large|context (?:the )?overflows|reduce the length of the (?:messages|input)|too large for model with/i;
/** A limit of tokens a minute is a rate, whatever it calls itself. */
const RATE_WORDS = /per minute|rate.?limit|\btpm\b/i;

const UNPAID_WORDS =
  /insufficient_quota|credit balance is too low|insufficient (?:balance|credits?|funds)|billing_not_active|billing_hard_limit/i;
const REGION_WORDS = /unsupported_country|country, region,? or territory|location is not supported/i;
const KEY_WORDS = /API_KEY_INVALID|invalid_api_key|(?:invalid|incorrect) api key|api key (?:is )?(?:not valid|invalid|expired)/i;

function troubleOf(facts: {
  status: number | undefined;
  thrown: unknown;
  text: string;
  reason: string | undefined;
  welcome: boolean;
}): Trouble {
  const { status, thrown, reason, welcome } = facts;
  const text = `${facts.text} ${messageOf(thrown)}`;
  if (isAgentError(thrown) && thrown.code === 'PROVIDER_SIGN_IN') return 'auth';
  if (isAgentError(thrown) && thrown.code === 'REDIRECT_REFUSED') return 'refused';
  if (isAgentError(thrown) && thrown.code === 'TIMEOUT') return 'slow';
  // A request over the size of a whole minute never fits, however long one waits.
  if (status === 413 || (status !== 429 && OVERFLOW.test(text) && !RATE_WORDS.test(text))) return 'overflow';
  if (status === 429 && (reason === 'model_not_free' || reason === 'feature_not_free')) return 'notFree';
  if (status === 402 || (status !== undefined && status < 500 && UNPAID_WORDS.test(text))) return 'unpaid';
  if (status === 429) return 'rate';
  if (welcome && (status === 400 || status === 403)) return 'route';
  if (status !== undefined && status < 500 && REGION_WORDS.test(text)) return 'region';
  if (status === 401 || ((status === 400 || status === 403) && KEY_WORDS.test(text))) return 'auth';
  if (status === undefined || status === 408 || status === 425 || status >= 500) return 'passing';
  return 'refused';
}

// --- words ---

function wordsOf(thrown: unknown, status: number | undefined, message: string | undefined): string {
  if (isAgentError(thrown)) return thrown.message;
  if (status !== undefined) return `it answered ${status}: ${oneLine(message ?? messageOf(thrown))}`;
  if (message !== undefined) return oneLine(message);
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
  const needsSignIn = isAgentError(cause) && cause.code === 'PROVIDER_SIGN_IN';
  return new AgentError(
    trouble === 'overflow' ? 'CONTEXT_OVERFLOW' : needsSignIn ? 'PROVIDER_SIGN_IN' : 'PROVIDER_FAILED',
    `${settings.provider} (${settings.model}): ${says}${after}`,
    {
      cause,
      fix: fixOf(failure, settings),
      facts: { status: status ?? null, reason: reason ?? null, alternates, upgrade_url: upgradeUrl ?? null },
      ...(askedMs === undefined ? {} : { retryAfterMs: askedMs }),
    },
  );
}

/** What the user can do about it. */
export function fixOf(failure: Failure, { keyEnv, baseUrl, detected }: EndpointSettings): string {
  const { trouble, status, alternates, askedMs, upgradeUrl, hasAnswered, cause } = failure;
  const other = alternates[0] ? `, or choose ${alternates[0]}` : '';
  const checkKey = keyEnv ? `check the key in ${keyEnv}` : 'set key_env of the provider and put the key into .env';
  // What this service itself found wrong knows its own remedy.
  if (isAgentError(cause) && cause.fix) return cause.fix;
  switch (trouble) {
    case 'notFree':
      return upgradeUrl ? `sign in at ${upgradeUrl}${other}` : `choose a model of the free tier with /model${other}`;
    case 'overflow':
      return '/compress makes room; a model with a larger window takes it as it is';
    case 'unpaid':
      return keyEnv ? `the account behind ${keyEnv} has no credit left` : 'the account has no credit left';
    case 'auth':
      return checkKey;
    case 'region':
      return 'the provider does not serve the country of this machine; choose another provider with /model';
    case 'rate':
      return `${askedMs === undefined ? 'wait' : `wait ${formatDuration(askedMs)}`}, or use another provider${other}`;
    case 'route':
      return 'this way is not tried again until the service restarts; choose another model with /model';
    case 'passing':
    case 'slow':
      if (hasAnswered) return 'try again later; the provider has trouble';
      return detected
        ? `the server on this machine does not respond: start it again at ${baseUrl}`
        : `check that ${baseUrl} is reachable from here`;
    case 'refused':
      if (status === 401 || status === 403) return checkKey;
      if (status === 404) return 'check model.default and base_url in config.yaml';
      return "the provider refuses this request as it is; the provider's own message says why";
  }
}
