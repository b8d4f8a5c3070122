/**
 * Skills of this profile: the library on disk with the live configuration, what a session is offered,
 * and the one place that writes below the skills folder.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { Skills } from '../../agent/ports.ts';
import { blueprintOf, type SkillBlueprint } from '../../agent/skills/blueprint.ts';
import { hiddenBecause, type Offer } from '../../agent/skills/gates.ts';
import { SkillLibrary, type LibraryState, type SkillEntry } from '../../agent/skills/library.ts';
import {
  plannedWrite,
  type SkillEditor,
  type SkillRequest,
  type SkillWrite,
  type StagedSkill,
  type StageWrite,
} from '../../agent/skills/skillEdit.ts';
import { readSkillFile, skillFiles, textOrNull } from '../../agent/skills/skillFolder.ts';
import { skillIndex } from '../../agent/skills/skillIndex.ts';
import { linkedFiles, upstreamFile, type UpstreamParts } from '../../agent/skills/upstream.ts';
import { skillTools } from '../../agent/tools/skills.ts';
import type { Tool } from '../../agent/tools/registry.ts';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { versionOf } from '../../state/config/change.ts';
import { listConfigName } from '../../state/config/edit.ts';
import { writeError, writeFileAtomic } from '../../state/atomicFile.ts';
import type { WorkerContext } from '../worker.ts';
import type { SessionRecord } from './store.ts';
import { upstreamCopies, upstreamWeb } from './upstreamWeb.ts';

/** What decides which skills a session is offered. */
export type Offered = Pick<SessionRecord, 'platform' | 'safe_mode'> & { toolsets?: ReadonlySet<string> | undefined };

export interface SkillDesk {
  /** As on disk now. */
  state(): LibraryState;
  offer(to: Offered): Offer;
  /** Those a session is offered; none in safe mode. */
  offered(to: Offered): SkillEntry[];
  /** Of the prompt; empty without skills. */
  index(to: Offered): string;
  /** The tools of a session; none in safe mode. */
  tools(session: SessionRecord): Tool[];
  /** SKILL.md or one of its files, also of a skill that is not offered. Errors: NOT_FOUND, BAD_REQUEST, SKILL_UNREACHABLE. */
  view(name: string, file: string | undefined, signal: AbortSignal): ReturnType<Skills['view']>;
  /** Writes `skills.disabled`. Errors: NOT_FOUND, CONFIG_INVALID, DISK_FULL. */
  toggle(name: string, enabled: boolean): Promise<void>;
  /** Names what a file of it says on disk; one that is not there says nothing. Errors: NOT_FOUND, BAD_REQUEST. */
  version(name: string, file: string | undefined): string;
  /** Writes what the owner asks for, without review. `over`: the version that may be replaced. Errors: NOT_FOUND, BAD_REQUEST, CONFIG_CHANGED, DISK_FULL. */
  save(request: SkillRequest, over?: string): { path: string; version: string };
  /** Suggestions for scheduled jobs, of the skills that are offered here. */
  blueprints(to?: Offered): SkillBlueprint[];
  /** Said when the tools of a session are known, for the gates that ask about toolsets. */
  remember(sessionId: string, toolsets: ReadonlySet<string>): void;
  /** Reads everything once, in small steps. */
  warm(): Promise<void>;
}

const UPSTREAM_BASE = 'https://raw.githubusercontent.com';

