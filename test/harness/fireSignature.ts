/** The headers by which an outside scheduler proves a request to `POST /api/cron/fire`. */
import { createHmac } from 'node:crypto';

export interface FireSigning {
  secret: string;
  /** Epoch seconds; now when left out. */
  atSeconds?: number;
}

/** Signature over `<timestamp>.<body>`. */
export function fireHeaders(body: string, { secret, atSeconds = Math.floor(Date.now() / 1_000) }: FireSigning): Record<string, string> {
  const signature = createHmac('sha256', secret).update(`${atSeconds}.${body}`).digest('hex');
  return { 'X-Agent-Signature': `sha256=${signature}`, 'X-Agent-Timestamp': String(atSeconds) };
}
