/** Tables of mcp.db. The MCP broker is its only writer. */
import type { Schema } from '../open.ts';

export const mcpSchema: Schema = {
  recovery: 'agent recover mcp',
  // Nothing in it is acknowledged.
  sync: 'explicit',
  version: 1,
  tables: {
    calls: {
      columns: {
        id: 'INTEGER PRIMARY KEY',
        /** Epoch milliseconds. */
        at: 'INTEGER NOT NULL',
        profile: 'TEXT NOT NULL',
        server: 'TEXT NOT NULL',
        tool: 'TEXT NOT NULL',
        ms: 'INTEGER NOT NULL',
        /** `ok`, `tool_error`, or an error code. */
        outcome: 'TEXT NOT NULL',
      },
      indices: { calls_by_server: 'calls (server, at)' },
    },
    children: {
      columns: {
        mark: 'TEXT PRIMARY KEY',
        server: 'TEXT NOT NULL',
        pid: 'INTEGER NOT NULL',
        start_time: 'REAL NOT NULL',
        boot_id: 'TEXT NOT NULL',
        owner_pid: 'INTEGER NOT NULL',
        owner_start_time: 'REAL NOT NULL',
      },
    },
  },
};
