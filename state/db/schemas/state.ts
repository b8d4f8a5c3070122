/** Tables of state.db. The agent worker is its only writer; times are milliseconds since the epoch. */
import type { Schema } from '../open.ts';

/** Counts as a message of a list: said by somebody, in the transcript, not taken back. */
const counted = (row: 'new' | 'old') => `(${row}.active = 1 AND ${row}.position IS NOT NULL AND ${row}.role IN ('user', 'assistant'))`;

const ofSession = 'TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE';

export const stateSchema: Schema = {
  // Every token of a stream is a row; a prompt is flushed when it is acknowledged.
  sync: 'explicit',
  /** 28 added sessions.tool_names (interface spec, Versioning). */
  version: 28,
  recovery: 'agent recover state',
  autoVacuum: true,
  tables: {
    state_meta: { columns: { key: 'TEXT PRIMARY KEY', value: 'TEXT NOT NULL' } },
    sessions: {
      columns: {
        id: 'TEXT PRIMARY KEY',
        /** Chat platform, or the surface it was made on. */
        source: "TEXT NOT NULL DEFAULT 'other'",
        platform: 'TEXT',
        session_key: 'TEXT',
        title: 'TEXT',
        /** Chosen for this session; null = as configured. */
        model: 'TEXT',
        provider: 'TEXT',
        /** Chosen for this session with `/reasoning` and `/fast`; null = as configured. */
        reasoning_effort: 'TEXT',
        service_tier: 'TEXT',
        cwd: "TEXT NOT NULL DEFAULT ''",
        /** Branched from, or spawned by. */
        parent_session_id: 'TEXT',
        archived: 'INTEGER NOT NULL DEFAULT 0',
        /** Made by cron, delegation or `/bg`: left out of lists. */
        hidden: 'INTEGER NOT NULL DEFAULT 0',
        /** It has got a prompt: others are left out of lists and forgotten after a day. */
        used: 'INTEGER NOT NULL DEFAULT 0',
        safe_mode: 'INTEGER NOT NULL DEFAULT 0',
        /** JSON: whom its turns act for, where its surface does not say (jobs, sub-agents, background work). */
        principal: 'TEXT',
        /** Tools of these MCP servers and toolsets switched on or off for this session: JSON `{name: boolean}`. */
        toolset_choices: 'TEXT',
        /** The todo list: JSON list, and the number of its last write. */
        todos: 'TEXT',
        todo_revision: 'INTEGER NOT NULL DEFAULT 0',
        compressions: 'INTEGER NOT NULL DEFAULT 0',
        /** All turns and side calls so far: JSON UsageTotals. */
        usage: 'TEXT',
        /** Tokens of the last prompt; after a compression an estimate of the next one. */
        context_used: 'INTEGER',
        rewind_count: 'INTEGER NOT NULL DEFAULT 0',
        /** Fixed at the first turn, so that the beginning of every prompt stays the same. */
        system_prompt: 'TEXT',
        /** JSON: where the parts of it stand, and the files they come from; for `/context`. */
        prompt_layout: 'TEXT',
        /** JSON list: the order of tool names, pinned at the first turn. */
        tool_names: 'TEXT',
        started_at: 'INTEGER NOT NULL DEFAULT 0',
        last_active: 'INTEGER NOT NULL DEFAULT 0',
        /** Highest event number that is no longer kept. */
        pruned_seq: 'INTEGER NOT NULL DEFAULT 0',
      },
      indices: {
        sessions_by_activity: 'sessions (last_active DESC)',
        sessions_listed: 'sessions (hidden, archived, last_active DESC) WHERE used = 1',
        sessions_by_title: 'sessions (title) WHERE title IS NOT NULL',
        sessions_by_parent: 'sessions (parent_session_id) WHERE parent_session_id IS NOT NULL',
      },
    },
    /** Kept by the triggers below, so that a list never counts rows. */
    session_counts: {
      columns: {
        session_id: 'TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE',
        stored: 'INTEGER NOT NULL DEFAULT 0',
        messages: 'INTEGER NOT NULL DEFAULT 0',
      },
    },
    /** Key of a chat → its current session. */
    conversations: { columns: { session_key: 'TEXT PRIMARY KEY', session_id: ofSession } },
    messages: {
      columns: {
        id: 'INTEGER PRIMARY KEY AUTOINCREMENT',
        session_id: ofSession,
        turn_id: 'INTEGER',
        /** Place in the transcript; null while a prompt waits in the queue. */
        position: 'INTEGER',
        role: 'TEXT NOT NULL',
        content: "TEXT NOT NULL DEFAULT ''",
        tool_calls: 'TEXT',
        tool_call_id: 'TEXT',
        tool_name: 'TEXT',
        is_error: 'INTEGER NOT NULL DEFAULT 0',
        reasoning: 'TEXT',
        /** Null on an assistant row: it is being streamed. */
        finish_reason: 'TEXT',
        timestamp: 'INTEGER NOT NULL DEFAULT 0',
        idempotency_key: 'TEXT',
        surface: 'TEXT',
        /** Who wrote it, in chats of several people. */
        author: 'TEXT',
        /** 0 = replaced by a later run of the same prompt; kept, not shown. */
        active: 'INTEGER NOT NULL DEFAULT 1',
        /** 1 = a summary stands for it: shown, not sent to the model. */
        compacted: 'INTEGER NOT NULL DEFAULT 0',
        /** `plain`, `summary`, `steer`. */
        kind: "TEXT NOT NULL DEFAULT 'plain'",
        /** JSON list of files that go with a prompt. */
        attachments: 'TEXT',
        /** Order in the queue where it differs from the order of arrival. */
        queue_rank: 'REAL',
        /** Nobody can answer a question of this prompt's turn. */
        unattended: 'INTEGER NOT NULL DEFAULT 0',
        /** Deltas up to this event number are already in `content` of a streaming row. */
        saved_seq: 'INTEGER NOT NULL DEFAULT 0',
      },
      constraints: ['UNIQUE (session_id, idempotency_key)'],
      indices: {
        messages_in_order: 'messages (session_id, position)',
        messages_waiting: 'messages (session_id, id) WHERE position IS NULL',
        messages_of_turn: 'messages (turn_id)',
        messages_with_files: 'messages (session_id) WHERE attachments IS NOT NULL',
      },
    },
    turns: {
      columns: {
        id: 'INTEGER PRIMARY KEY AUTOINCREMENT',
        session_id: ofSession,
        /** The prompt. */
        message_id: 'INTEGER NOT NULL',
        /** `running`, `complete`, `interrupted`, `error`. */
        status: 'TEXT NOT NULL',
        /** Why it was interrupted: `user`, `drain`, `crash`, `store`. */
        cause: 'TEXT',
        assistant_id: 'INTEGER',
        text: "TEXT NOT NULL DEFAULT ''",
        error: 'TEXT',
        usage: 'TEXT',
        /** US dollars; null = no price is known. */
        cost_usd: 'REAL',
        /** Set before the first tool starts: the turn must not be repeated by itself. */
        tools_ran: 'INTEGER NOT NULL DEFAULT 0',
        model: 'TEXT',
        provider: 'TEXT',
        surface: 'TEXT',
        model_calls: 'INTEGER NOT NULL DEFAULT 0',
        tool_calls: 'INTEGER NOT NULL DEFAULT 0',
        started_at: 'INTEGER NOT NULL',
        ended_at: 'INTEGER',
      },
      indices: {
        turns_of_message: 'turns (message_id)',
        turns_running: "turns (status) WHERE status = 'running'",
        turns_of_session: 'turns (session_id)',
        turns_of_answer: 'turns (assistant_id)',
      },
      fastIndices: {
        // All that analytics read, so that the texts are not: written once a turn, when it ends (docs/BENCHMARKS.md).
        turns_by_time: 'turns (started_at, session_id, provider, model, usage, cost_usd, model_calls, tool_calls) WHERE model_calls > 0',
      },
    },
    /** Model calls beside the turns (compression, titles, side questions), for the accounts. */
    auxiliary_calls: {
      columns: {
        id: 'INTEGER PRIMARY KEY',
        session_id: ofSession,
        task: 'TEXT NOT NULL',
        provider: 'TEXT NOT NULL',
        model: 'TEXT NOT NULL',
        model_calls: 'INTEGER NOT NULL DEFAULT 0',
        usage: 'TEXT',
        at: 'INTEGER NOT NULL',
      },
      indices: { auxiliary_of_session: 'auxiliary_calls (session_id)' },
      fastIndices: { auxiliary_by_time: 'auxiliary_calls (at)' },
    },
    /** Beside a conversation: side questions and work in the background, from the moment they are accepted. */
    asides: {
      columns: {
        id: 'INTEGER PRIMARY KEY AUTOINCREMENT',
        session_id: ofSession,
        /** Of background work the session where it is done. */
        task_id: 'TEXT NOT NULL UNIQUE',
        /** `btw`, `background`. */
        kind: 'TEXT NOT NULL',
        question: 'TEXT NOT NULL',
        text: "TEXT NOT NULL DEFAULT ''",
        error: 'TEXT',
        /** `running`, `complete`, `interrupted`, `error`. */
        status: "TEXT NOT NULL DEFAULT 'running'",
        /** The end of the transcript when it was asked, later when it was answered: it is shown below that. */
        after_position: 'INTEGER NOT NULL',
        at: 'INTEGER NOT NULL',
      },
      indices: {
        asides_of_session: 'asides (session_id, after_position)',
        asides_running: "asides (status) WHERE status = 'running'",
      },
    },
    /** Commands of tools in the background, until the word of their end has its place in the transcript. */
    background_commands: {
      columns: {
        process_id: 'TEXT PRIMARY KEY',
        session_id: ofSession,
        command: 'TEXT NOT NULL',
        /** How it ended; null while it runs. */
        note: 'TEXT',
      },
      indices: { background_commands_of_session: 'background_commands (session_id)' },
    },
    /** Commands that were allowed for good (`always`), each exactly as it was; `scope`: the chat that allowed it, '' = the owner. */
    exact_rules: {
      columns: {
        id: 'TEXT PRIMARY KEY',
        scope: 'TEXT NOT NULL',
        tool_name: 'TEXT NOT NULL',
        rule: 'TEXT NOT NULL',
        created_at: 'INTEGER NOT NULL',
      },
      constraints: ['UNIQUE (scope, tool_name, rule)'],
    },
    /** Shapes of commands that earlier releases allowed for good; emptied at start. */
    approval_rules: {
      columns: { id: 'TEXT PRIMARY KEY', tool_name: 'TEXT NOT NULL', rule: 'TEXT NOT NULL', created_at: 'INTEGER NOT NULL' },
      constraints: ['UNIQUE (tool_name, rule)'],
    },
    /** Writes of memory and skills that wait for their owner. */
    staged_writes: {
      columns: {
        id: 'TEXT PRIMARY KEY',
        kind: 'TEXT NOT NULL',
        target: 'TEXT NOT NULL',
        action: 'TEXT NOT NULL',
        /** JSON: what would be written. */
        payload: 'TEXT NOT NULL',
        session_id: 'TEXT',
        created_at: 'INTEGER NOT NULL',
      },
    },
    /** Idempotency keys of `turn.run`. */
    runs: { columns: { idempotency_key: 'TEXT PRIMARY KEY', session_id: ofSession, message_id: 'INTEGER NOT NULL' } },
    /** Answers of `conversation.command` by their idempotency keys. */
    command_answers: {
      columns: { idempotency_key: 'TEXT PRIMARY KEY', session_key: 'TEXT NOT NULL', line: 'TEXT NOT NULL', answer: 'TEXT NOT NULL' },
    },
    session_events: {
      columns: {
        session_id: ofSession,
        seq: 'INTEGER NOT NULL',
        turn_id: 'INTEGER',
        type: 'TEXT NOT NULL',
        payload: 'TEXT NOT NULL',
        at: 'INTEGER NOT NULL',
      },
      // An insert for each streamed token: 17 µs of CPU, 29 with a table and an index of its own beside the key (measured).
      constraints: ['PRIMARY KEY (session_id, seq)'],
      withoutRowid: true,
    },
    /** Process groups of tools that run now: killed at the next start when the worker died over them. */
    tool_processes: { columns: { pgid: 'INTEGER PRIMARY KEY', start_time: 'INTEGER NOT NULL', boot_id: 'TEXT NOT NULL' } },
  },
  triggers: {
    message_added: `AFTER INSERT ON messages BEGIN
      INSERT INTO session_counts (session_id, stored, messages) VALUES (new.session_id, 1, ${counted('new')})
        ON CONFLICT (session_id) DO UPDATE SET stored = stored + 1, messages = messages + excluded.messages;
      UPDATE sessions SET used = 1 WHERE id = new.session_id AND used = 0 AND new.role = 'user';
    END`,
    message_shown: `AFTER UPDATE OF position, active ON messages WHEN ${counted('new')} <> ${counted('old')} BEGIN
      UPDATE session_counts SET messages = messages + ${counted('new')} - ${counted('old')} WHERE session_id = new.session_id;
    END`,
    message_removed: `AFTER DELETE ON messages BEGIN
      UPDATE session_counts SET stored = stored - 1, messages = messages - ${counted('old')} WHERE session_id = old.session_id;
    END`,
  },
};
