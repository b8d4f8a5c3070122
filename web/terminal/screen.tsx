/** xterm on a WebSocket: keys and sizes go out as JSON, the shell's bytes come in as they are. */
import { FitAddon } from '@xterm/addon-fit';
import { Terminal, type ITheme } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef } from 'react';
import { socketAddress } from '../api.ts';
import { isDark, type Theme } from '../app/theme.ts';
import { renewToken } from '../token.ts';

export interface ScreenState {
  phase: 'opening' | 'open' | 'ended';
  /** Name of the shell, or how it ended. */
  text: string;
}

interface ScreenProps {
  look: Theme;
  onState: (state: ScreenState) => void;
}

type Said =
  | { type: 'ready'; shell: string; pid: number }
  | { type: 'exit'; code: number | null }
  | { type: 'error'; message: string; fix?: string };

export function Screen({ look, onState }: ScreenProps) {
  const box = useRef<HTMLDivElement>(null);
  const terminal = useRef<Terminal>(undefined);

  useEffect(() => {
    const screen = new Terminal({
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--font-mono'),
      fontSize: 14,
      lineHeight: 1.25,
      cursorBlink: true,
      scrollback: 5_000,
      theme: themeOf(),
    });
    terminal.current = screen;
    const fit = new FitAddon();
    screen.loadAddon(fit);
    openWithNonce(screen, box.current!);
    fit.fit();
    screen.focus();
    const link = connect(screen, onState);
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
      link.close();
      screen.dispose();
    };
  }, [onState]);

  useEffect(() => {
    const system = matchMedia('(prefers-color-scheme: dark)');
    const paint = () => {
      if (terminal.current) terminal.current.options.theme = themeOf();
    };
    paint();
    system.addEventListener('change', paint);
    return () => system.removeEventListener('change', paint);
  }, [look]);

  return <div ref={box} className="h-full w-full overflow-hidden" data-testid="terminal" />;
}

function connect(screen: Terminal, onState: (state: ScreenState) => void): { close(): void } {
  let socket: WebSocket | undefined;
  let ended = false;
  let renewed = false;
  const end = (text: string) => {
    if (ended) return;
    ended = true;
    onState({ phase: 'ended', text });
  };
  const say = (message: object) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));
  const dial = async (): Promise<void> => {
    const address = await socketAddress('/api/pty', { cols: screen.cols, rows: screen.rows }).catch(() => undefined);
    if (ended) return;
    if (address === undefined) return end('The dashboard cannot be reached.');
    socket = new WebSocket(address);
    socket.binaryType = 'arraybuffer';
    socket.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) return screen.write(new Uint8Array(data));
      const said = JSON.parse(data as string) as Said;
      if (said.type === 'ready') {
        onState({ phase: 'open', text: said.shell });
        // The place may have changed its size while the shell was starting.
        say({ type: 'resize', cols: screen.cols, rows: screen.rows });
      } else if (said.type === 'exit') end(said.code === 0 ? 'The shell has ended.' : `The shell ended with ${said.code ?? 'a signal'}.`);
      else end(`${said.message}${said.fix ? ` — ${said.fix}` : ''}`);
    };
    socket.onclose = async ({ code }) => {
      if (code === 4401 && !renewed && !ended) {
        renewed = true;
        if (await renewToken().catch(() => false)) return dial();
      }
      end('The connection to the terminal was lost; the shell ended with it.');
    };
  };
  void dial();
  const keys = screen.onData((data) => say({ type: 'input', data }));
  const sizes = screen.onResize(({ cols, rows }) => say({ type: 'resize', cols, rows }));
  return {
    close() {
      ended = true;
      keys.dispose();
      sizes.dispose();
      socket?.close();
    },
  };
}

/** xterm makes style elements while it opens; the page's policy lets only those with its nonce through. */
function openWithNonce(screen: Terminal, box: HTMLElement): void {
  const nonce = document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';
  const create = document.createElement.bind(document);
  document.createElement = (name: string, options?: ElementCreationOptions) => {
    const element = create(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
  try {
    screen.open(box);
  } finally {
    // The own property goes, the method of the prototype is back.
    delete (document as Partial<Document>).createElement;
  }
}

function themeOf(): ITheme {
  const shared = { cursorAccent: isDark() ? '#211f1c' : '#fffefc' };
  return isDark()
    ? {
        ...shared,
        background: '#211f1c',
        foreground: '#ece8e1',
        cursor: '#6fcbc1',
        selectionBackground: '#3f6660',
        black: '#38342f',
        red: '#f4a097',
        green: '#86cb93',
        yellow: '#e2b566',
        blue: '#8fb8e8',
        magenta: '#d3a5dc',
        cyan: '#6fcbc1',
        white: '#d8d2c8',
        brightBlack: '#9a9287',
        brightRed: '#ffbdb5',
        brightGreen: '#a5e0b0',
        brightYellow: '#f2cf8d',
        brightBlue: '#b3d0f4',
        brightMagenta: '#e6c3ec',
        brightCyan: '#9be0d8',
        brightWhite: '#fffefc',
      }
    : {
        ...shared,
        background: '#fffefc',
        foreground: '#25221d',
        cursor: '#0b6b66',
        selectionBackground: '#c5e4e0',
        black: '#25221d',
        red: '#ab2419',
        green: '#2b7139',
        yellow: '#855300',
        blue: '#24589c',
        magenta: '#7d3a88',
        cyan: '#0b6b66',
        white: '#726a5d',
        brightBlack: '#5c554a',
        brightRed: '#c63a2d',
        brightGreen: '#3b8549',
        brightYellow: '#9c6508',
        brightBlue: '#3b70b5',
        brightMagenta: '#94509f',
        brightCyan: '#14817b',
        brightWhite: '#4a443b',
      };
}
