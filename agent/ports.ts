/**
 * What the turn loop works against. The engine owns no file, socket or process: the host gives it a
 * model, tools, a place for the transcript and a sink for events, and a test gives it fakes.
 */

// --- model ---

export interface ToolCall {
  /** Unique in the conversation. */
  id: string;
  name: string;
  /** As the model wrote it: an object, or the raw text when that was no JSON. */
  args: unknown;
  /** The output ended within its arguments: it is answered with an error and never run. */
  cut?: boolean;
}

/** A file that goes with a prompt. `read` gives the bytes of an image. */
export interface PromptFile {
  kind: 'image' | 'file';
  name: string;
  mediaType: string;
  path: string;
}

export type ModelMessage =
  | { role: 'user'; content: string; files?: readonly PromptFile[] | undefined }
  /** Stands for earlier messages that were compressed; told apart from what anybody said. */
  | { role: 'summary'; content: string }
  | { role: 'assistant'; content: string; toolCalls: ToolCall[] }
  | {
      role: 'tool';
      toolCallId: string;
      toolName: string;
      content: string;
      isError: boolean;
      files?: readonly PromptFile[] | undefined;
    };

/** A tool as the model is told of it. */
export interface ToolSpec {
  name: string;
  description: string;
  /** JSON Schema (2020-12) of the arguments. */
  parameters: Record<string, unknown>;
}

/** Tokens of one or more model calls. `input` includes what was read from the provider's cache. */
export interface Usage {
  input: number;
  output: number;
  reasoning?: number | undefined;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
  /** US dollars; undefined = no price is known. */
  costUsd?: number | undefined;
}

/** `paused`: the provider wants to be asked again and will continue the same answer. */
export type StopReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'paused' | 'other';

export type ModelChunk =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** The model has begun to write the arguments of a call. */
  | { type: 'toolStart'; name: string }
  | { type: 'toolCall'; call: ToolCall }
  /** The provider is asked again; nothing had been received. */
  | { type: 'retry'; attempt: number; waitMs: number; reason: string }
  /** Another key, provider or model of the chain takes over; nothing had been received. */
  | { type: 'fallback'; provider: string; model: string; reason: string }
  /** Always the last. */
  | { type: 'finish'; reason: StopReason; usage: Usage | null };

export interface ModelRequest {
  system: string;
  messages: readonly ModelMessage[];
  tools: readonly ToolSpec[];
  signal: AbortSignal;
  reasoningEffort?: string | undefined;
  /** Asks for the provider's fast tier. */
  fast?: boolean | undefined;
  /** Stable name of the conversation, for providers that route by it to their cache. */
  cacheKey?: string | undefined;
  /** Called once when the request of the first try leaves, for measurements. */
  onSent?: (() => void) | undefined;
}

/** Errors of a stream: PROVIDER_FAILED before anything was received, PROVIDER_CUT after; the signal's reason when it aborts. */
export interface Model {
  provider: string;
  id: string;
  /** The rehearsal model: no intelligence, its commands are the user's own words. */
  scripted: boolean;
  /** Tokens of its window; null = unknown. */
  contextWindow: number | null;
  vision: boolean;
  /** The level it would be sent for one asked for: clamped to what it has. */
  effortFor(level: string | undefined): string | undefined;
  stream(request: ModelRequest): AsyncIterable<ModelChunk>;
}

// --- tools ---

export interface ToolResult {
  /** What the model reads. */
  text: string;
  /** The same as data, for surfaces. */
  data?: unknown;
  /** Images that it came with, as copies of ours. */
  files?: readonly (PromptFile & { size: number })[] | undefined;
  isError: boolean;
}

export interface ToolRun {
  callId: string;
  signal: AbortSignal;
  /** Shows a line while the tool works; never stored in the transcript. */
  progress(preview: string): void;
  /** Waits for a person: this time is not counted by the deadline guard. */
  untimed?<T>(work: Promise<T>): Promise<T>;
}

