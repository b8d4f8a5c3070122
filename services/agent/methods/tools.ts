/** Methods of the gateway RPC about tools: what a session may use, its plan, and background commands. */
import { platformName } from '../../../agent/tools/policy.ts';
import type { Tool } from '../../../agent/tools/registry.ts';
import { toolsetDescription } from '../../../agent/tools/toolsets.ts';
import { toolsetNames } from '../../../base/closedWords.ts';
import { AgentError } from '../../../base/errors.ts';
import { Surface } from '../../../ipc/contracts/agent.ts';
import { sessionPlan } from '../../../ipc/contracts/rpcSessions.ts';
import { reloadMcp } from '../../../ipc/contracts/rpcSettings.ts';
import { processList, processStop, toolsList, type ToolsetRow } from '../../../ipc/contracts/rpcTools.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import type { z } from 'zod';
import { factsOf } from '../models.ts';
import { defaultDirectory, requireSession, surfaceOf, type SessionParts } from '../sessions.ts';
import type { SessionRecord } from '../store.ts';
import { blankSession } from '../tools/blankSession.ts';
import { planOf } from '../tools/plan.ts';

type Row = z.infer<typeof ToolsetRow>;

export function toolMethods(parts: SessionParts): Handler[] {
  const { store, toolbox } = parts;
  return [
    handle(toolsList, async ({ session_id, platform }, { signal }) => {
      const { session, surface } = placeOf(parts, session_id, platform);
      const { scripted } = factsOf(parts.desk.resolve(session));
      const { tools, refused } = await toolbox.survey({ session, surface, scripted, signal });
      return {
        platform: platformName({ surface, platform: session.platform ?? undefined }),
        toolsets: rowsOf(tools, refused, missingOf(parts)),
      };
    }),
    handle(reloadMcp, async ({ session_id }, { signal }) => {
      const { session, surface } = placeOf(parts, session_id, undefined);
      const { servers, foreign, added, removed } = await toolbox.reload({ session, surface, scripted: false, signal });
      const enabled = servers.filter(({ state }) => state !== 'disabled');
      const failed = enabled.filter(({ state }) => state !== 'connected');
      return {
        servers: enabled.length,
        tools: foreign,
        added,
        removed,
        failed: failed.map(({ name, error, state }) => ({ name, error: error ?? state })),
      };
    }),
    handle(sessionPlan, ({ session_id }) => planOf(store, requireSession(store, session_id).id)),
    handle(processList, ({ session_id }) => {
      const id = session_id === undefined ? undefined : requireSession(store, session_id).id;
      return { processes: toolbox.processes.list(id) };
    }),
    handle(processStop, async ({ process_id }) => ({ stopped: await toolbox.processes.stop(process_id) })),
  ];
}

/** The session, or one as the platform would begin it. */
function placeOf(
  parts: SessionParts,
  sessionId: string | undefined,
  platform: string | undefined,
): { session: SessionRecord; surface: string } {
  if (sessionId !== undefined) {
    const session = requireSession(parts.store, sessionId);
    return { session, surface: surfaceOf(session) };
  }
  const name = platform ?? 'cli';
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name)) {
    throw new AgentError('BAD_REQUEST', `platform: ${name} is not the name of a platform`, { field: 'platform', fix: 'cli, cron, irc, …' });
  }
  const { context } = parts;
  const blank = (chat: string | null) => blankSession(context, defaultDirectory(context), chat);
  if (name === 'cron') return { session: blank(null), surface: 'scheduled_task' };
  return Surface.safeParse(name).success ? { session: blank(null), surface: name } : { session: blank(name), surface: 'gateway' };
}

/** Toolset → tool → what is to be done for it to be offered. */
function missingOf({ context }: SessionParts): Map<string, Row['tools']> {
  const missing = new Map<string, Row['tools']>();
  if (!context.config().config.web?.search?.kind) {
    const unavailable =
      'no search service is configured. For SearXNG: agent config set web.search \'{kind: searxng, base_url: "http://127.0.0.1:8888"}\'; for Brave: kind brave and key_env with the name of its key in .env';
    missing.set('web', [{ name: 'web_search', description: `not offered: ${unavailable}`, unavailable }]);
  }
  return missing;
}

function rowsOf(tools: Tool[], refused: ReadonlyMap<string, string>, missing: ReturnType<typeof missingOf>): Row[] {
  const bySet = Map.groupBy(tools, (tool) => tool.toolset);
  const foreign = [...bySet.keys()].filter((name) => !(toolsetNames as readonly string[]).includes(name)).toSorted();
  return [...toolsetNames.filter((name) => bySet.has(name)), ...foreign].map((name) => {
    const own = bySet.get(name)!;
    // A chat reads skills and does not write them: the toolset is off only when all of it is.
    const why = own.every((tool) => refused.has(tool.name)) ? refused.get(own[0]!.name)! : null;
    const listed = own
      .filter((tool) => why !== null || !refused.has(tool.name))
      .map((tool) => ({ name: tool.name, description: tool.description }));
    return {
      name,
      description: toolsetDescription(name),
      enabled: why === null,
      refused: why,
      tools: [...listed, ...(missing.get(name) ?? []).filter((one) => !listed.some((tool) => tool.name === one.name))],
    };
  });
}
