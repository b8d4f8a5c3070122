/**
 * What a provider says about a failure: the body of a refusal, or an error frame inside a stream. Knows the shapes that
 * vendors and local servers use; decides nothing.
 */

export interface ErrorBody {
  message: string | undefined;
  /** Of the body itself: an error frame inside a stream has no other. */
  status: number | undefined;
  /** Of the structured body (interface spec, Errors). */
  reason: string | undefined;
  retryAfterMs: number | undefined;
  alternates: readonly string[];
  upgradeUrl: string | undefined;
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** `text`: JSON, or anything else, which says nothing. */
export function readErrorBody(text: string): ErrorBody {
  const outer = outermost(text);
  const inner = isFields(outer.error) ? outer.error : {};
  const field = (name: string) => outer[name] ?? inner[name];
  const alternates = field('alternates');
  const url = field('upgrade_url');
  const reason = field('reason');
  return {
    message: messageIn(outer),
    status: statusIn(inner) ?? statusIn(outer),
    reason: typeof reason === 'string' ? reason : undefined,
    retryAfterMs: millisecondsIn(field('retry_after')) ?? retryInfoIn(inner),
    alternates: Array.isArray(alternates) ? alternates.filter((name) => typeof name === 'string') : [],
    upgradeUrl: typeof url === 'string' && /^https?:\/\//.test(url) ? url : undefined,
  };
}

/** Gemini puts its error into a list; a string is all that some local servers say. */
function outermost(text: string): Fields {
  try {
    const value = JSON.parse(text) as unknown;
    const first: unknown = Array.isArray(value) ? value[0] : value;
    return isFields(first) ? first : typeof first === 'string' ? { message: first } : {};
  } catch {
    return {};
  }
}

/**
 * `{error: {message}}` (OpenAI and most), `{error: "…"}` (LM Studio), `{message}` (vLLM, Mistral), `{message: {detail}}`
 * and `{detail: [{loc, msg}]}` (Mistral), `metadata.raw` for the provider behind an aggregator.
 */
function messageIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() || undefined;
  if (Array.isArray(value)) return value.map(messageIn).filter(Boolean).join('; ') || undefined;
  if (!isFields(value)) return undefined;
  if (typeof value.msg === 'string') {
    const place = Array.isArray(value.loc) ? value.loc.filter((part) => part !== 'body').join('.') : '';
    return place ? `${place}: ${value.msg}` : value.msg;
  }
  const message = messageIn(value.error) ?? messageIn(value.message) ?? messageIn(value.detail);
  const raw = isFields(value.metadata) ? messageIn(value.metadata.raw) : undefined;
  return message !== undefined && raw !== undefined ? `${message}: ${raw}` : (message ?? raw);
}

/** Words that stand for a status where a stream cannot carry one. */
const STATUS_OF_WORD: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  RESOURCE_EXHAUSTED: 429,
  UNAVAILABLE: 503,
};

function statusIn({ code, status, type }: Fields): number | undefined {
  for (const value of [code, status]) if (Number(value) >= 400 && Number(value) <= 599) return Number(value);
  const word = [code, status, type].find((name) => typeof name === 'string' && Object.hasOwn(STATUS_OF_WORD, name));
  return word === undefined ? undefined : STATUS_OF_WORD[word as string];
}

const millisecondsIn = (seconds: unknown): number | undefined =>
  seconds !== undefined && seconds !== null && Number(seconds) >= 0 ? Number(seconds) * 1_000 : undefined;

/** `details: [{'@type': '…RetryInfo', retryDelay: '34s'}]`, as Google writes it. */
function retryInfoIn({ details }: Fields): number | undefined {
  if (!Array.isArray(details)) return undefined;
  const delay: unknown = details.find((detail): detail is Fields => isFields(detail) && 'retryDelay' in detail)?.retryDelay;
  return typeof delay === 'string' && /^\d+(?:\.\d+)?s$/.test(delay) ? millisecondsIn(delay.slice(0, -1)) : undefined;
}
