/** A session that is in no store: what one would be if it began now. */
import type { WorkerContext } from '../../worker.ts';
import type { SessionRecord } from '../store.ts';

/** Of a chat there is always an origin. */
export function blankSession({ profile }: WorkerContext, cwd: string, platform: string | null = null): SessionRecord {
  return {
    id: 'ses_none',
    source: platform ?? 'cli',
    platform,
    session_key: platform === null ? null : `agent:${profile}:${platform}:chat:any`,
    title: null,
    model: null,
    provider: null,
    reasoning_effort: null,
    service_tier: null,
    cwd,
    parent_session_id: null,
    archived: 0,
    hidden: 0,
    safe_mode: 0,
    principal: null,
    toolset_choices: null,
    todos: null,
    todo_revision: 0,
    compressions: 0,
    rewind_count: 0,
    usage: null,
    context_used: null,
    system_prompt: null,
    prompt_layout: null,
    tool_names: null,
    started_at: 0,
    last_active: 0,
  };
}
