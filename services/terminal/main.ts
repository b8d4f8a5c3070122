/**
 * The terminal worker: shells on pseudoterminals for the page, alone in a process because node-pty is
 * native. Starts when the first terminal is asked for, leaves when none has been open for a while.
 * A terminal belongs to the link that holds it, and ends with it unless its page may come back; nothing here is durable.
 */
import { timingSafeEqual } from 'node:crypto';
import { AgentError } from '../../base/errors.ts';
import { digest } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import * as contract from '../../ipc/contracts/terminal.ts';
import { handle, onNotice, type Link } from '../../ipc/link.ts';
import type { ParamsOf, ResultOf } from '../../ipc/method.ts';
import { runWorker, type WorkerContext, type WorkerService } from '../worker.ts';
import { openTerminal, type Terminal } from './shell.ts';

async function startTerminals(context: WorkerContext): Promise<WorkerService> {
  const terminals = new Map<string, Terminal>();
  /** Opened or being opened: the cap counts both, so that a burst cannot pass it. */
  let held = 0;
  const heldBy = new Map<string, number>();
  let draining = false;
  let idle = leaveLater(context);

  const open = async (link: Link, params: Parameters<typeof openTerminal>[0]['params']) => {
    if (draining) throw new AgentError('DRAINING', 'the terminal worker is leaving', { fix: 'open the terminal again in a moment' });
    if (held >= limits.terminal.sessionsMax) {
      throw new AgentError('TOO_MANY_TERMINALS', `${held} terminals are open, as many as are allowed`, { fix: 'close one of them first' });
    }
    if ((heldBy.get(params.owner) ?? 0) >= limits.terminal.sessionsPerOwnerMax) {
      throw new AgentError(
        'TOO_MANY_TERMINALS',
        `${limits.terminal.sessionsPerOwnerMax} terminals of this person are open, as many as are allowed`,
        {
          fix: 'close one of them first',
        },
      );
    }
    held++;
    heldBy.set(params.owner, (heldBy.get(params.owner) ?? 0) + 1);
    clearTimeout(idle);
    try {
      const terminal = await openTerminal({ context, link, params });
      terminals.set(terminal.id, terminal);
      void terminal.ended.then(() => forget(terminal));
      return terminal;
    } catch (thrown) {
      release(params.owner);
      throw thrown;
    }
  };
  const forget = (terminal: Terminal) => {
    terminals.delete(terminal.id);
    release(terminal.owner);
  };
  const release = (owner: string) => {
    held--;
    const left = heldBy.get(owner)! - 1;
    if (left > 0) heldBy.set(owner, left);
    else heldBy.delete(owner);
    if (held > 0 || draining) return;
    clearTimeout(idle);
    idle = leaveLater(context);
  };
  const resume = ({ pty_id, resume_key, owner, cols, rows }: ParamsOf<typeof contract.resume>, link: Link): Terminal => {
    const terminal = terminals.get(pty_id);
    if (!terminal || terminal.owner !== owner || !isSame(terminal.resumeKey, resume_key)) throw unknown(pty_id);
    terminal.attach(link);
    terminal.resize(cols, rows);
    return terminal;
  };
  /** Only the link that holds a terminal may touch it. */
  const owned = (id: string, link: Link): Terminal => {
    const terminal = terminals.get(id);
    if (!terminal || terminal.link !== link) throw unknown(id);
    return terminal;
  };
  const closeAll = async (): Promise<number> => {
    const open = [...terminals.values()];
    await Promise.all(open.map((terminal) => terminal.close()));
    return open.length;
  };

  return {
    handlers: [
      handle(contract.open, async (params, { link }) => opened(await open(link, params))),
      handle(contract.resume, (params, { link }) => opened(resume(params, link))),
      handle(contract.resize, ({ pty_id, cols, rows }, { link }) => {
        owned(pty_id, link).resize(cols, rows);
        return {};
      }),
      handle(contract.close, async ({ pty_id }, { link }) => {
        await owned(pty_id, link).close();
        return {};
      }),
    ],
    notices: [
      onNotice(contract.input, ({ pty_id, data }, link) => {
        const terminal = terminals.get(pty_id);
        if (terminal?.link === link) terminal.write(data);
      }),
    ],
    active: () => [...terminals.values()].map(({ shell, pid }) => `${shell} (${pid})`),
    async drain() {
      // A shell has no end of its own to wait for: its owner is told and it is closed.
      draining = true;
      clearTimeout(idle);
      return { interrupted: await closeAll() };
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(idle);
      await closeAll();
    },
  };
}

const opened = ({ id, pid, shell, resumeKey }: Terminal): ResultOf<typeof contract.open> => ({
  pty_id: id,
  pid,
  shell,
  resume_key: resumeKey,
});

const unknown = (id: string): AgentError => new AgentError('UNKNOWN_TERMINAL', `no open terminal has the id ${id.slice(0, 100)}`);

const isSame = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(digest(a)), Buffer.from(digest(b)));

function leaveLater(context: WorkerContext): NodeJS.Timeout {
  const idleMs = context.config().config.supervisor?.workers?.terminal?.idle_ms ?? limits.worker.idleMs;
  return setTimeout(() => context.leave(`no terminal was open for ${idleMs} ms`), idleMs);
}

await runWorker('terminal', startTerminals);
