/** Methods of the gateway RPC about what a prompt is made of, and about skills. */
import { join } from 'node:path';
import { hiddenBecause } from '../../../agent/skills/gates.ts';
import { sorted } from '../../../agent/skills/skillIndex.ts';
import { contextBreakdown, promptSize } from '../../../ipc/contracts/rpcSessions.ts';
import { skillSave, skillsList, skillToggle, skillView } from '../../../ipc/contracts/rpcTools.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import type { ResultOf } from '../../../ipc/method.ts';
import { rowOfFile } from '../context.ts';
import { checkedDirectory, defaultDirectory, requireSession, type SessionParts } from '../sessions.ts';
import type { Offered } from '../skills.ts';

export function contextMethods(parts: SessionParts): Handler[] {
  const { context, store, contexts, skills } = parts;
  return [
    handle(contextBreakdown, async ({ session_id }) => {
      const { files, ...rest } = await contexts.breakdown(requireSession(store, session_id));
      return { ...rest, context_files: files.map(rowOfFile) };
    }),
    handle(promptSize, async ({ platform = 'cli', cwd }) => {
      const { categories, tools, files } = await contexts.size(
        platform,
        cwd === undefined ? defaultDirectory(context) : checkedDirectory(cwd),
      );
      const sum = (key: 'bytes' | 'tokens') => categories.reduce((total, category) => total + category[key], 0);
      return {
        platform,
        categories,
        total_bytes: sum('bytes'),
        total_tokens: sum('tokens'),
        tools: tools.toSorted((a, b) => b.bytes - a.bytes),
        context_files: files.map(rowOfFile),
      };
    }),
    handle(skillsList, ({ session_id, platform }) => {
      const session = session_id === undefined ? undefined : requireSession(store, session_id);
      return listed(parts, { platform: platform ?? session?.platform ?? null, safe_mode: session?.safe_mode ?? 0 });
    }),
    handle(skillView, async ({ name, file }, { signal }) => {
      const { text, files } = await skills.view(name, file, signal);
      const skill = skills.state().skills.get(name);
      return { name, path: skill ? join(skill.path, file ?? 'SKILL.md') : '', content: text, version: skills.version(name, file), files };
    }),
    handle(skillSave, ({ name, content, file, category, create = false, version }) => ({
      name,
      ...skills.save({ action: create ? 'create' : 'edit', name, content, file, category }, version),
    })),
    handle(skillToggle, async ({ name, enabled }) => {
      await skills.toggle(name, enabled);
      return { name, enabled };
    }),
  ];
}

function listed({ skills: desk }: SessionParts, to: Offered): ResultOf<typeof skillsList> {
  const { skills, bad, problems } = desk.state();
  const offer = desk.offer(to);
  const good = [...skills.values()].map((skill) => ({
    name: skill.name,
    description: skill.description,
    category: skill.category,
    path: skill.path,
    enabled: !offer.disabled.has(skill.name),
    hidden_because: hiddenBecause(skill, offer),
    version: skill.version,
    has_blueprint: skill.blueprint !== undefined,
  }));
  const wrong = bad.map(({ name, category, path }) => ({
    name,
    description: '',
    category,
    path,
    enabled: !offer.disabled.has(name),
    hidden_because: `broken: ${problems.find((problem) => problem.path === join(path, 'SKILL.md'))?.message ?? 'its SKILL.md is wrong'}`,
    version: null,
    has_blueprint: false,
  }));
  return { skills: sorted([...good, ...wrong]), problems: problems.map(({ path, message }) => ({ path, message })) };
}
