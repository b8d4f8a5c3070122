/** The lines of one log, live: a WebSocket that is dialled again, and a bounded list of what it said. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { printedLine } from '../../base/visibleText.ts';
import { request, socketAddress } from '../api.ts';
import { renewToken } from '../token.ts';

/** Lines kept; the oldest go first. As many as the service keeps of a log. */
export const LINES_MAX = 100_000;
/** Lines asked for at the start. */
const LINES_FIRST = 2_000;
const REDIAL_MS = 1_000;
/** Lines of a burst are drawn together. */
const DRAW_MS = 100;

let lastId = 0;

/** One line, read when it is first drawn: of a hundred thousand few ever are. */
export class LogLine {
  readonly id = ++lastId;
  readonly raw: string;
  #record: Record<string, unknown> | null | undefined;

  constructor(raw: string) {
    this.raw = raw;
  }

  /** Null for the words of a program that writes no JSON. */
  get record(): Record<string, unknown> | null {
    if (this.#record === undefined) this.#record = recordOf(this.raw);
    return this.#record;
  }

  get time(): string {
    const at = new Date(String(this.record?.time));
    return Number.isNaN(at.getTime()) ? '--:--:--' : at.toLocaleTimeString('en-GB');
  }

  get level(): string {
    return String(this.record?.level ?? 'info');
  }

  get component(): string {
    return String(this.record?.component ?? '');
  }

  get msg(): string {
    return printedLine(String(this.record?.msg ?? this.raw));
  }

  /** The other fields, short. */
  get fields(): string {
    const others = Object.entries(this.record ?? {}).filter(([name]) => !HIDDEN.has(name));
    const text = others.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`).join(' ');
    return printedLine(text.slice(0, 300));
  }
}

const HIDDEN = new Set(['time', 'level', 'component', 'msg', 'slot', 'pid']);

function recordOf(raw: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

export interface LogChoice {
  file: string;
  level: string;
  /** Empty = all. */
  component: string;
  profile: string | undefined;
}

export interface LogLines {
  lines: readonly LogLine[];
  connected: boolean;
  /** Why no line comes: there is no such log. */
  refused: Error | null;
  /** All lines that the service keeps, instead of the last ones. */
  loadAll: () => Promise<void>;
  /** Older lines are known to be left out. */
  partial: boolean;
}

export function useLogLines({ file, level, component, profile }: LogChoice): LogLines {
  const [lines, setLines] = useState<readonly LogLine[]>([]);
  const [connected, setConnected] = useState(false);
  const [partial, setPartial] = useState(false);
  const [refused, setRefused] = useState<Error | null>(null);
  /** Counts up with each choice: an answer to an earlier one is dropped. */
  const choice = useRef(0);

  useEffect(() => {
    let redial: ReturnType<typeof setTimeout> | undefined;
    let socket: WebSocket | undefined;
    let stopped = false;
    const drawn = drawTogether((fresh) => setLines((before) => [...before, ...fresh].slice(-LINES_MAX)));
    const query = { file, level, lines: LINES_FIRST, component: component || undefined, profile };
    const dial = async () => {
      let opened = false;
      const address = await socketAddress('/api/logs/follow', query).catch(() => undefined);
      if (stopped) return;
      if (address === undefined) return void (redial = setTimeout(dial, REDIAL_MS));
      socket = new WebSocket(address);
      socket.onopen = () => (opened = true);
      socket.onmessage = ({ data }) => {
        const { lines: said, ready } = JSON.parse(data as string) as { lines: string[]; ready?: boolean };
        if (!ready) return drawn.push(said);
        // The start of a connection holds the last lines again: they replace what is shown.
        drawn.drop();
        setConnected(true);
        setRefused(null);
        setPartial(said.length >= LINES_FIRST);
        setLines(said.map((raw) => new LogLine(raw)));
      };
      socket.onclose = async ({ code }) => {
        if (stopped) return;
        if (code === 4401) await renewToken().catch(() => false);
        // A browser cannot read why an upgrade was refused; the same question over HTTP says it.
        else if (!opened)
          await request('GET /api/logs', { query: { ...query, lines: 0 } as never }).then(
            () => setRefused(null),
            (thrown: Error) => setRefused(thrown),
          );
        if (!stopped) redial = setTimeout(dial, REDIAL_MS);
      };
    };
    choice.current++;
    setLines([]);
    setConnected(false);
    setRefused(null);
    void dial();
    return () => {
      stopped = true;
      clearTimeout(redial);
      drawn.drop();
      socket?.close();
    };
  }, [file, level, component, profile]);

  const loadAll = useCallback(async () => {
    const asked = choice.current;
    const query = { file, level, lines: LINES_MAX, component: component || undefined, profile };
    const { lines: all } = await request('GET /api/logs', { query: query as never });
    if (asked !== choice.current) return;
    setPartial(false);
    setLines((before) => joined(all, before));
  }, [file, level, component, profile]);

  return { lines, connected, refused, loadAll, partial };
}

/** What was read from the file, and after it what has been followed since. */
function joined(all: readonly string[], followed: readonly LogLine[]): LogLine[] {
  const known = followed.findLastIndex(({ raw }) => raw === all.at(-1));
  return [...all.map((raw) => new LogLine(raw)), ...(known < 0 ? [] : followed.slice(known + 1))].slice(-LINES_MAX);
}

function drawTogether(draw: (lines: LogLine[]) => void): { push(raw: readonly string[]): void; drop(): void } {
  let fresh: LogLine[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    push(raw) {
      for (const line of raw) fresh.push(new LogLine(line));
      timer ??= setTimeout(() => {
        timer = undefined;
        const more = fresh;
        fresh = [];
        draw(more);
      }, DRAW_MS);
    },
    drop() {
      clearTimeout(timer);
      timer = undefined;
      fresh = [];
    },
  };
}

/** Names of components in the lines, without reading the lines. */
export function componentsOf(lines: readonly LogLine[]): string[] {
  const found = new Set<string>();
  for (const { raw } of lines) {
    const at = raw.indexOf('"component":"');
    if (at < 0) continue;
    const end = raw.indexOf('"', at + 13);
    if (end > 0) found.add(raw.slice(at + 13, end));
  }
  return [...found].toSorted();
}
