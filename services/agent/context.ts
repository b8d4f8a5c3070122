/**
 * The context of a session: reads its files once, at the first turn, for the prompt that is pinned then,
 * and says at any time what the next prompt would be made of.
 */
import { fixedCategories, messageCategories, toolSize, totalsOf, type Breakdown, type ToolSize } from '../../agent/context/breakdown.ts';
import { DirectoryHints } from '../../agent/context/directoryHints.ts';
import { listedFiles, readPromptFiles, type PromptKind } from '../../agent/context/promptFiles.ts';
import {
  layoutOf,
  partsFrom,
  promptParts,
  promptText,
  type Category,
  type PromptLayout,
  type PromptPart,
} from '../../agent/context/promptParts.ts';
import { serverOf } from '../../agent/tools/foreign.ts';
import type { Tool } from '../../agent/tools/registry.ts';
import { isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import type { WorkerContext } from '../worker.ts';
import { factsOf, type ModelDesk } from './models.ts';
import { memoriesOf, principalOfTurn } from './principal.ts';
import { defaultDirectory } from './sessions.ts';
import type { SkillDesk } from './skills.ts';
import { sessionConfig } from './sessionConfig.ts';
import type { SessionRecord } from './store.ts';
import { blankSession } from './tools/blankSession.ts';
import type { Toolbox } from './toolbox.ts';
import type { Transcripts } from './transcripts.ts';

export interface ContextDeskParts {
  context: WorkerContext;
  transcripts: Transcripts;
  desk: ModelDesk;
  toolbox: Toolbox;
  skills: SkillDesk;
}

/** The prompt of a session and where its parts stand in it. */
export interface PinnedPrompt {
  text: string;
  layout: PromptLayout;
}

export type ContextFileRow = PromptLayout['files'][number];

export interface ContextDesk {
  /** Of the first turn. Reads every file anew; never throws for a file. */
  prompt(session: SessionRecord, surface: string, tools: readonly Tool[]): PinnedPrompt;
  /** What the next prompt of a session would be made of. */
  breakdown(session: SessionRecord): Promise<Breakdown & { model: string | null; files: ContextFileRow[] }>;
  /** The part of every prompt that stays, for a session that does not exist. `platform`: a surface, `cron`, or a chat platform. */
  size(platform: string, cwd: string): Promise<{ categories: Category[]; tools: ToolSize[]; files: ContextFileRow[] }>;
}

export function createContextDesk(parts: ContextDeskParts): ContextDesk {
  const { context, transcripts, desk } = parts;
  const prompt = (session: SessionRecord, surface: string, tools: readonly Tool[]): PinnedPrompt => {
    const { all, files } = gathered(parts, session, surface, tools);
    return { text: promptText(all), layout: layoutOf(all, files) };
  };
  return {
    prompt,
    async breakdown(session) {
      const surface = surfaceOf(session);
      const tools = await toolsOf(parts, session, surface);
      const pinned = session.system_prompt === null ? prompt(session, surface, tools) : pinnedOf(session);
      const messages = transcripts.modelMessages(session.id, { withAuthors: true });
      const categories = [...fixedCategories(partsFrom(pinned.text, pinned.layout), tools.map(toolSize)), ...messageCategories(messages)];
      const max = await windowOf(parts, session);
      return {
        ...totalsOf(categories, { counted: session.context_used, max }),
        model: factsOf(desk.resolve(session)).model,
        files: pinned.layout?.files ?? [],
      };
    },
    async size(platform, cwd) {
      const { session, surface } = imagined(context, platform, cwd);
      const tools = await toolsOf(parts, session, surface);
      const { all, files } = gathered(parts, session, surface, tools);
      const sizes = tools.map(toolSize);
      context.log.debug('prompt measured', { platform, tools: sizes.length });
      return { categories: fixedCategories(all, sizes), tools: sizes, files: layoutOf(all, files).files };
    },
  };
}

// --- the prompt ---

function gathered(
  parts: ContextDeskParts,
  session: SessionRecord,
  surface: string,
  tools: readonly Tool[],
): { all: PromptPart[]; files: ReturnType<typeof listedFiles> } {
  const { context, skills } = parts;
  const config = sessionConfig(context, session);
  const kind = kindOf(session, surface);
  const read = readPromptFiles({
    kind,
    soul: context.paths.soul,
    memories: memoriesOf(principalOfTurn(session, surface), context.paths.memories),
    memoryEnabled: config.memory?.enabled !== false,
    cwd: session.cwd,
    cwdChosen: session.cwd !== defaultDirectory(context),
  });
  const toolNames = tools.map(({ name }) => name);
  const personality = config.display?.personality;
  const manner = personality === undefined ? undefined : config.personalities?.[personality];
  const all = promptParts({
    ...read,
    toolNames,
    servers: new Map(tools.flatMap(({ toolset, instructions }) => (instructions ? [[serverOf(toolset), instructions]] : []))),
    extra: kind === 'safe' ? undefined : config.agent?.system_prompt,
    personality: kind === 'safe' || manner === undefined ? undefined : { name: personality!, text: manner },
    skills: toolNames.includes('skill_view') ? skills.index({ ...session, toolsets: toolsetsOf(tools) }) : '',
    surface,
    platform: session.platform ?? undefined,
    cwd: session.cwd,
    now: new Date(),
    timezone: config.timezone,
  });
  return { all, files: listedFiles(read, session.cwd) };
}

/** Hidden sessions that a tool spawned are delegated work; those of `/bg` are conversations of their own. */
export function kindOf({ safe_mode, hidden, source }: SessionRecord, surface: string): PromptKind {
  if (safe_mode === 1) return 'safe';
  if (hidden === 1 && /^(?:delegat|subagent)/.test(source)) return 'delegated';
  return surface === 'scheduled_task' ? 'scheduled' : 'full';
}

export const toolsetsOf = (tools: readonly Tool[]): ReadonlySet<string> => new Set(tools.map(({ toolset }) => toolset));

function pinnedOf({ system_prompt, prompt_layout }: SessionRecord): { text: string; layout: PromptLayout | undefined } {
  return { text: system_prompt ?? '', layout: prompt_layout ? (JSON.parse(prompt_layout) as PromptLayout) : undefined };
}

// --- what else a prompt holds ---

/** As its next turn would have them; without those of MCP servers when these take too long. */
async function toolsOf({ context, toolbox, desk }: ContextDeskParts, session: SessionRecord, surface: string): Promise<Tool[]> {
  const { scripted } = factsOf(desk.resolve(session));
  try {
    return (await toolbox.forTurn({ session, surface, scripted, signal: AbortSignal.timeout(limits.context.toolsMs) })).allowed;
  } catch (thrown) {
    context.log.warn('the tools of a session could not be listed in time', errorFields(thrown));
    return [];
  }
}

async function windowOf({ desk }: ContextDeskParts, session: SessionRecord): Promise<number | null> {
  try {
    return (await desk.open(session)).contextWindow;
  } catch (thrown) {
    if (isAgentError(thrown)) return null;
    throw thrown;
  }
}

/** Where a session talks, as far as its row says. */
function surfaceOf({ platform, source }: SessionRecord): string {
  if (platform !== null) return 'gateway';
  return source === 'cron' ? 'scheduled_task' : source;
}

const surfaces: ReadonlySet<string> = new Set(['cli', 'tui', 'desktop', 'api', 'batch', 'other']);

/** A session as one of that platform would be, without a row. */
function imagined(context: WorkerContext, platform: string, cwd: string): { session: SessionRecord; surface: string } {
  const surface = platform === 'cron' ? 'scheduled_task' : surfaces.has(platform) ? platform : 'gateway';
  const session = { ...blankSession(context, cwd, surface === 'gateway' ? platform : null), source: platform };
  return { session, surface };
}

// --- hints of subdirectories ---

/** What to add to a tool's result about a path; sessions that are no longer talked to are forgotten. */
export function createDirectoryHints(): (session: SessionRecord, path: string) => string {
  const bySession = new Map<string, DirectoryHints>();
  return (session, path) => {
    if (session.safe_mode === 1 || kindOf(session, surfaceOf(session)) === 'delegated') return '';
    let hints = bySession.get(session.id);
    if (!hints) bySession.set(session.id, (hints = new DirectoryHints(session.cwd)));
    if (bySession.size > limits.context.sessionsMax) bySession.delete(bySession.keys().next().value!);
    return hints.for(path);
  };
}

export const rowOfFile = ({ label, path, chars, shown_tokens, loaded, status }: ContextFileRow) => ({
  label,
  path,
  chars,
  est_tokens: shown_tokens,
  loaded,
  status,
});
