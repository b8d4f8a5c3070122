/** The lines of one log, live: a WebSocket that is dialled again, and a bounded list of what it said. */
import { useEffect, useState } from 'react';
import { socketAddress } from '../api.ts';
import { renewToken } from '../token.ts';

export interface LogLine {
  id: number;
  time: string;
  level: string;
  component: string;
  msg: string;
  /** The other fields, short. */
  fields: string;
  raw: string;
  /** All of it, for reading. */
  whole(): string;
}

/** Lines kept; the oldest go first. */
const LINES_MAX = 5_000;
/** Lines asked for at the start. */
const LINES_FIRST = 500;
const REDIAL_MS = 1_000;
/** Lines of a burst are drawn together. */
const DRAW_MS = 100;

let nextId = 1;

export function useLogLines(file: string, level: string): { lines: readonly LogLine[]; connected: boolean } {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [connected, setConnected] = useState(false);

  useEffect(() => {
    let socket: WebSocket | undefined;
    let redial: ReturnType<typeof setTimeout> | undefined;
    let draw: ReturnType<typeof setTimeout> | undefined;
    let fresh: LogLine[] = [];
    let stopped = false;
    const dial = async () => {
      const address = await socketAddress('/api/logs/follow', { file, level, lines: LINES_FIRST }).catch(() => undefined);
      if (stopped) return;
      if (address === undefined) return void (redial = setTimeout(dial, REDIAL_MS));
      socket = new WebSocket(address);
      socket.onmessage = ({ data }) => {
        const { lines: said, ready } = JSON.parse(data as string) as { lines: string[]; ready?: boolean };
        if (ready) {
          // The start of a connection holds the last lines again: they replace what is shown.
          setConnected(true);
          setLines([]);
          fresh = [];
        }
        fresh.push(...said.map(readLine));
        draw ??= setTimeout(
          () => {
            draw = undefined;
            const more = fresh;
            fresh = [];
            setLines((before) => [...before, ...more].slice(-LINES_MAX));
          },
          ready ? 0 : DRAW_MS,
        );
      };
      socket.onclose = async ({ code }) => {
        if (stopped) return;
        if (code === 4401) await renewToken().catch(() => false);
        redial = setTimeout(dial, REDIAL_MS);
      };
    };
    setLines([]);
    setConnected(false);
    void dial();
    return () => {
      stopped = true;
      clearTimeout(redial);
      clearTimeout(draw);
      socket?.close();
    };
  }, [file, level]);

  return { lines, connected };
}

const HIDDEN = new Set(['time', 'level', 'component', 'msg', 'slot', 'pid']);

function readLine(raw: string): LogLine {
  const record = recordOf(raw);
  const fields = Object.entries(record ?? {})
    .filter(([name]) => !HIDDEN.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const at = new Date(String(record?.time));
  return {
    id: nextId++,
    time: Number.isNaN(at.getTime()) ? '--:--:--' : at.toLocaleTimeString('en-GB'),
    level: String(record?.level ?? 'info'),
    component: String(record?.component ?? ''),
    msg: String(record?.msg ?? raw),
    fields: fields.join(' ').slice(0, 300),
    raw,
    whole: () => (record ? JSON.stringify(record, null, 2).replaceAll('\\n', '\n') : raw),
  };
}

function recordOf(raw: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
