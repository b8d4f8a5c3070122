/** Names of tools as people read them, and the argument that says most about a call. */

interface Known {
  title: string;
  /** The argument that stands in the head of its card. */
  main: string;
}

export const knownTools: Readonly<Record<string, Known>> = {
  terminal: { title: 'Terminal', main: 'command' },
  process: { title: 'Background command', main: 'action' },
  execute_code: { title: 'Run code', main: 'code' },
  read_file: { title: 'Read file', main: 'path' },
  write_file: { title: 'Write file', main: 'path' },
  patch: { title: 'Edit file', main: 'path' },
  search_files: { title: 'Search files', main: 'pattern' },
  web_search: { title: 'Search the web', main: 'query' },
  web_extract: { title: 'Read a page', main: 'urls' },
  memory: { title: 'Memory', main: 'content' },
  session_search: { title: 'Search chats', main: 'query' },
  cronjob: { title: 'Scheduled job', main: 'schedule' },
  todo: { title: 'Plan', main: 'todos' },
  clarify: { title: 'Question', main: 'question' },
  delegate_task: { title: 'Helper', main: 'goal' },
  send_message: { title: 'Send a message', main: 'message' },
};

export function titleOfTool(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return knownTools[name]?.title ?? (server && tool ? `${server} · ${tool}` : name);
}

/** The argument that says most stands in the head; all of them below, when there is more to say. */
export function argumentsOf({ name, args }: { name: string; args: unknown }): { main: string; rest: string | null } {
  if (typeof args !== 'object' || args === null) return { main: String(args ?? ''), rest: null };
  const entries = Object.entries(args as Record<string, unknown>);
  const usual = knownTools[name]?.main;
  const key =
    usual !== undefined && typeof (args as Record<string, unknown>)[usual] === 'string'
      ? usual
      : entries.find(([, value]) => typeof value === 'string')?.[0];
  const value = key === undefined ? undefined : (args as Record<string, unknown>)[key];
  const main = typeof value === 'string' ? value : JSON.stringify(args);
  const whole = entries.length <= 1 && typeof value === 'string' && !value.includes('\n');
  return { main: main.split('\n', 1)[0]!, rest: whole || entries.length === 0 ? null : JSON.stringify(args, null, 2) };
}
