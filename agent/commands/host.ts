/**
 * What slash commands work against. Each entry names a method of the host with what a command says and
 * reads of the answer; the host adds the session. A test gives a fake, the agent worker its own methods.
 */

import type { Principal } from '../authority/principal.ts';
import type { SkillBlueprint } from '../skills/blueprint.ts';

export const surfaces = ['api', 'batch', 'cli', 'desktop', 'gateway', 'other', 'scheduled_task', 'tui'] as const;
export type Surface = (typeof surfaces)[number];

export interface UsageFacts {
  input: number;
  output: number;
  reasoning: number;
  cache_read: number;
  model_calls: number;
  cost_usd: number | null;
}

export interface Queued {
  id: number;
  text: string;
}

export interface SessionFacts {
  id: string;
  source: string;
  title: string | null;
  last_active: string;
  message_count: number;
  preview: string;
  status: string;
}

export interface JobFacts {
  id: string;
  name: string;
  schedule: { display: string };
  state: string;
  next_run_at: string | null;
  last_status: string | null;
  deliver: string;
}

/** A blueprint of the cron worker. */
export interface BlueprintFacts {
  key: string;
  title: string;
  description: string;
  fields: FieldFacts[];
}

export interface FieldFacts {
  name: string;
  /** The question. */
  label: string;
  help: string | null;
  /** Null = has to be given, unless `optional`. */
  default: string | null;
  optional: boolean;
  options: { value: string; label: string }[];
}

type FilledBlueprint = { blueprint: string; values: Record<string, string> };

interface Call<P, R> {
  params: P;
  result: R;
}
type Nothing = Record<string, never>;
type JobCall = Call<{ job_id: string }, { job: JobFacts }>;
interface Category {
  label: string;
  bytes: number;
  tokens: number;
}

/** By the name of the method; `session_id` is the host's to add. */
export interface Calls {
  'prompt.submit': Call<{ text: string; busy?: 'queue' | 'interrupt' | 'steer' }, { status: string; message_id: number }>;
  'prompt.btw': Call<{ text: string }, { task_id: string }>;
  'prompt.background': Call<{ text: string }, { task_id: string; session_id: string }>;
  'session.interrupt': Call<Nothing, { status: string }>;
  'session.steer': Call<{ text: string }, { status: string; message_id: number }>;
  'session.queue': Call<
    { action: 'list' | 'add' | 'edit' | 'remove' | 'move' | 'clear'; index?: number; to?: number; text?: string },
    { queued: Queued[] }
  >;
  'session.list': Call<{ limit: number }, { sessions: SessionFacts[] }>;
  'session.title': Call<{ title?: string }, { title: string | null }>;
  'session.undo': Call<{ count: number }, { removed: number; text: string | null }>;
  'session.branch': Call<{ title?: string; count?: number }, { session_id: string; title: string | null; message_count: number }>;
  'session.history': Call<{ limit: number }, { messages: { role: string; content: string; tool_name: string | null }[] }>;
  'session.compress': Call<
    { keep?: number; focus?: string },
    { status: string; note: string; removed: number; before_tokens: number; after_tokens: number }
  >;
  'session.usage': Call<
    Nothing,
    {
      usage: UsageFacts;
      by_model: { provider: string; model: string; usage: UsageFacts }[];
      turns: number;
      compressions: number;
      context_used: number | null;
      context_max: number | null;
    }
  >;
  'session.context_breakdown': Call<
    Nothing,
    {
      categories: Category[];
      context_used: number;
      context_max: number | null;
      context_percent: number | null;
      context_source: string;
      model: string | null;
      context_files: { path: string; chars: number; est_tokens: number; status: string }[];
    }
  >;
  'analytics.usage': Call<
    { days: number },
    {
      daily: { day: string; turns: number; input_tokens: number; output_tokens: number }[];
      by_model: { provider: string; model: string; turns: number }[];
      totals: { turns: number; sessions: number; api_calls: number; tool_calls: number };
    }
  >;
  'config.get': Call<{ key: string }, { value: unknown }>;
  'config.set': Call<
    { key: string; value: string | boolean | number; scope?: 'session' | 'global' | 'once' },
    { value: unknown; scope: string; warning: string | null; info: { reasoning_effort: string | null } | null }
  >;
  'model.options': Call<
    { refresh?: boolean },
    {
      current: { provider: string | null; model: string | null; reasoning: string | null };
      providers: { name: string; usable: boolean; problem: string | null; models: { id: string }[] }[];
      aliases: Record<string, string>;
    }
  >;
  'tools.list': Call<
    Nothing,
    {
      platform: string;
      toolsets: {
        name: string;
        description: string;
        enabled: boolean;
        refused: string | null;
        tools: { name: string; unavailable?: string | undefined }[];
      }[];
    }
  >;
  'skills.list': Call<
    Nothing,
    {
      skills: {
        name: string;
        description: string;
        category: string;
        enabled: boolean;
        hidden_because: string | null;
        has_blueprint: boolean;
      }[];
      problems: { path: string; message: string }[];
    }
  >;
  'skills.view': Call<{ name: string; file?: string }, { content: string }>;
  'skills.toggle': Call<{ name: string; enabled: boolean }, { enabled: boolean }>;
  'memory.show': Call<
    Nothing,
    {
      stores: { target: string; text: string; chars: number; cap: number }[];
      staged: { id: string; kind: string; target: string; action: string; diff: string }[];
      write_approval: boolean;
    }
  >;
  'memory.review': Call<
    { decision: 'approve' | 'reject'; ids?: string[]; all?: boolean },
    { done: string[]; failed: { id: string; message: string }[]; staged: unknown[] }
  >;
  'approval.respond': Call<{ choice: 'once' | 'session' | 'always' | 'deny' }, { resolved: number }>;
  'reload.mcp': Call<
    Nothing,
    { servers: number; tools: number; added: string[]; removed: string[]; failed: { name: string; error: string }[] }
  >;
  'process.list': Call<Nothing, { processes: { process_id: string; command: string; state: string }[] }>;
  'cron.list': Call<Nothing, { jobs: JobFacts[] }>;
  'cron.create': Call<{ schedule: string; prompt: string; name: string; deliver: string }, { job: JobFacts }>;
  'cron.blueprints': Call<Nothing, { blueprints: BlueprintFacts[] }>;
  'cron.blueprints.preview': Call<FilledBlueprint, { name: string }>;
  'cron.blueprints.instantiate': Call<FilledBlueprint, { job: JobFacts }>;
  'cron.pause': JobCall;
  'cron.resume': JobCall;
  'cron.remove': JobCall;
  'cron.run': Call<{ job_id: string }, { execution_id: string }>;
}

