/** A conversation as text to read: what the page saves and `agent sessions export --format markdown` prints. */
import type { Message } from '../ipc/contracts/rpcRecords.ts';
import type { ExportedSession } from '../ipc/contracts/rpcSessions.ts';

export function sessionMarkdown({ session, messages }: ExportedSession): string {
  const head = `# ${session.title?.replaceAll(/\s+/g, ' ') ?? 'Chat'}\n\n${new Date(session.started_at).toLocaleString('sv-SE')}`;
  return `${[head, ...messages.map(said).filter((part) => part !== '')].join('\n\n')}\n`;
}

function said(message: Message): string {
  const { role, kind, content, tool_calls, tool_name, is_error, attachments, error } = message;
  if (kind === 'summary') return `> Summary of what came before\n\n${content}`;
  switch (role) {
    case 'user': {
      const files = (attachments ?? []).map(({ name }) => `- ${name}`);
      return [`## You`, content, files.length > 0 ? `Attached:\n\n${files.join('\n')}` : ''].filter(Boolean).join('\n\n');
    }
    case 'assistant': {
      const calls = (tool_calls ?? []).map(({ name, args }) => `\`${name}\` ${fenced(JSON.stringify(args, null, 2), 'json')}`);
      const failed = error && quoted(`Failed: ${error.message} (${error.code})`);
      return [content && `## Agent\n\n${content}`, ...calls, failed].filter(Boolean).join('\n\n');
    }
    case 'tool':
      return `${tool_name ?? 'tool'}${is_error ? ' failed' : ''}:\n\n${fenced(content)}`;
    case 'system':
      return quoted(content);
  }
}

const quoted = (text: string): string => `> ${text.replaceAll('\n', '\n> ')}`;

/** A fence longer than any inside. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `\n${fence}${language}\n${text}\n${fence}`;
}
