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
}

export const stores: Record<StoreName, StoreDeclaration> = {
  state: {
    slot: 'agent',
    schema: stateSchema,
    path: (_home, { stateDb }) => stateDb,
    lock: 'agent.lock',
    // Numbers of events of the old file mean nothing any more, and counts are made anew.
    finish: ["DELETE FROM state_meta WHERE key IN ('epoch', 'counts')"],
  },
  gateway: { slot: 'gateway', schema: gatewaySchema, path: (_home, { gatewayDb }) => gatewayDb, lock: 'gateway.lock', finish: [] },
  cron: { slot: 'cron', schema: cronSchema, path: (_home, { cronDb }) => cronDb, finish: [] },
  mcp: { slot: 'mcp', schema: mcpSchema, path: ({ mcpDb }) => mcpDb, finish: [] },
};
