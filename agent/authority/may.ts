/**
 * Who may do what: one table, asked by tools, slash commands, jobs, memory, search, messages and approvals. A tool
 * or command without a row is refused to everyone but the owner (and fails a test).
 */
import { AgentError } from '../../base/errors.ts';
import { isForeignName } from '../tools/foreign.ts';
import type { Principal, PrincipalKind } from './principal.ts';

export const acts = [
  'converse',
  'look_up_web',
  'use_files',
  'run_programs',
  'use_mcp',
  'search_sessions',
  'keep_jobs',
  'remember',
  'read_skills',
  'write_skills',
  'send_messages',
  'choose_model',
  'answer_approvals',
  'configure',
  'see_usage',
  'administer',
] as const;
export type Act = (typeof acts)[number];

/** `own`: what belongs to the same conversation. */
export type Extent = 'none' | 'own' | 'all';
/** By default, and where the owner has listed the toolset or server for the platform. */
type Cell = `${Extent}/${Extent}`;

const owner = Object.fromEntries(acts.map((act) => [act, 'all/all'])) as Record<Act, Cell>;

const chat: Record<Act, Cell> = {
  converse: 'own/own',
  look_up_web: 'all/all',
  use_files: 'none/all',
  run_programs: 'none/all',
  use_mcp: 'none/all',
  search_sessions: 'own/own',
  keep_jobs: 'own/own',
  remember: 'own/own',
  read_skills: 'all/all',
  write_skills: 'none/all',
  send_messages: 'own/all',
  choose_model: 'own/own',
  answer_approvals: 'own/own',
  configure: 'none/none',
  see_usage: 'none/none',
  administer: 'none/none',
};

const table: Readonly<Record<PrincipalKind, Readonly<Record<Act, Cell>>>> = {
  owner,
  chat,
  chat_owner: { ...chat, configure: 'all/all', see_usage: 'all/all' },
  webhook: {
    ...chat,
    search_sessions: 'none/own',
    keep_jobs: 'none/own',
    remember: 'none/own',
    read_skills: 'none/all',
    choose_model: 'none/none',
    answer_approvals: 'none/none',
  },
  schedule: {
    ...owner,
    use_files: 'none/all',
    run_programs: 'none/all',
    send_messages: 'own/all',
    administer: 'none/none',
    configure: 'none/none',
  },
};

export function extentOf({ kind }: Principal, act: Act, listed = false): Extent {
  const [byDefault, whenListed] = table[kind][act].split('/') as [Extent, Extent];
  return listed ? whenListed : byDefault;
}

/** `own`: the object belongs to the principal's conversation, or the act has none. */
export function may(principal: Principal, act: Act, { own = true, listed = false }: { own?: boolean; listed?: boolean } = {}): boolean {
  const extent = extentOf(principal, act, listed);
  return extent === 'all' || (extent === 'own' && own);
}

/** Errors: NOT_PERMITTED, with what was refused and who may do it. */
export function requireMay(principal: Principal, act: Act, what: string): void {
  if (may(principal, act)) return;
  throw new AgentError('NOT_PERMITTED', `${what} is not allowed from ${placeOf(principal)}`, {
    fix: hint[act] ?? 'the owner does it on the machine, with `agent` or the page',
  });
}

const placeOf = (principal: Principal): string =>
  'platform' in principal ? `a chat on ${principal.platform}` : principal.kind === 'schedule' ? 'a scheduled job' : 'here';

const hint: Partial<Record<Act, string>> = {
  configure: 'the owner does it on the machine, or lists your identity under platforms.<platform>.owners in config.yaml',
  see_usage: 'the owner sees it on the machine, or lists your identity under platforms.<platform>.owners in config.yaml',
};

/** What a tool does; every tool of the agent has a row. */
export const toolActs: Readonly<Record<string, Act>> = {
  clarify: 'converse',
  todo: 'converse',
  delegate_task: 'converse',
  web_search: 'look_up_web',
  web_extract: 'look_up_web',
  read_file: 'use_files',
  search_files: 'use_files',
  write_file: 'use_files',
  patch: 'use_files',
  terminal: 'run_programs',
  process: 'run_programs',
  execute_code: 'run_programs',
  session_search: 'search_sessions',
  cronjob: 'keep_jobs',
  memory: 'remember',
  skills_list: 'read_skills',
  skill_view: 'read_skills',
  skill_manage: 'write_skills',
  send_message: 'send_messages',
};

export const actOfTool = (name: string): Act => toolActs[name] ?? (isForeignName(name) ? 'use_mcp' : 'administer');
