/**
 * `/api/pty`: a terminal of the terminal worker in a page. Text messages are JSON in both directions
 * (`input`, `resize`; `ready`, `exit`, `error`), binary messages are the shell's output. One link per
 * terminal: when the page says goodbye the shell ends; when it is lost the shell waits a minute for it to come
 * back with `?resume=` (what `ready` gave it), and says its latest output again.
 */
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { AgentError, isAgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { isTransport } from '../../../ipc/client.ts';
import { ensureSlot } from '../../../ipc/contracts/supervisor.ts';
import * as terminal from '../../../ipc/contracts/terminal.ts';
import { dial } from '../../../ipc/dial.ts';
import { onNotice, type Link, type NoticeHandler } from '../../../ipc/link.ts';
import type { ResultOf } from '../../../ipc/method.ts';
import { requireProfile } from '../../../state/home.ts';
import type { Identity } from '../auth/identity.ts';
import type { Dashboard } from '../http.ts';
import { parseRequest } from '../problem.ts';
import { createOutlet } from './outlet.ts';
import type { SocketRoute } from './upgrade.ts';

const SLOT = 'terminal';

const Query = z.looseObject({
  cols: z.coerce.number().int().min(2).max(1_000).default(80),
  rows: z.coerce.number().int().min(1).max(500).default(24),
  profile: z.string().optional(),
  resume: z
    .string()
    .regex(/^[\w-]{1,100}\.[0-9a-f]{32}$/, 'it is not what `ready` gave')
    .optional(),
});
const Said = z.discriminatedUnion('type', [
  z.object({ type: z.literal('input'), data: z.string().max(limits.dashboard.terminalInputMaxBytes) }),
  z.object({ type: z.literal('resize'), cols: z.number().int().min(2).max(1_000), rows: z.number().int().min(1).max(500) }),
]);

export function bridgeTerminal(dashboard: Dashboard): SocketRoute {
  const { home } = dashboard.context;
  return {
    prepare(query) {
      const { profile } = parseRequest(Query, Object.fromEntries(query));
      if (profile !== undefined) requireProfile(home, profile);
    },
    serve: (socket, query, who) =>
      void bridge(socket, { ...parseRequest(Query, Object.fromEntries(query)), owner: ownerOf(who) }, dashboard),
  };
}

/** Whose terminals count together. */
const ownerOf = ({ provider, user_id }: Identity): string => (provider === 'local' ? 'local' : `${provider}:${user_id}`);

type Wanted = z.infer<typeof Query> & { owner: string };

async function bridge(socket: WebSocket, size: Wanted, dashboard: Dashboard): Promise<void> {
  const say = (message: Record<string, unknown>) => socket.readyState === socket.OPEN && socket.send(JSON.stringify(message));
  // Keys pressed before the shell is there wait in the socket.
  socket.pause();
  let link: Link | undefined;
  try {
    const opened = await openTerminal(dashboard, size, (open) => outputOf(socket, open, say));
    link = opened.link;
    const { pty_id, pid, shell, resume_key } = opened.terminal;
    say({ type: 'ready', pid, shell, resume: `${pty_id}.${resume_key}`, resumed: size.resume !== undefined });
    opened.flow();
    socket.on('message', (data: Buffer, isBinary) => hear(isBinary ? undefined : data, { link: opened.link, pty_id, socket }));
    socket.once('close', (code) => leave(opened.link, pty_id, code));
    socket.resume();
    if (socket.readyState !== socket.OPEN) opened.link.close();
    await link.closed;
    say({ type: 'error', message: 'the terminal worker ended' });
  } catch (thrown) {
    const { code, fix } = isAgentError(thrown) ? thrown : { code: 'INTERNAL', fix: undefined };
    dashboard.context.log.warn(`no terminal for a page: ${messageOf(thrown)}`);
    say({ type: 'error', code, message: messageOf(thrown), ...(fix ? { fix } : {}) });
  } finally {
    socket.resume();
    link?.close();
    socket.close(1011, 'the terminal ended');
  }
}

/** What a browser says when it means to go: the tab was closed, left or loaded again. Anything else is a loss. */
const GOODBYES: ReadonlySet<number> = new Set([1000, 1001, 1005, 1008]);

function leave(link: Link, pty_id: string, code: number): void {
  if (!GOODBYES.has(code)) return link.close();
  void link
    .call(terminal.close, { pty_id })
    .catch(() => {})
    .finally(() => link.close());
}

interface Output {
  notices: NoticeHandler[];
  /** The page knows what it gets: what came before that, and everything after. */
  flow(): void;
}

function outputOf(socket: WebSocket, link: () => Link | undefined, say: (message: Record<string, unknown>) => void): Output {
  const outlet = createOutlet(socket, { pause: () => link()?.pause(), resume: () => link()?.resume() });
  let early: (() => void)[] | undefined = [];
  const inOrder = (send: () => void) => (early ? void early.push(send) : send());
  return {
    notices: [
      onNotice(terminal.data, ({ data }) => inOrder(() => outlet.send(Buffer.from(data), { binary: true }))),
      onNotice(terminal.exit, ({ code, signal }) =>
        inOrder(() => {
          say({ type: 'exit', code, signal });
          socket.close(1000, 'the shell ended');
        }),
      ),
    ],
    flow() {
      const waiting = early ?? [];
      early = undefined;
      for (const send of waiting) send();
    },
  };
}

function hear(data: Buffer | undefined, { link, pty_id, socket }: { link: Link; pty_id: string; socket: WebSocket }): void {
  const said = Said.safeParse(data && jsonOf(data));
  if (!said.success) return socket.close(1008, 'a message must be {"type":"input"} or {"type":"resize"}');
  if (said.data.type === 'input') link.notify(terminal.input, { pty_id, data: said.data.data });
  else void link.call(terminal.resize, { pty_id, cols: said.data.cols, rows: said.data.rows }).catch(() => {});
}

/**
 * The worker may be about to leave for want of work just as it is dialled: one that drains or vanishes
 * is waited for and asked again, within the start-up budget.
 */
async function openTerminal(
  dashboard: Dashboard,
  { cols, rows, profile, resume, owner }: Wanted,
  outputOf: (link: () => Link | undefined) => Output,
): Promise<{ link: Link; terminal: ResultOf<typeof terminal.open>; flow: () => void }> {
  const deadlineMs = performance.now() + limits.ipc.startingMs;
  for (;;) {
    let link: Link | undefined;
    const { notices, flow } = outputOf(() => link);
    try {
      link = await dialTerminal(dashboard, notices);
      if (resume !== undefined) {
        const [pty_id, resume_key] = resume.split('.') as [string, string];
        return { link, flow, terminal: await link.call(terminal.resume, { pty_id, resume_key, cols, rows, owner }) };
      }
      const asked = { cols, rows, owner, keep: true, ...(profile === undefined ? {} : { profile }) };
      return { link, flow, terminal: await link.call(terminal.open, asked) };
    } catch (thrown) {
      link?.close();
      if (!link || !isTransport(thrown) || performance.now() > deadlineMs) throw thrown;
      await link.closed;
    }
  }
}

async function dialTerminal({ context, overview }: Dashboard, notices: NoticeHandler[]): Promise<Link> {
  const options = { token: context.token, slot: context.slot, code: context.release.code, signal: context.signal, notices };
  const path = context.home.run.socket(SLOT);
  try {
    return await dial(path, options);
  } catch (thrown) {
    if (!isTransport(thrown)) throw thrown;
  }
  await overview.supervisor.call(ensureSlot, { slot: SLOT }).catch((cause: unknown) => {
    throw isTransport(cause)
      ? new AgentError('PEER_UNREACHABLE', 'the terminal worker does not run and no supervisor can start it', {
          cause,
          fix: 'run `agent up`',
        })
      : cause;
  });
  return dial(path, { ...options, startingMs: limits.ipc.startingMs });
}

function jsonOf(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}