/** What is dangerous about a call, found on its parsed arguments; nobody decides on a substring. */
export interface Danger {
  /** What would run, as the owner reads it. Redacted before it leaves. */
  command: string;
  /** One sentence each. */
  reasons: readonly string[];
  /** Never allowed, whatever the mode: `reasons` say why. */
  blocked?: boolean;
  /** It would run without the sandbox that the settings demand: neither mode `off` nor the settings for automation let it pass. */
  unconfined?: boolean;
  /** Exactly what `session` and `always` would allow from then on; undefined = only this once. */
  rule?: string;
  /** It may be allowed for good: nothing of it deletes, takes more rights, reads secrets or runs what no one has read. */
  lasting?: boolean;
}

/** Who decides on dangerous calls, and who answers questions. Both wait for a person, within limits. */
export interface Owner {
  /** `undefined` = go ahead; otherwise the result that the model reads instead. */
  permit(call: ToolCall, danger: Danger, run: ToolRun): Promise<ToolResult | undefined>;
  /** By `qid`; null = not answered; undefined = declined, or nobody can be asked here. */
  clarify(questions: readonly Question[], run: ToolRun): Promise<Record<string, string | null> | undefined>;
}

export interface Question {
  qid: string;
  question: string;
  choices?: readonly string[] | undefined;
  multiSelect?: boolean | undefined;
}

/** Never throws for a bad call: an unknown name, a refusal or wrong arguments come back as an error result. */
export interface Tools {
  specs: readonly ToolSpec[];
  /** False for the tools that the deadline guard does not apply to. */
  guarded(name: string): boolean;
  /** True for tools that change nothing: their calls may run beside others of the same answer. */
  readsOnly(name: string): boolean;
  run(call: ToolCall, run: ToolRun): Promise<ToolResult>;
}

// --- transcript and events ---

export interface AssistantEnd {
  text: string;
  reasoning: string;
  toolCalls: ToolCall[];
  /** `stop`, `tool_calls`, `length`, …, or `interrupted`, `error`. */
  finishReason: string;
}

/** Rows of one session. Each call is durable when it returns. Errors: DISK_FULL, STORE_BUSY. */
export interface Transcript {
  /** The conversation up to and including the prompt of this turn. */
  messages(): ModelMessage[];
  /** A row for an answer that is about to stream; its id. */
  openAssistant(): number;
  closeAssistant(messageId: number, end: AssistantEnd): void;
  /** Said before the first tool of the turn starts: from then on the turn must not be repeated by itself. */
  toolsStarting(): void;
  addToolResult(call: ToolCall, result: ToolResult): void;
  /** Texts of the user that are to reach the running turn; each is given once, and stands in the transcript from then on. */
  takeSteer(): string[];
}

/** Makes room in a long conversation. Nothing is lost: rows that a summary replaces stay readable. */
export interface Compressor {
  /** The next prompt would be over the threshold. `lastInput`: tokens the provider counted last, null = none yet. */
  due(messages: readonly ModelMessage[], lastInput: number | null): boolean;
  /** The messages of the turn from now on; null = it could not be made smaller. Not interruptible; paired `compacting` events. */
  compress(reason: 'threshold' | 'overflow'): Promise<ModelMessage[] | null>;
}

/** Types and payloads of the gateway RPC (contract §8). */
export interface EventSink {
  emit(type: string, payload: Record<string, unknown>): void;
}

// --- the world beside the conversation ---

/** Named text stores of the agent's memory. Errors: DISK_FULL, HOME_UNUSABLE. */
export interface MemoryStore {
  read(target: 'memory' | 'user'): string;
  write(target: 'memory' | 'user', text: string): void;
}

export interface CronJobRequest {
  schedule: string;
  prompt: string;
  name?: string | undefined;
  deliver: string;
  repeat?: number | undefined;
}

export interface CronJobRow {
  id: string;
  name: string;
  schedule: string;
  prompt: string | null;
  deliver: string;
  state: string;
  next_run_at: string | null;
}

/** Errors: BAD_SCHEDULE, UNKNOWN_JOB, PEER_UNREACHABLE. */
export interface CronJobs {
  create(job: CronJobRequest, signal: AbortSignal): Promise<CronJobRow>;
  list(signal: AbortSignal): Promise<CronJobRow[]>;
  remove(id: string, signal: AbortSignal): Promise<CronJobRow>;
}

