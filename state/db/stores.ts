/** The stores of a home, as data: which worker writes each, and what recovery needs to know of it. */
import type { Home, ProfilePaths } from '../home.ts';
import type { Schema } from './open.ts';
import { cronSchema } from './schemas/cron.ts';
import { gatewaySchema } from './schemas/gateway.ts';
import { mcpSchema } from './schemas/mcp.ts';
import { stateSchema } from './schemas/state.ts';

export const storeNames = ['state', 'gateway', 'cron', 'mcp'] as const;
export type StoreName = (typeof storeNames)[number];

export interface StoreDeclaration {
  /** The only writer; one per profile where `perProfile` says so. */
  slot: string;
  schema: Schema;
  path(home: Home, paths: ProfilePaths): string;
  /** The lock file its writer holds, where it holds one. */
  lock?: string;
  /** Run on a recovered copy. */
  finish: readonly string[];
  /** Run on a daily copy that takes the place of the store: what was open then may be done by now, and is not done again. */
  afterRestore: readonly string[];
}

export const stores: Record<StoreName, StoreDeclaration> = {
  state: {
    slot: 'agent',
    schema: stateSchema,
    path: (_home, { stateDb }) => stateDb,
    lock: 'agent.lock',
    // Numbers of events of the old file mean nothing any more, and counts are made anew.
    finish: ["DELETE FROM state_meta WHERE key IN ('epoch', 'counts')"],
    afterRestore: [],
  },
  gateway: {
    slot: 'gateway',
    schema: gatewaySchema,
    path: (_home, { gatewayDb }) => gatewayDb,
    lock: 'gateway.lock',
    finish: [],
    // `agent gateway undelivered` lists them; a person decides.
    afterRestore: ['inbox', 'outbox'].map(
      (table) =>
        `UPDATE ${table} SET state = 'failed', closed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER), error = 'open in a daily copy that was restored; it may be done' WHERE closed_at IS NULL`,
    ),
  },
  cron: {
    slot: 'cron',
    schema: cronSchema,
    path: (_home, { cronDb }) => cronDb,
    finish: [],
    afterRestore: [
      "UPDATE executions SET status = 'unknown', error = 'open in a daily copy that was restored' WHERE status IN ('claimed', 'running')",
    ],
  },
  mcp: { slot: 'mcp', schema: mcpSchema, path: ({ mcpDb }) => mcpDb, finish: [], afterRestore: [] },
};
