/**
 * One shell behind a WebSocket: keys and sizes go out as JSON, its bytes come in as they are. When the dashboard
 * restarts, the shell waits a minute for this page, which dials until it is back and gets the latest output again.
 */
import type { Terminal } from '@xterm/xterm';
import { socketAddress } from '../api.ts';
import { renewToken } from '../token.ts';

export interface ScreenState {
  phase: 'opening' | 'open' | 'lost' | 'ended';
  /** Name of the shell, or how it ended. */
  text: string;
}

type Said =
  | { type: 'ready'; shell: string; pid: number; resume?: string; resumed?: boolean }
  | { type: 'exit'; code: number | null }
  | { type: 'error'; code?: string; message: string; fix?: string };

/** Of our own: the ones of the protocol mean that the shell may end. */
const CLOSE_AWAY = 4000;
const REDIAL_MS = 700;
const WAITING_MAX = 64 * 1024;
/** The shell waits about a minute for its page. */
const GIVE_UP_MS = 60_000;

interface LinkOptions {
  profile: string | undefined;
  /** A shell of before a reload. */
  resume?: string | undefined;
  onState: (state: ScreenState) => void;
  /** What is typed, before it is sent. */
  onKeys: (data: string) => string;
}

export interface Link {
  /** As if it were typed. */
  type(data: string): void;
  /** By this the shell is found again; undefined before it has started and after its end. */
  resume(): string | undefined;
  close(): void;
}

export function connect(screen: Terminal, { profile, resume: earlier, onState, onKeys }: LinkOptions): Link {
  let socket: WebSocket | undefined;
  let ended = false;
  let opened = false;
  let resume = earlier;
  let lostAt = 0;
  /** What stands in the way of a shell that has not begun. */
  let why = 'The dashboard does not answer';
  let redial: ReturnType<typeof setTimeout> | undefined;
  const end = (text: string) => {
    if (ended) return;
    ended = true;
    resume = undefined;
    onState({ phase: 'ended', text });
  };
  /** Typed while there is no shell at the other end, or no line to it. */
  let waiting = '';
  const say = (message: object) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));

  const hear = (said: Said) => {
    if (said.type === 'exit') return end(said.code === 0 ? 'The shell has ended.' : `The shell ended with ${said.code ?? 'a signal'}.`);
    if (said.type === 'error') {
      const words = `${said.message}${said.fix ? ` — ${said.fix}` : ''}`;
      // Its connection ends behind this, and is dialled anew.
      if ((resume !== undefined || !opened) && MAY_PASS.has(said.code ?? '')) return void (why = words);
      // The reload took too long: a new one, without a word about the old.
      if (!opened && resume !== undefined && said.code === 'UNKNOWN_TERMINAL') return void (resume = undefined);
      return end(resume !== undefined && said.code === 'UNKNOWN_TERMINAL' ? GONE : words);
    }
    opened = true;
    resume = said.resume;
    lostAt = 0;
    // What it said last comes again.
    if (said.resumed) screen.reset();
    onState({ phase: 'open', text: said.shell });
    // The place may have changed its size while the shell was starting.
    say({ type: 'resize', cols: screen.cols, rows: screen.rows });
    if (waiting !== '') say({ type: 'input', data: waiting });
    waiting = '';
  };
  const lost = () => {
    lostAt ||= performance.now();
    if (performance.now() - lostAt > GIVE_UP_MS) return end(resume === undefined ? why : GONE);
    onState({ phase: 'lost', text: resume === undefined ? `${why}. Dialling…` : 'The connection was lost. The shell goes on; dialling…' });
    redial = setTimeout(dial, REDIAL_MS);
  };
  const dial = async () => {
    const address = await socketAddress('/api/pty', { cols: screen.cols, rows: screen.rows, profile, resume }).catch(() => undefined);
    if (ended) return;
    if (address === undefined) return lost();
    socket = new WebSocket(address);
    socket.binaryType = 'arraybuffer';
    socket.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) screen.write(new Uint8Array(data));
      else hear(JSON.parse(data as string) as Said);
    };
    socket.onclose = async ({ code }) => {
      if (ended) return;
      if (code === 4401) await renewToken().catch(() => false);
      lost();
    };
  };
  void dial();
  const type = (data: string) => {
    if (opened && lostAt === 0) say({ type: 'input', data });
    else waiting = (waiting + data).slice(0, WAITING_MAX);
  };
  const keys = screen.onData((data) => type(onKeys(data)));
  /** A reload is no goodbye: the shell waits for the next page. */
  const leave = () => socket?.close(CLOSE_AWAY);
  addEventListener('pagehide', leave);
  const sizes = screen.onResize(({ cols, rows }) => say({ type: 'resize', cols, rows }));
  return {
    type,
    resume: () => resume,
    close() {
      ended = true;
      resume = undefined;
      removeEventListener('pagehide', leave);
      clearTimeout(redial);
      keys.dispose();
      sizes.dispose();
      socket?.close(1000);
    },
  };
}

const GONE = 'The connection was lost for too long, or the service restarted: the shell ended.';
/** Said while workers come and go. */
const MAY_PASS: ReadonlySet<string> = new Set(['PEER_GONE', 'PEER_UNREACHABLE', 'DRAINING', 'NO_SUPERVISOR', 'TIMEOUT']);
