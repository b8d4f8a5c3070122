/** The slash commands of the classic REPL: one table for dispatch, help and completion. */
import { AgentError } from '../../base/errors.ts';
import type { SessionRow } from '../../ipc/contracts/rpcRecords.ts';

/** What a command may do to the REPL. */
export interface SlashHost {
  say(text: string): void;
  startNew(): Promise<void>;
  resume(session: string): Promise<void>;
  list(): Promise<SessionRow[]>;
  stop(): Promise<void>;
  status(): string;
  quit(): void;
}

export interface SlashCommand {
  name: string;
  takes: string;
  summary: string;
  run(host: SlashHost, argument: string): Promise<void> | void;
}

export const slashCommands: readonly SlashCommand[] = [
  { name: 'help', takes: '', summary: 'this list', run: (host) => host.say(helpText()) },
  { name: 'new', takes: '', summary: 'start a new conversation', run: (host) => host.startNew() },
  { name: 'resume', takes: '[number, id or title]', summary: 'go back to a conversation; without a name the last one', run: resume },
  { name: 'sessions', takes: '', summary: 'list conversations', run: async (host) => host.say(sessionLines(await host.list())) },
  { name: 'stop', takes: '', summary: 'interrupt the running turn', run: (host) => host.stop() },
  { name: 'status', takes: '', summary: 'this conversation and the service', run: (host) => host.say(host.status()) },
  { name: 'quit', takes: '', summary: 'leave; a running turn goes on', run: (host) => host.quit() },
];

/** The command that `/word` means: its exact name, or the only one that begins so. Errors: USAGE with the valid set. */
export function findSlash(word: string): SlashCommand {
  const lower = word.toLowerCase();
  const exact = slashCommands.find(({ name }) => name === lower);
  const begins = slashCommands.filter(({ name }) => name.startsWith(lower));
  if (exact) return exact;
  if (begins.length === 1 && lower) return begins[0]!;
  const valid = (begins.length ? begins : slashCommands).map(({ name }) => `/${name}`).join(' ');
  throw new AgentError('USAGE', begins.length && lower ? `/${word} is not clear` : `unknown command /${word}`, { fix: `one of ${valid}` });
}

export const completeSlash = (line: string): string[] =>
  /^\/\w*$/.test(line) ? slashCommands.map(({ name }) => `/${name}`).filter((name) => name.startsWith(line)) : [];

function helpText(): string {
  const rows = slashCommands.map(({ name, takes, summary }) => [`/${name}${takes ? ` ${takes}` : ''}`, summary] as const);
  const width = Math.max(...rows.map(([left]) => left.length));
  return [
    ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
    '  A unique beginning will do (/res). A backslash at the end of a line goes on in the next one.',
    '  ctrl-C interrupts the turn, then clears the line, then (twice) leaves.',
  ].join('\n');
}

async function resume(host: SlashHost, argument: string): Promise<void> {
  const number = /^\d{1,3}$/.test(argument) ? Number(argument) : undefined;
  if (number === undefined) return host.resume(argument || 'latest');
  const row = (await host.list())[number - 1];
  if (!row) throw new AgentError('USAGE', `there is no conversation number ${number}`, { fix: '/sessions lists them' });
  return host.resume(row.id);
}

function sessionLines(rows: readonly SessionRow[]): string {
  if (rows.length === 0) return 'No conversations yet.';
  return rows
    .map(({ title, preview, last_active, message_count, source }, i) => {
      const name = (title ?? preview).replaceAll('\n', ' ').slice(0, 60) || '(empty)';
      return `${String(i + 1).padStart(3)}  ${new Date(last_active).toLocaleString('sv-SE')}  ${name}  (${message_count} messages, ${source})`;
    })
    .join('\n');
}
