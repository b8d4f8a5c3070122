/**
 * `mcp.db`: the audit of tool calls (who was asked, how long, how it ended; never arguments or results)
 * and the server processes that are alive, so that a broker that dies leaves a list to clean up by.
 */
import type { Logger } from '../../base/log.ts';
import { isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { openStore, type Db } from '../../state/db/open.ts';
import { mcpSchema } from '../../state/db/schemas/mcp.ts';
import type { Problem } from '../worker.ts';
import { identityOf, type ProcessIdentity } from '../../state/processIdentity.ts';

export interface CallRecord {
  profile: string;
  server: string;
  tool: string;
  ms: number;
  outcome: string;
}

export interface ChildRecord {
  /** Random; stands in the environment of the child and of everything it starts. */
  mark: string;
  server: string;
  process: ProcessIdentity;
  /** The broker that started it. */
  owner: ProcessIdentity;
}

export interface McpStore extends Disposable {
  /** Never throws: an audit that cannot be written must not fail the call. */
  recordCall(record: CallRecord): void;
  addChild(mark: string, server: string, pid: number): void;
  removeChild(mark: string): void;
  children(): ChildRecord[];
}

export interface OpenedMcpStore extends McpStore {
  db: Db;
  /** Null = calls are recorded in the file. */
  problem: Problem | null;
}

function openOrMemory(path: string): { db: Db; problem: Problem | null } {
  try {
    return { db: openStore(path, mcpSchema), problem: null };
  } catch (thrown) {
    const fix = isAgentError(thrown) ? thrown.fix : undefined;
    const problem = {
      what: `MCP tool calls are not recorded: ${messageOf(thrown)}`,
      fix: fix ?? 'agent restart mcp, once the cause is gone',
    };
    return { db: openStore(':memory:', mcpSchema), problem };
  }
}

/** Rows are pruned this often, not at every insert. */
const PRUNE_EVERY = 500;

/** A store that cannot be opened costs the audit, never the tools: records are kept in memory then, and `problem` says so. */
export function openMcpStore(path: string, log: Logger): OpenedMcpStore {
  const { db, problem } = openOrMemory(path);
  const insertCall = db.prepare('INSERT INTO calls (at, profile, server, tool, ms, outcome) VALUES (?, ?, ?, ?, ?, ?)');
  const prune = db.prepare('DELETE FROM calls WHERE id <= (SELECT max(id) FROM calls) - ?');
  const insertChild = db.prepare(`INSERT INTO children (mark, server, pid, start_time, boot_id, owner_pid, owner_start_time)
     VALUES (@mark, @server, @pid, @start_time, @boot_id, @owner_pid, @owner_start_time)`);
  const deleteChild = db.prepare('DELETE FROM children WHERE mark = ?');
  const allChildren = db.prepare<[], ChildRow>('SELECT * FROM children');
  let inserted = 0;
  prune.run(limits.mcp.auditRowsMax);
  return {
    db,
    problem,
    recordCall({ profile, server, tool, ms, outcome }) {
      try {
        insertCall.run(Date.now(), profile, server, tool, Math.round(ms), outcome);
        if (++inserted % PRUNE_EVERY === 0) prune.run(limits.mcp.auditRowsMax);
      } catch (thrown) {
        log.warn(`the call of ${server} is missing in the audit: ${messageOf(thrown)}`);
      }
    },
    addChild(mark, server, pid) {
      const owner = identityOf(process.pid);
      try {
        insertChild.run({ mark, server, ...identityOf(pid), owner_pid: owner.pid, owner_start_time: owner.start_time });
      } catch (thrown) {
        log.warn(`${server} (process ${pid}) is not on record: after a crash of the broker it may stay behind: ${messageOf(thrown)}`);
      }
    },
    removeChild(mark) {
      try {
        deleteChild.run(mark);
      } catch (thrown) {
        log.warn(`a record of a server process could not be removed: ${messageOf(thrown)}`);
      }
    },
    children: () => allChildren.all().map(childOf),
    [Symbol.dispose]: () => void db.close(),
  };
}

interface ChildRow {
  mark: string;
  server: string;
  pid: number;
  start_time: number;
  boot_id: string;
  owner_pid: number;
  owner_start_time: number;
}

const childOf = ({ mark, server, pid, start_time, boot_id, owner_pid, owner_start_time }: ChildRow): ChildRecord => ({
  mark,
  server,
  process: { pid, start_time, boot_id },
  owner: { pid: owner_pid, start_time: owner_start_time, boot_id },
});
