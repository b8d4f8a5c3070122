/** Commands about the conversation: start, leave, go back, shorten, branch, and what runs in it. */
import { AgentError } from '../../base/errors.ts';
import {
  ordinal,
  ownSurfaces,
  prompted,
  screens,
  split,
  text,
  usage,
  type CommandResult,
  type Invocation,
  type SlashCommand,
} from './command.ts';
import { runQueue } from './queueCommand.ts';
import { sessionLines } from './views.ts';

const SESSIONS_SHOWN = 20;
/** The newest ones whose titles and beginnings are searched. */
const SESSIONS_SEARCHED = 500;
const HISTORY_SHOWN = 20;

export const sessionCommands: readonly SlashCommand[] = [
  {
    name: 'new',
    needs: 'converse',
    aliases: ['reset'],
    takes: '[title]',
    summary: 'start a new conversation; this one stays',
    category: 'session',
    busy: 'allowed',
    async run({ host, args }) {
      const { sessionId } = await host.startNew(args || undefined);
      return { kind: 'session', text: 'A new conversation starts here.', sessionId };
    },
  },
  {
    name: 'clear',
    needs: 'converse',
    aliases: ['cls'],
    summary: 'clear the screen; the conversation stays',
    category: 'session',
    surfaces: screens,
    busy: 'allowed',
    local: true,
  },
  {
    name: 'resume',
    needs: 'converse',
    takes: '[number, id, title or latest]',
    summary: 'go back to another conversation',
    category: 'session',
    surfaces: ownSurfaces,
    busy: 'allowed',
    completes: 'session',
    run: resume,
  },
  {
    name: 'sessions',
    needs: 'converse',
    aliases: ['switch'],
    takes: '[words]',
    summary: 'list conversations, newest first',
    category: 'session',
    surfaces: ownSurfaces,
    busy: 'allowed',
    async run({ host, args }) {
      const words = args.toLowerCase().split(/\s+/).filter(Boolean);
      const { sessions } = await host.call('session.list', { limit: words.length > 0 ? SESSIONS_SEARCHED : SESSIONS_SHOWN });
      const hasWords = ({ title, preview }: (typeof sessions)[number]) => {
        const shown = `${title ?? ''} ${preview}`.toLowerCase();
        return words.every((word) => shown.includes(word));
      };
      const shown = sessions.filter(hasWords).slice(0, SESSIONS_SHOWN);
      return text(sessionLines(shown, sessions), { sessions: shown });
    },
  },
  {
    name: 'title',
    needs: 'converse',
    takes: '[new title]',
    summary: 'show or change the title',
    category: 'session',
    busy: 'allowed',
    async run({ host, args }) {
      const { title } = await host.call('session.title', args ? { title: args.slice(0, 200) } : {});
      return text(title === null ? 'This conversation has no title yet.' : `Title: ${title}`);
    },
  },
  {
    name: 'history',
    needs: 'converse',
    takes: '[N]',
    summary: 'show the last messages',
    category: 'session',
    surfaces: ownSurfaces,
    busy: 'allowed',
    async run({ host, args }) {
      const limit = args ? ordinal(args, 'a number of messages') : HISTORY_SHOWN;
      const { messages } = await host.call('session.history', { limit: Math.min(limit, 200) });
      const lines = messages.filter(({ content }) => content).map(({ role, tool_name, content }) => `${tool_name ?? role}: ${content}`);
      return text(lines.join('\n\n') || 'Nothing has been said yet.');
    },
  },
  {
    name: 'undo',
    needs: 'converse',
    takes: '[N]',
    summary: 'take back the last exchanges',
    category: 'session',
    busy: 'rejected',
    async run({ host, args }) {
      const { removed, text: prompt } = await host.call('session.undo', { count: args ? ordinal(args, 'a number of exchanges') : 1 });
      if (removed === 0) return text('There is nothing to take back.');
      return text(`Took back ${removed} message${removed === 1 ? '' : 's'}${prompt ? `, from: ${firstLine(prompt)}` : ''}`, {
        removed,
        text: prompt,
      });
    },
  },
  {
    name: 'retry',
    needs: 'converse',
    summary: 'take back the last answer and ask again',
    category: 'session',
    busy: 'rejected',
    async run({ host }) {
      const again = await host.askAgain();
      if (!again) return text('There is nothing to ask again.');
      return { kind: 'prompt', text: `Asking again: ${firstLine(again.text)}`, messageId: again.messageId };
    },
  },
  {
    name: 'branch',
    needs: 'converse',
    aliases: ['fork'],
    takes: '[title]',
    summary: 'go on in a copy of this conversation',
    category: 'session',
    surfaces: ownSurfaces,
    busy: 'allowed',
    async run({ host, args }) {
      const { session_id, title, message_count } = await host.call('session.branch', args ? { title: args.slice(0, 200) } : {});
      return { kind: 'session', text: `Branched ${message_count} messages into ${title ?? session_id}.`, sessionId: session_id };
    },
  },
  {
    name: 'compress',
    needs: 'converse',
    takes: '[here [N] | --keep N | focus]',
    summary: 'replace what came before by a summary',
    category: 'session',
    busy: 'rejected',
    completes: ['here', '--keep'],
    run: compress,
  },
  {
    name: 'save',
    needs: 'converse',
    takes: '[file]',
    summary: 'write the conversation into a file',
    category: 'session',
    surfaces: screens,
    busy: 'allowed',
    local: true,
    completes: 'path',
  },
  {
    name: 'stop',
    needs: 'converse',
    aliases: ['interrupt'],
    summary: 'interrupt the running turn',
    category: 'session',
    busy: 'allowed',
    async run({ host }) {
      const { status } = await host.call('session.interrupt', {});
      return text(status === 'interrupted' ? 'Stopped.' : 'No turn runs.');
    },
  },
  {
    name: 'more',
    needs: 'converse',
    summary: 'show what was cut off the last answer',
    category: 'session',
    surfaces: ['gateway'],
    busy: 'allowed',
    // The gateway itself answers it where it is written whole and alone.
    run(invocation) {
      throw usage(invocation, 'write it alone');
    },
  },
  {
    name: 'steer',
    needs: 'converse',
    takes: '<text>',
    summary: 'tell the running turn something; it reads it with its next tool result',
    category: 'session',
    busy: 'allowed',
    async run({ host, args, name }) {
      if (!args) throw usage({ name, takes: '<text>' }, 'what should it be told?');
      if (!host.busy()) return prompted(host, args, 'No turn runs: it is asked as a prompt.');
      const { status, message_id } = await host.call('session.steer', { text: args });
      const said =
        { steered: 'It joins the running turn.', queued: 'It waits behind the running turn.' }[status] ??
        'No turn runs: it is asked as a prompt.';
      return { kind: 'prompt', text: said, messageId: message_id };
    },
  },
  {
    name: 'queue',
    needs: 'converse',
    aliases: ['q'],
    takes: '[prompt | list | edit N <prompt> | rm N | move A B | clear | add <prompt>]',
    summary: 'manage prompts that wait; survives a restart',
    category: 'session',
    busy: 'allowed',
    completes: 'queue',
    run: runQueue,
  },
  {
    name: 'btw',
    needs: 'converse',
    takes: '<question>',
    summary: 'ask beside the conversation; it is not touched',
    category: 'session',
    busy: 'allowed',
    async run({ host, args, name }) {
      if (!args) throw usage({ name, takes: '<question>' }, 'what is the question?');
      const { task_id } = await host.call('prompt.btw', { text: args });
      const answer = await host.sideAnswer(task_id);
      return text(answer ?? 'Asked on the side.', { task_id });
    },
  },
  {
    name: 'bg',
    needs: 'converse',
    takes: '<prompt>',
    summary: 'work on a prompt in a session of its own, in the background',
    category: 'session',
    busy: 'allowed',
    async run({ host, args, name }) {
      if (!args) throw usage({ name, takes: '<prompt>' }, 'what should be worked on?');
      const { task_id, session_id } = await host.call('prompt.background', { text: args });
      return text(`Working on it in the background (${session_id}). The result appears here.`, { task_id, session_id });
    },
  },
  {
    name: 'approve',
    exact: true,
    needs: 'answer_approvals',
    takes: '[session | always]',
    summary: 'allow the oldest call that waits for approval',
    category: 'session',
    busy: 'allowed',
    completes: ['session', 'always'],
    async run({ host, args, name }) {
      const choice = args || 'once';
      if (choice !== 'once' && choice !== 'session' && choice !== 'always')
        throw usage({ name, takes: '[session | always]' }, `"${args}" is not a choice`);
      const { resolved } = await host.call('approval.respond', { choice });
      return text(resolved ? `Allowed (${choice}).` : 'Nothing waits for approval.');
    },
  },
  {
    name: 'deny',
    needs: 'answer_approvals',
    summary: 'refuse the oldest call that waits for approval',
    category: 'session',
    busy: 'allowed',
    async run({ host }) {
      const { resolved } = await host.call('approval.respond', { choice: 'deny' });
      return text(resolved ? 'Denied.' : 'Nothing waits for approval.');
    },
  },
  {
    name: 'redraw',
    needs: 'converse',
    summary: 'draw the screen again',
    category: 'session',
    surfaces: screens,
    busy: 'allowed',
    local: true,
  },
];

