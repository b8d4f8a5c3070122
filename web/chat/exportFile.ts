/** A chat as a file of this computer: all of it as JSON, which `agent sessions import` takes back, or as text to read. */
import type { ExportedSession } from '../../ipc/contracts/rpcSessions.ts';
import type { Message } from '../../ipc/contracts/rpcRecords.ts';

export function saveFile(name: string, content: string | Blob, type: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken the content when the click returns.
  setTimeout(() => URL.revokeObjectURL(address), 1_000);
}

export function sessionMarkdown({ session, messages }: ExportedSession): string {
  const head = `# ${session.title ?? 'Chat'}\n\n${new Date(session.started_at).toLocaleString()}`;
  return `${[head, ...messages.map(said).filter((part) => part !== '')].join('\n\n')}\n`;
}

function said({ role, kind, content, tool_calls, tool_name, is_error }: Message): string {
  if (kind === 'summary') return `> Summary of what came before\n\n${content}`;
  switch (role) {
    case 'user':
      return `## You\n\n${content}`;
    case 'assistant': {
      const calls = (tool_calls ?? []).map(({ name, args }) => `\`${name}\` ${fenced(JSON.stringify(args, null, 2), 'json')}`);
      return [content && `## Agent\n\n${content}`, ...calls].filter(Boolean).join('\n\n');
    }
    case 'tool':
      return `${tool_name ?? 'tool'}${is_error ? ' failed' : ''}:\n\n${fenced(content)}`;
    case 'system':
      return `> ${content.replaceAll('\n', '\n> ')}`;
  }
}

/** A fence longer than any inside. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `\n${fence}${language}\n${text}\n${fence}`;
}
