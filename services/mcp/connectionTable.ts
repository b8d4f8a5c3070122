/**
 * The life of one connection as a table: what happened → what is next and what to do. Pure; the runner
 * is `connection.ts`.
 */
import { limits } from '../../base/limits.ts';
import { machine, type Step, type Table } from '../../base/machine.ts';

export type ConnectionState =
  | { phase: 'idle' }
  /** `tries` = failed attempts of this series so far. */
  | { phase: 'connecting'; tries: number }
  | { phase: 'connected'; tries: number; sinceMs: number }
  | { phase: 'retrying'; tries: number }
  | { phase: 'failed' }
  | { phase: 'stopped' };

export type ConnectionEvent =
  /** Someone needs it now. */
  | { type: 'use' }
  | { type: 'opened'; atMs: number }
  /** `permanent`: trying again without a change cannot help. */
  | { type: 'refused'; permanent: boolean }
  | { type: 'lost'; atMs: number }
  /** The pause between two tries is over. */
  | { type: 'due' }
  | { type: 'stop' };

export type ConnectionEffect = { do: 'open' } | { do: 'close' } | { do: 'wait'; attempt: number } | { do: 'stopWaiting' };

type Next = Step<ConnectionState, ConnectionEffect>;

const to = (state: ConnectionState, ...effects: ConnectionEffect[]): Next => ({ state, effects });
const open: ConnectionEffect = { do: 'open' };
const close: ConnectionEffect = { do: 'close' };

/** Another try after a pause, or enough of it. */
function retry(tries: number, ...first: ConnectionEffect[]): Next {
  if (tries > limits.mcp.reconnectTriesMax) return to({ phase: 'failed' }, ...first);
  return to({ phase: 'retrying', tries }, ...first, { do: 'wait', attempt: tries - 1 });
}

const table: Table<ConnectionState, ConnectionEvent, ConnectionEffect> = {
  idle: {
    use: () => to({ phase: 'connecting', tries: 0 }, open),
    stop: () => to({ phase: 'stopped' }),
  },
  connecting: {
    use: (state) => to(state),
    opened: ({ tries }, { atMs }) => to({ phase: 'connected', tries, sinceMs: atMs }),
    refused: ({ tries }, { permanent }) => (permanent ? to({ phase: 'failed' }) : retry(tries + 1)),
    stop: () => to({ phase: 'stopped' }, close),
  },
  connected: {
    use: (state) => to(state),
    // One that keeps dying soon after the handshake must not be restarted for ever.
    lost: ({ tries, sinceMs }, { atMs }) => retry(atMs - sinceMs >= limits.mcp.healthyMs ? 1 : tries + 1, close),
    stop: () => to({ phase: 'stopped' }, close),
  },
  retrying: {
    due: ({ tries }) => to({ phase: 'connecting', tries }, open),
    use: ({ tries }) => to({ phase: 'connecting', tries }, { do: 'stopWaiting' }, open),
    stop: () => to({ phase: 'stopped' }, { do: 'stopWaiting' }),
  },
  failed: {
    // One try for each use: the caller waits for it, nothing goes on behind his back.
    use: () => to({ phase: 'connecting', tries: limits.mcp.reconnectTriesMax }, open),
    stop: () => to({ phase: 'stopped' }),
  },
  stopped: {
    stop: (state) => to(state),
  },
};

export const nextConnection = machine('mcp connection', table);