export interface ServiceFacts {
  version: string;
  profile: string;
  home: string;
  model: string | null;
  provider: string | null;
  scripted: boolean;
  cwd: string;
  tools: number;
}

export interface CommandHost {
  readonly surface: Surface;
  /** Whom a command acts for. */
  readonly principal: Principal;
  readonly session: { id: string; title: string | null; /** Of a chat: `irc`, `webhook`, … */ platform: string | null };
  /** Who typed it, where the surface knows. */
  readonly user: string | null;
  /** Where the result of something that runs later goes: `irc:#room`; null = this surface itself. */
  readonly origin: string | null;
  /** A turn runs in the session now. */
  busy(): boolean;
  /** Errors: of the method, and METHOD_NOT_FOUND where this build does not serve it. */
  call<N extends keyof Calls>(name: N, params: Calls[N]['params']): Promise<Calls[N]['result']>;
  /** A new conversation that takes the place of this one. */
  startNew(title: string | undefined): Promise<{ sessionId: string }>;
  /** Takes the last exchange back and asks its prompt again, with the files that went with it, both or neither; null = there is none. */
  askAgain(): Promise<{ text: string; messageId: number } | null>;
  /** By id, exact title or `latest`; undefined = none. */
  findSession(name: string): { id: string; title: string | null } | undefined;
  /** Answer of a side question, for surfaces that hear no events; null = it comes as an event. */
  sideAnswer(taskId: string): Promise<string> | null;
  facts(): ServiceFacts;
  /** Suggested by the skills that this session is offered. */
  skillBlueprints(): SkillBlueprint[];
  /** Reads `.env` afresh; how many names it has. */
  reloadEnv(): number;
  /** `personalities` and `quick_commands` of config.yaml. */
  personalities(): Record<string, string>;
  quickCommands(): Record<string, { type: 'exec' | 'alias'; command?: string | undefined; target?: string | undefined }>;
}