/** `stage`: keeps a change for review while `memory.write_approval` is on; without it such changes are refused. */
export function createSkillDesk(context: WorkerContext, { stage }: { stage?: StageWrite | undefined } = {}): SkillDesk {
  const root = context.paths.skills;
  const library = new SkillLibrary(() => [root, ...configuredPaths(context)]);
  const upstream = upstreamParts(context);
  const environments = surroundings(context);
  const toolsetsOf = new Map<string, ReadonlySet<string>>();

  const offer = ({ platform, toolsets }: Offered): Offer => ({
    os: process.platform,
    environments: toolsets?.has('kanban') ? new Set([...environments, 'kanban']) : environments,
    // Sessions of chats alone have one; whether the channel is known is not for a terminal to ask.
    platform: platform ?? undefined,
    toolsets,
    disabled: new Set(context.config().config.skills?.disabled ?? []),
  });
  const offered = (to: Offered): SkillEntry[] => {
    if (to.safe_mode === 1) return [];
    const here = offer(to);
    return [...library.read().skills.values()].filter((skill) => hiddenBecause(skill, here) === null);
  };
  const desk: SkillDesk = {
    state: () => library.read(),
    offer,
    offered,
    index: (to) => skillIndex(offered(to)),
    tools(session) {
      if (session.safe_mode === 1) return [];
      const now = (): Offered => ({ ...session, toolsets: toolsetsOf.get(session.id) });
      return skillTools(
        { list: () => offered(now()), view: (...args) => desk.view(...args) },
        editorOf(context, { library, root, stage, sessionId: session.id }),
      );
    },
    view: (name, file, signal) => viewed(context, { library, upstream, name, file, signal }),
    async toggle(name, enabled) {
      requireSkill(library.read(), name);
      await listConfigName(context.paths.config, 'skills.disabled', { name, listed: !enabled });
    },
    version: (name, file) => versionOf(textOrNull(requireSkill(library.read(), name).path, file ?? 'SKILL.md') ?? ''),
    save(request, over) {
      const write = plannedWrite(request, library.read(), root);
      const path = join(root, write.folder, write.file ?? '');
      if (over !== undefined && over !== versionOf(write.before ?? '')) {
        throw new AgentError('CONFIG_CHANGED', `${path} was changed by somebody else meanwhile; nothing was written`, {
          fix: 'read it again, then write without a version or with the new one',
        });
      }
      applyWrite(root, write);
      return { path, version: versionOf(write.after ?? '') };
    },
    blueprints: (to = { platform: null, safe_mode: 0 }) => offered(to).flatMap((skill) => blueprintOf(skill) ?? []),
    remember(sessionId, toolsets) {
      toolsetsOf.delete(sessionId);
      toolsetsOf.set(sessionId, toolsets);
      if (toolsetsOf.size > limits.context.sessionsMax) toolsetsOf.delete(toolsetsOf.keys().next().value!);
    },
    warm: () =>
      library.warm(context.signal).catch((thrown: unknown) => context.log.warn('skills could not be read ahead', errorFields(thrown))),
  };
  return desk;
}

/** `skills.paths`; relative ones start at the home of the profile. */
function configuredPaths({ config, paths }: WorkerContext): string[] {
  return (config().config.skills?.paths ?? []).map((path) => {
    if (path === '~' || path.startsWith('~/')) return join(homedir(), path.slice(1));
    return isAbsolute(path) ? path : resolve(paths.dir, path);
  });
}

/** What is the case for as long as this worker runs. */
function surroundings({ external }: WorkerContext): ReadonlySet<string> {
  const contained = existsSync('/.dockerenv') || existsSync('/run/.containerenv') || process.env.container !== undefined;
  const orchestrated = process.env.KUBERNETES_SERVICE_HOST !== undefined;
  return new Set([...(contained || orchestrated ? ['container'] : []), ...(external ? [] : ['supervisor'])]);
}

// --- reading ---

interface ViewRequest {
  library: SkillLibrary;
  upstream: UpstreamParts;
  name: string;
  file: string | undefined;
  signal: AbortSignal;
}

