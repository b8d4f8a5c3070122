/** Errors as HTTP answers: `application/problem+json` of contract §9, one table from code to status. */
import { STATUS_CODES } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { AgentError, errorTable, isAgentError, messageOf, type ErrorCode } from '../../base/errors.ts';
import { GateRefusal } from './auth/refusal.ts';

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  fix?: string;
  /** Wrong fields of a 422, each with its path. */
  errors?: { path: string; message: string }[];
  /** Of the gate's own 401 (contract §9): why, and where to sign in. */
  error?: GateRefusal['error'];
  login_url?: string;
  /** Where in config.yaml a CONFIG_INVALID is. */
  at?: { line: number; column: number; key: string };
  /** What somebody else changed meanwhile, of a CONFIG_CHANGED; null = not known. */
  changed?: unknown;
}

const statusOf: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: 401,
  SIGN_IN_FAILED: 401,
  FORBIDDEN_ORIGIN: 403,
  FORBIDDEN_REQUEST: 403,
  TOO_MANY_TRIES: 429,
  CONFIG_LOCKOUT: 422,
  PATH_REFUSED: 403,
  FILE_EXISTS: 409,
  FILE_TOO_LARGE: 413,
  FILE_FAILED: 409,
  ATTACHMENT_GONE: 410,
  BAD_TOKEN: 503,
  NOT_FOUND: 404,
  UNKNOWN_SLOT: 404,
  UNKNOWN_SESSION: 404,
  UNKNOWN_PROFILE: 404,
  UNKNOWN_JOB: 404,
  UNKNOWN_SERVER: 404,
  UNKNOWN_TERMINAL: 404,
  METHOD_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  UNKNOWN_MODEL: 422,
  ENV_INVALID: 422,
  // Reference §1.2: bad config is a 400.
  CONFIG_INVALID: 400,
  CONFIG_KEY: 400,
  CONFIG_CHANGED: 409,
  NO_PROVIDER: 409,
  PROVIDER_SIGN_IN: 409,
  PROVIDER_FAILED: 502,
  PROVIDER_SIGN_IN_FAILED: 502,
  BUSY: 409,
  SUPERSEDED: 409,
  ACTION_RUNNING: 409,
  ALREADY_RUNNING: 409,
  SLOT_PARKED: 409,
  PROFILE_EXISTS: 409,
  SERVER_EXISTS: 409,
  PROFILE_RUNS: 409,
  FRAME_TOO_LARGE: 413,
  BAD_REQUEST: 422,
  INVALID_PARAMS: 422,
  BAD_SCHEDULE: 422,
  TOO_MANY_CONNECTIONS: 429,
  TOO_MANY_TERMINALS: 429,
  QUEUE_FULL: 429,
  TOO_MANY_REQUESTS: 429,
  DISK_FULL: 507,
};

/** As `problemOf` answers it when nothing else is known. */
export const statusOfCode = (code: ErrorCode): number => statusOf[code] ?? (errorTable[code].retry ? 503 : 500);

/** A request that breaks HTTP itself: a 400, where a wrong field is a 422. */
export class MalformedRequest extends Error {
  readonly statusCode = 400;
}

/** A request that a schema refuses; names every wrong field. */
export class InvalidRequest extends AgentError {
  readonly errors: { path: string; message: string }[];

  constructor(issues: z.core.$ZodIssue[]) {
    const errors = issues.map((issue) => ({
      path: [...issue.path.map(String), ...(issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])].join('.'),
      message: issue.message,
    }));
    const [first] = errors;
    super('BAD_REQUEST', first ? `${first.path || 'the request'}: ${first.message}` : 'the request is not valid');
    this.errors = errors;
  }
}

/** Parses what a stranger sent. Errors: InvalidRequest (422). */
export function parseRequest<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  throw new InvalidRequest(parsed.error.issues);
}

/** The answer for anything thrown. Defects keep their message in the log: it may hold what is nobody's business. */
export function problemOf(thrown: unknown): Problem {
  if (isAgentError(thrown)) {
    const status = statusOf[thrown.code] ?? (thrown.retry ? 503 : 500);
    return {
      ...problem(thrown.code, status, thrown.message),
      ...(thrown.fix === undefined ? {} : { fix: thrown.fix }),
      ...fieldErrors(thrown),
      ...(thrown instanceof GateRefusal
        ? { error: thrown.error, ...(thrown.loginUrl === null ? {} : { login_url: thrown.loginUrl }) }
        : {}),
      ...placeOf(thrown),
    };
  }
  // What fastify itself refuses: malformed JSON, a body over the limit, an unknown media type.
  const status = (thrown as { statusCode?: unknown } | null)?.statusCode;
  if (typeof status === 'number' && status >= 400 && status < 500) return problem('BAD_REQUEST', status, messageOf(thrown));
  return problem('INTERNAL', 500, 'the dashboard failed on this request; `agent logs gui` shows why');
}

/** Wrong fields, as a schema here or the worker that was asked found them. */
function fieldErrors(thrown: AgentError): Pick<Problem, 'errors'> {
  if (thrown instanceof InvalidRequest) return { errors: thrown.errors };
  const { errors } = thrown.facts ?? {};
  if (Array.isArray(errors)) return { errors: errors as Problem['errors'] & object };
  return thrown.field === undefined ? {} : { errors: [{ path: thrown.field, message: thrown.message }] };
}

function placeOf({ code, facts }: AgentError): Pick<Problem, 'at' | 'changed'> {
  if (code === 'CONFIG_CHANGED') return { changed: facts?.changed ?? null };
  const place = code === 'CONFIG_INVALID' ? (facts?.problem as { line: number; column: number; key: string } | undefined) : undefined;
  return place ? { at: { line: place.line, column: place.column, key: place.key } } : {};
}

export function problem(code: ErrorCode, status: number, detail: string): Problem {
  return { type: `urn:agent:error:${code}`, title: errorTable[code].means, status, detail, code };
}

/** Sends it; a retryable one says when to try again. */
export function sendProblem(reply: FastifyReply, thrown: unknown): FastifyReply {
  const body = problemOf(thrown);
  if (body.status === 503 || body.status === 429) {
    const afterMs = isAgentError(thrown) ? (thrown.retryAfterMs ?? 1_000) : 1_000;
    void reply.header('Retry-After', String(Math.max(1, Math.ceil(afterMs / 1_000))));
  }
  return reply.status(body.status).type('application/problem+json').send(JSON.stringify(body));
}

/** The whole answer as text, for a connection that fastify does not answer on. */
export function problemText(body: Problem): string {
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${body.status} ${STATUS_CODES[body.status] ?? 'Error'}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}
