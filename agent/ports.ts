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
}

export type ModelMessage =
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls: ToolCall[] }
  | { role: 'tool'; toolCallId: string; toolName: string; content: string; isError: boolean };

/** A tool as the model is told of it. */
export interface ToolSpec {
  name: string;
  description: string;
  /** JSON Schema (2020-12) of the arguments. */
  parameters: Record<string, unknown>;
}

/** Tokens of one or more model calls. */
export interface Usage {
  input: number;
  output: number;
}

export type StopReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'other';

export type ModelChunk =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'toolCall'; call: ToolCall }
  /** The provider is asked again; nothing had been received. */
  | { type: 'retry'; attempt: number; waitMs: number; reason: string }
  /** Always the last. */
  | { type: 'finish'; reason: StopReason; usage: Usage | null };

export interface ModelRequest {
  system: string;
  messages: readonly ModelMessage[];
  tools: readonly ToolSpec[];
  signal: AbortSignal;
  reasoningEffort?: string | undefined;
}

/** Errors of a stream: PROVIDER_FAILED before anything was received, PROVIDER_CUT after; the signal's reason when it aborts. */
export interface Model {
  provider: string;
  id: string;
  /** The rehearsal model: no intelligence, its commands are the user's own words. */
  scripted: boolean;
  stream(request: ModelRequest): AsyncIterable<ModelChunk>;
}

// --- tools ---

export interface ToolResult {
  /** What the model reads. */
  text: string;
  /** The same as data, for surfaces. */
  data?: unknown;
  isError: boolean;
}

export interface ToolRun {
  callId: string;
  signal: AbortSignal;
  /** Shows a line while the tool works; never stored in the transcript. */
  progress(preview: string): void;
}

/** Never throws for a bad call: an unknown name, a refusal or wrong arguments come back as an error result. */
export interface Tools {
  specs: readonly ToolSpec[];
  /** False for the tools that the deadline guard does not apply to. */
  guarded(name: string): boolean;
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

/** Tools of MCP servers, reached through a broker. Errors of `call`: MCP_FAILED, TOOL_UNKNOWN, PEER_UNREACHABLE. */
export interface ForeignTools {
  list(signal: AbortSignal): Promise<(ToolSpec & { server: string })[]>;
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolResult>;
}

/** Told of each process group a tool starts, so that a crash of the host cannot leave one behind. */
export interface ProcessGroups {
  started(pgid: number): void;
  ended(pgid: number): void;
}