/** A tool of an MCP server: name, description and hints are the server's own claims. */
export interface ForeignToolSpec extends ToolSpec {
  server: string;
  hints: { readOnly: boolean; destructive: boolean };
  /** What the server says about the use of its tools. */
  instructions?: string | undefined;
  /** `full`: its tools are never asked about, `untrusted`: all that do not claim to read only are; undefined: those that claim to be destructive. */
  trust?: 'full' | 'untrusted' | undefined;
}

/** Tools of MCP servers, reached through a broker. Errors of `call`: MCP_FAILED, TOOL_UNKNOWN, PEER_UNREACHABLE. */
export interface ForeignTools {
  /** `problem`: why there are none, when they could not be listed. */
  list(signal: AbortSignal): Promise<{ tools: ForeignToolSpec[]; problem?: string }>;
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolResult>;
}

/** Full text over earlier conversations. */
export interface SessionSearch {
  /** `scope`: only conversations with this key. */
  search(query: string, options: { limit: number; excludeSession?: string | undefined; scope?: string | undefined }): Promise<SearchHit[]>;
  /** Messages around one, oldest first; empty when it is outside the scope. */
  around(messageId: number, options: { radius: number; scope?: string | undefined }): { role: string; text: string; at: string }[];
}

export interface SearchHit {
  sessionId: string;
  title: string | null;
  messageId: number;
  role: string;
  snippet: string;
  at: string;
}

export interface TodoItem {
  id: string;
  content: string;
  status: 'pending' | 'in_progress' | 'completed' | 'cancelled';
  parent?: string | undefined;
}

/** The todo list of the session. */
export interface PlanStore {
  read(): TodoItem[];
  /** Durable and announced when it returns. */
  write(todos: TodoItem[]): void;
}

/** A message to a chat, through the gateway's outbox. Errors: UNKNOWN_TARGET, PEER_UNREACHABLE. */
export interface MessageSender {
  send(message: { to: string; text: string; key: string }, signal: AbortSignal): Promise<{ id: string; state: string }>;
}

export interface Delegation {
  goal: string;
  context?: string | undefined;
  toolsets?: readonly string[] | undefined;
}

/** Runs a piece of work in a hidden session of its own. Never throws for a failed child: its status says so. */
export interface Delegator {
  run(
    task: Delegation,
    run: ToolRun & { index: number; count: number },
  ): Promise<{ status: 'complete' | 'interrupted' | 'error' | 'timeout'; summary: string; sessionId: string; modelCalls: number }>;
}

export interface WebHit {
  title: string;
  url: string;
  snippet: string;
}

/** Errors: WEB_REFUSED for an address that is not public, WEB_FAILED. */
export interface Web {
  /** Null = no search service is configured. */
  search: ((query: string, limit: number, signal: AbortSignal) => Promise<WebHit[]>) | null;
  /** `known`: answered with `notModified` and an empty body while that version is the newest. */
  fetch(
    url: string,
    signal: AbortSignal,
    known?: { etag: string },
  ): Promise<{ url: string; mediaType: string; body: Uint8Array; truncated: boolean; etag?: string | undefined; notModified?: boolean }>;
}

/** A skill as the index and `skill_view` give it (interface spec, Other resources). */
export interface Skill {
  name: string;
  description: string;
  category: string;
  /** Folder with SKILL.md. */
  path: string;
}

export interface Skills {
  /** Those offered to this session. */
  list(): readonly Skill[];
  /**
   * Text of SKILL.md, or of a file below the folder, the names of the others, and what to know before it is used.
   * Fetched when it lives upstream. Errors: NOT_FOUND, BAD_REQUEST, SKILL_UNREACHABLE.
   */
  view(name: string, file: string | undefined, signal: AbortSignal): Promise<{ text: string; files: string[]; notes?: string[] }>;
}

/** Told of each process group a tool starts, so that a crash of the host cannot leave one behind. */
export interface ProcessGroups {
  started(pgid: number): void;
  ended(pgid: number): void;
}