const firstLine = (prompt: string): string => {
  const line = prompt.split('\n')[0]!;
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
};

async function resume({ host, args }: Invocation): Promise<CommandResult> {
  const { sessions } = /^\d{1,3}$/.test(args) || !args ? await host.call('session.list', { limit: SESSIONS_SHOWN }) : { sessions: [] };
  const others = sessions.filter(({ id }) => id !== host.session.id);
  if (!args) {
    if (others.length === 0) return text('There is no other conversation yet.');
    const choices = others.map(({ id, title, preview }) => ({ label: title ?? firstLine(preview), line: `/resume ${id}` }));
    return { kind: 'choice', text: 'Which conversation?', choices };
  }
  const id = sessions[Number(args) - 1]?.id ?? host.findSession(args)?.id;
  if (id === undefined) throw new AgentError('UNKNOWN_SESSION', `there is no conversation "${args}"`, { fix: '/sessions lists them' });
  return { kind: 'session', text: '', sessionId: id };
}

/** Interface spec, Slash commands: `here [N]` or `--keep N`, two exchanges stay by default; anything else is the focus. */
async function compress({ host, args, name }: Invocation): Promise<CommandResult> {
  const takes = '[here [N] | --keep N | focus]';
  const [first, rest] = split(args);
  const words = /^--keep=\d+$/.test(first) ? ['--keep', first.slice(7), rest] : [first, ...split(rest)];
  let params: { keep?: number; focus?: string } = args ? { focus: args.slice(0, 500) } : {};
  if (words[0]!.toLowerCase() === 'here') {
    if (words[1] && !/^\d{1,3}$/.test(words[1])) throw usage({ name, takes }, `"${words[1]}" is not a number of exchanges`);
    params = { keep: words[1] ? Number(words[1]) : KEEP_DEFAULT, ...(words[2] ? { focus: words[2].slice(0, 500) } : {}) };
  } else if (words[0] === '--keep') {
    if (!/^\d{1,3}$/.test(words[1] ?? '')) throw usage({ name, takes }, '--keep takes a number of exchanges');
    params = { keep: Number(words[1]), ...(words[2] ? { focus: words[2].slice(0, 500) } : {}) };
  }
  const done = await host.call('session.compress', params);
  // The word that programs read stands before the colon.
  const why = done.note.replace(/^[a-z_]+: /, '');
  return text(done.status === 'compressed' ? `Compressed. ${done.note}` : `Not compressed: ${why}`, done);
}

const KEEP_DEFAULT = 2;
