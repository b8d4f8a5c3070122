/**
 * How messages travel to a server and back, whatever the transport, and what went wrong when they did not. A wire
 * knows of requests and answers only as far as its transport ties them together.
 */
import { AgentError, errnoOf, isAgentError, messageOf } from '../../base/errors.ts';
import { tlsFix } from './tls.ts';

export interface Message {
  jsonrpc: '2.0';
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: unknown;
}

export interface WireEvents {
  /** Anything that was valid JSON. */
  onMessage(message: unknown): void;
  /** The connection may be broken; only a ping can tell. */
  onTrouble(): void;
  onClosed(): void;
}

export interface Wire {
  /**
   * For a request over HTTP it resolves when its answer has been read; the signal ends that. Errors: MCP_FAILED with
   * `facts.kind`, the signal's reason.
   */
  send(message: Message, signal: AbortSignal): Promise<void>;
  /** The handshake is complete. */
  opened(version: string): void;
  close(): Promise<void>;
}

/** The server answered with an error, the connection broke, or the request provably had no effect. */
export type FailureKind = 'answer' | 'broken' | 'unreached';

interface FailureDetail {
  cause?: unknown;
  fix?: string | undefined;
  retryAfterMs?: number | undefined;
  /** HTTP status. */
  status?: number;
  /** Trying again without a change cannot help. */
  permanent?: boolean;
  rpc_code?: number;
}

export function failed(kind: FailureKind, message: string, { cause, fix, retryAfterMs, ...facts }: FailureDetail = {}): AgentError {
  return new AgentError('MCP_FAILED', message, { cause, fix, retryAfterMs, facts: { kind, ...facts } });
}

/** An error below HTTP: refused, unreachable, cut, TLS. */
export function networkFailure(thrown: unknown): AgentError {
  if (isAgentError(thrown)) {
    if (thrown.code === 'MCP_FAILED') return thrown;
    const isRefusal = thrown.code === 'REDIRECT_REFUSED';
    return failed(isRefusal ? 'answer' : 'broken', thrown.message, { cause: thrown, fix: thrown.fix, permanent: isRefusal });
  }
  const cause = (thrown as { cause?: unknown } | null)?.cause;
  const errno = errnoOf(thrown) ?? errnoOf(cause);
  const kind: FailureKind = errno === 'ECONNREFUSED' || errno === 'ENOTFOUND' ? 'unreached' : 'broken';
  const message = messageOf(thrown);
  return failed(kind, errno ? `${message} (${errno})` : message, { cause: thrown, fix: tlsFix(thrown) });
}