async function viewed(
  context: WorkerContext,
  { library, upstream, name, file = 'SKILL.md', signal }: ViewRequest,
): ReturnType<Skills['view']> {
  const skill = requireSkill(library.read(), name);
  if (!skill.upstream) {
    return { text: readSkillFile(skill.path, file), files: skillFiles(skill.path), notes: notesOf(skill, context, file) };
  }
  const { text, note } = await upstreamFile(upstream, skill.upstream, file, signal);
  const files = file === 'SKILL.md' ? linkedFiles(text) : [];
  const { repo, path } = skill.upstream;
  return { text, files, notes: [`from ${repo}/${path}`, ...(note ? [note] : []), ...notesOf(skill, context, file)] };
}

function notesOf({ path, requiredEnv, upstream }: SkillEntry, { secrets }: WorkerContext, file: string): string[] {
  if (file !== 'SKILL.md') return [];
  const missing = requiredEnv.filter((name) => secrets().get(name) === undefined);
  return [
    ...(upstream ? [] : [`folder: ${path}`]),
    ...(missing.length > 0
      ? [`It needs ${missing.join(', ')}, which .env does not have: ask the user to set ${missing.length > 1 ? 'them' : 'it'} first.`]
      : []),
  ];
}

/** Errors: NOT_FOUND with the nearest reason. */
function requireSkill({ skills, bad }: LibraryState, name: string): SkillEntry {
  const skill = skills.get(name);
  if (skill) return skill;
  const broken = bad.find((entry) => entry.name === name);
  throw new AgentError('NOT_FOUND', broken ? `the skill ${name} cannot be used: its SKILL.md is wrong` : `there is no skill ${name}`, {
    fix: broken ? '`agent skills check` names the line' : '`agent skills list` shows them',
  });
}

function upstreamParts(context: WorkerContext): UpstreamParts {
  const base = () => context.config().config.skills?.upstream_base_url ?? UPSTREAM_BASE;
  return { base, web: upstreamWeb(base), copies: upstreamCopies(join(context.home.cache, 'skills'), context.log), now: Date.now };
}

// --- writing ---

interface EditorParts {
  library: SkillLibrary;
  root: string;
  stage: StageWrite | undefined;
  sessionId: string;
}

function editorOf(context: WorkerContext, { library, root, stage, sessionId }: EditorParts): SkillEditor {
  return {
    change(request) {
      const review = context.config().config.memory?.write_approval === true;
      if (review && !stage) {
        throw new AgentError('TOOL_REFUSED', 'memory.write_approval is on, and this version cannot stage skills for review yet', {
          fix: '`agent config set memory.write_approval false` allows it',
        });
      }
      const write = plannedWrite(request, library.read(), root);
      if (review) return { write, staged: stage!(staged(write, sessionId)) };
      applyWrite(root, write);
      return { write, staged: null };
    },
  };
}

function staged({ name, action, folder, file, after }: SkillWrite, sessionId: string): StagedSkill {
  return { kind: 'skill', name, action, sessionId, write: { path: file === null ? folder : `${folder}/${file}`, content: after } };
}

function applyWrite(root: string, write: SkillWrite): void {
  const folder = join(root, write.folder);
  if (write.file === null) return discard(root, folder);
  const path = join(folder, write.file);
  if (write.after === null) return rmSync(path, { force: true });
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  } catch (thrown) {
    throw writeError(dirname(path), thrown);
  }
  writeFileAtomic(path, write.after);
}

/** Out of sight at once, and still there for somebody who did not mean it. */
function discard(root: string, folder: string): void {
  const bin = join(root, '.deleted');
  const target = join(bin, `${basename(folder)}-${Date.now()}`);
  try {
    mkdirSync(bin, { recursive: true, mode: 0o700 });
    renameSync(folder, target);
  } catch (thrown) {
    throw writeError(folder, thrown);
  }
  const age = (name: string) => statSync(join(bin, name), { throwIfNoEntry: false })?.ctimeMs ?? 0;
  const newestFirst = readdirSync(bin).toSorted((a, b) => age(b) - age(a));
  for (const name of newestFirst.slice(limits.skills.deletedMax)) rmSync(join(bin, name), { recursive: true, force: true });
}
