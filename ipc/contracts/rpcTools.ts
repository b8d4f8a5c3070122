/** Tools, skills and memory as their owner manages them (`agent tools`, `agent skills`, `agent memory`, and the same slash commands). */
import { z } from '../../base/lazyZod.ts';
import { rpcMethod, type Method } from '../method.ts';

export const ToolsetRow = z.object({
  name: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  /** Why it is not, and what would allow it. */
  refused: z.string().nullable(),
  /** `unavailable`: what is to be done before it is offered anywhere; the description says it, too. */
  tools: z.array(z.object({ name: z.string(), description: z.string(), unavailable: z.string().optional() })),
});

/** As a session (or a platform) would have them. */
export const toolsList = rpcMethod('tools.list', {
  params: z.strictObject({ session_id: z.string().optional(), platform: z.string().optional() }),
  result: z.object({ platform: z.string(), toolsets: z.array(ToolsetRow) }),
  timeoutMs: 30_000,
});

export const SkillRow = z.object({
  name: z.string(),
  description: z.string(),
  category: z.string(),
  path: z.string(),
  enabled: z.boolean(),
  /** Why it is not offered here (`platforms`, `environments`, `session_platforms`, `disabled`, or what is wrong with its file). */
  hidden_because: z.string().nullable(),
  version: z.string().nullable(),
  has_blueprint: z.boolean(),
});

export const skillsList = rpcMethod('skills.list', {
  params: z.strictObject({ session_id: z.string().optional(), platform: z.string().optional() }),
  result: z.object({ skills: z.array(SkillRow), problems: z.array(z.object({ path: z.string(), message: z.string() })) }),
});

/** `file`: one below the folder of the skill; default SKILL.md. `version` names what the file says on disk. Errors: NOT_FOUND, BAD_REQUEST. */
export const skillView = rpcMethod('skills.view', {
  params: z.strictObject({ name: z.string(), file: z.string().optional() }),
  result: z.object({ name: z.string(), path: z.string(), content: z.string(), version: z.string(), files: z.array(z.string()) }),
});

/** Errors: NOT_FOUND. */
export const skillToggle = rpcMethod('skills.toggle', {
  params: z.strictObject({ name: z.string(), enabled: z.boolean() }),
  result: z.object({ name: z.string(), enabled: z.boolean() }),
});

/**
 * The owner's own text for SKILL.md, or a file beside it (`file`); `create` makes the skill. It is not staged for review:
 * whoever could review it writes it. With the `version` that was read, only over that one. Errors: NOT_FOUND, BAD_REQUEST,
 * CONFIG_CHANGED, DISK_FULL.
 */
export const skillSave = rpcMethod('skills.save', {
  params: z.strictObject({
    name: z.string(),
    content: z.string(),
    file: z.string().optional(),
    category: z.string().optional(),
    create: z.boolean().optional(),
    version: z.string().max(64).optional(),
  }),
  result: z.object({ name: z.string(), path: z.string(), version: z.string() }),
});

/** A write of memory or a skill that waits for its owner (`memory.write_approval`). */
export const StagedWrite = z.object({
  id: z.string(),
  kind: z.enum(['memory', 'skill']),
  /** `memory`, `user`, or the name of the skill. */
  target: z.string(),
  action: z.string(),
  diff: z.string(),
  session_id: z.string().nullable(),
  created_at: z.string(),
});
export type StagedWrite = z.infer<typeof StagedWrite>;

export const MemoryShown = z.object({
  stores: z.array(z.object({ target: z.enum(['memory', 'user']), path: z.string(), text: z.string(), chars: z.number(), cap: z.number() })),
  staged: z.array(StagedWrite),
  write_approval: z.boolean(),
});

export const memoryShow = rpcMethod('memory.show', { params: z.strictObject({}), result: MemoryShown });

/** Empties the files; what they held is kept as `<file>.before-reset`, whose paths are answered. Errors: DISK_FULL. */
export const memoryReset = rpcMethod('memory.reset', {
  params: z.strictObject({ target: z.enum(['all', 'memory', 'user']) }),
  result: z.object({ kept: z.array(z.string()) }),
});

/** Neither `ids` nor `all`: nothing. Answers what is still staged. */
export const memoryReview = rpcMethod('memory.review', {
  params: z.strictObject({ decision: z.enum(['approve', 'reject']), ids: z.array(z.string()).optional(), all: z.boolean().optional() }),
  result: z.object({
    done: z.array(z.string()),
    failed: z.array(z.object({ id: z.string(), message: z.string() })),
    staged: z.array(StagedWrite),
  }),
});

/** Background commands of the terminal tool. */
export const ProcessRow = z.object({
  process_id: z.string(),
  session_id: z.string(),
  command: z.string(),
  state: z.enum(['running', 'ended']),
  exit_code: z.number().nullable(),
  started_at: z.string(),
  output_tail: z.string(),
});
export const processList = rpcMethod('process.list', {
  params: z.strictObject({ session_id: z.string().optional() }),
  result: z.object({ processes: z.array(ProcessRow) }),
});
export const processStop = rpcMethod('process.stop', {
  params: z.strictObject({ process_id: z.string() }),
  result: z.object({ stopped: z.boolean() }),
});

export const toolMethods: readonly Method[] = [
  toolsList,
  skillsList,
  skillView,
  skillToggle,
  skillSave,
  memoryShow,
  memoryReset,
  memoryReview,
  processList,
  processStop,
];
