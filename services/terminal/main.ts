/**
 * The terminal worker: shells on pseudoterminals for the page, alone in a process because node-pty is
 * native. Starts when the first terminal is asked for, leaves when none has been open for a while.
 * A terminal belongs to the link that opened it and ends with it; nothing here is durable.
 */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import * as contract from '../../ipc/contracts/terminal.ts';
import { handle, onNotice, type Link } from '../../ipc/link.ts';
import { runWorker, type WorkerContext, type WorkerService } from '../worker.ts';
import { openTerminal, type Terminal } from './shell.ts';

async function startTerminals(context: WorkerContext): Promise<WorkerService> {
  const terminals = new Map<string, Terminal>();
  /** Opened or being opened: the cap counts both, so that a burst cannot pass it. */
  let held = 0;
  let draining = false;
  let idle = leaveLater(context);

  const open = async (link: Link, params: Parameters<typeof openTerminal>[0]['params']) => {
    if (draining) throw new AgentError('DRAINING', 'the terminal worker is leaving', { fix: 'open the terminal again in a moment' });
    if (held >= limits.terminal.sessionsMax) {
      throw new AgentError('TOO_MANY_TERMINALS', `${held} terminals are open, as many as are allowed`, { fix: 'close one of them first' });
    }
    held++;
    clearTimeout(idle);
    try {
      const terminal = await openTerminal({ context, link, params });
      terminals.set(terminal.id, terminal);
      void terminal.ended.then(() => forget(terminal));
      return terminal;
    } catch (thrown) {
      release();
      throw thrown;
    }
  };
  const forget = (terminal: Terminal) => {
    terminals.delete(terminal.id);
    release();
  };
  const release = () => {
    held--;
    if (held > 0 || draining) return;
    clearTimeout(idle);
    idle = leaveLater(context);
  };
  /** Only the link that opened a terminal may touch it. */
  const owned = (id: string, link: Link): Terminal => {
    const terminal = terminals.get(id);
    if (!terminal || terminal.link !== link) throw new AgentError('UNKNOWN_TERMINAL', `no open terminal has the id ${id}`);
    return terminal;
  };
  const closeAll = async (): Promise<number> => {
    const open = [...terminals.values()];
    await Promise.all(open.map((terminal) => terminal.close()));
    return open.length;
  };

  return {
    handlers: [
      handle(contract.open, async (params, { link }) => {
        const { id, pid, shell } = await open(link, params);
        return { pty_id: id, pid, shell };
      }),
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

function leaveLater(context: WorkerContext): NodeJS.Timeout {
  const idleMs = context.config().config.supervisor?.workers?.terminal?.idle_ms ?? limits.worker.idleMs;
  return setTimeout(() => context.leave(`no terminal was open for ${idleMs} ms`), idleMs);
}

await runWorker('terminal', startTerminals);
