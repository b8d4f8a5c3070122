/** `/api/logs/follow`: the last lines of a log, then each new one, as JSON messages `{lines: [...]}`. */
import type { WebSocket } from 'ws';
import { errorFields } from '../../../base/log.ts';
import { limits } from '../../../base/limits.ts';
import { DEFAULT_PROFILE, requireProfile } from '../../../state/home.ts';
import type { Dashboard } from '../http.ts';
import { followLog, matches, tailLog } from '../logFile.ts';
import { parseRequest } from '../problem.ts';
import { requireLog } from '../routes/logs.ts';
import { LogQuery } from '../../../ipc/contracts/http/logs.ts';
import type { SocketRoute } from './upgrade.ts';

export function followLogs({ context: { home, log } }: Dashboard): SocketRoute {
  const read = (query: URLSearchParams) => {
    const { profile = DEFAULT_PROFILE, ...rest } = parseRequest(LogQuery, Object.fromEntries(query));
    return { ...rest, path: requireLog(requireProfile(home, profile), rest.file) };
  };
  return {
    prepare: (query) => void read(query),
    serve(socket, query) {
      const { path, lines: count, level, component, text } = read(query);
      const filter = { level, component, text };
      const gone = new AbortController();
      socket.once('close', () => gone.abort());
      const send = async (lines: string[]) => {
        const passing = lines.filter((line) => matches(line, filter));
        if (passing.length > 0) await sendAndWait(socket, JSON.stringify({ lines: passing }));
      };
      const run = async () => {
        const { lines, end } = await tailLog(path, count, filter);
        await sendAndWait(socket, JSON.stringify({ lines, ready: true }));
        await followLog(path, { from: end, onLines: send, signal: gone.signal });
      };
      run().catch((thrown: unknown) => {
        log.warn('following a log failed', { path, ...errorFields(thrown) });
        socket.close(1011, 'the log cannot be read');
      });
    },
  };
}

/** Answers when the tab has taken it, so the file is read no faster than the tab reads. */
function sendAndWait(socket: WebSocket, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.readyState !== socket.OPEN) return resolve();
    socket.send(text, () => {
      if (socket.bufferedAmount < limits.dashboard.socketPauseBytes) return resolve();
      const look = setInterval(() => {
        if (socket.readyState === socket.OPEN && socket.bufferedAmount >= limits.dashboard.socketPauseBytes) return;
        clearInterval(look);
        resolve();
      }, 50);
    });
  });
}
