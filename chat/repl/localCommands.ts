/** What the surface does itself when `command.dispatch` answers `local`, and lines that are no prompts at all. */
import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { extname, isAbsolute, join, resolve } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { sessionExport } from '../../ipc/contracts/rpcSessions.ts';
import type { Conversation } from '../conversation.ts';
import type { Screen } from './screen.ts';
import { verbosities, type TurnView, type Verbosity } from './turnView.ts';

export interface LocalHost {
  conversation: Conversation;
  screen: Screen;
  view: TurnView;
  /** Files for the next prompt. */
  attachments: string[];
  quit(): void;
}

type Local = (host: LocalHost, args: string) => void | Promise<void>;

export const localCommands: Record<string, Local> = {
  quit: (host) => host.quit(),
  clear: ({ screen }) => screen.clear(),
  redraw: ({ screen }) => screen.clear(),
  verbose({ view, screen }, args) {
    const next = (args.toLowerCase() || verbosities[(verbosities.indexOf(view.verbosity) + 1) % verbosities.length]!) as Verbosity;
    if (!verbosities.includes(next))
      throw new AgentError('USAGE', `/verbose: there is no mode "${args}"`, { fix: `one of ${verbosities.join(', ')}` });
    view.verbosity = next;
    screen.line(
      screen.paint(
        'dim',
        `Tools: ${{ off: 'only failures are shown', new: 'a line when another tool is used', all: 'a line for each call', verbose: 'a line for each call and what it gave' }[next]}.`,
      ),
    );
  },
  copy({ view, screen }, args) {
    const answer = view.answers.at(-(Number(args) || 1));
    if (!answer) throw new AgentError('NOT_FOUND', 'there is no answer to copy yet');
    // OSC 52: the terminal puts it into the clipboard, also over ssh.
    screen.control(`\u001b]52;c;${Buffer.from(answer).toString('base64')}\u0007`);
    screen.line(screen.paint('dim', `Copied ${answer.length} characters, if the terminal allows it.`));
  },
  paste: ({ screen }) =>
    screen.line(
      'Paste with the keys of your terminal: text is kept whole, however long, and the path of an image attaches it. /image <path> does so too.',
    ),
  image(host, args) {
    if (!args) throw new AgentError('USAGE', '/image: which file?', { fix: '/image <path>' });
    const path = imagePath(args);
    if (!path) throw new AgentError('NOT_FOUND', `${args} is no image on this machine`, { fix: 'png, jpg, gif or webp' });
    attach(host, path);
  },
  async save({ conversation, screen }, args) {
    const file = resolve(args || `conversation-${conversation.sessionId}.json`);
    const exported = await conversation.call(sessionExport, { session_id: conversation.sessionId });
    writeFileSync(file, `${JSON.stringify(exported, null, 2)}\n`, { mode: 0o600, flag: args ? 'w' : 'wx' });
    screen.line(`Saved to ${file}`);
  },
};

export function attach({ attachments, screen }: Pick<LocalHost, 'attachments' | 'screen'>, path: string): void {
  if (attachments.length >= ATTACHMENTS_MAX) throw new AgentError('USAGE', `a prompt takes ${ATTACHMENTS_MAX} files`);
  attachments.push(path);
  screen.line(screen.paint('dim', `Attached ${path}; it goes with the next prompt.`));
}

const ATTACHMENTS_MAX = 20;
const IMAGES = new Set(['.png', '.jpg', '.jpeg', '.gif', '.webp']);

/** The file that a pasted or written path means, when it is an image that exists: quoted, escaped, `file://` and `~` too. */
export function imagePath(written: string): string | undefined {
  const bare = written.trim().replace(/^(['"])(.*)\1$/, '$2');
  if (bare === '' || bare.includes('\n') || !IMAGES.has(extname(bare).toLowerCase())) return undefined;
  const plain = bare.startsWith('file://') ? decodeURIComponent(bare.slice('file://'.length)) : bare.replaceAll(/\\(.)/g, '$1');
  const path = plain.startsWith('~/') ? join(homedir(), plain.slice(2)) : isAbsolute(plain) ? plain : resolve(plain);
  return existsSync(path) ? path : undefined;
}
