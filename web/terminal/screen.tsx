/** xterm in the page: its size follows the room it has, its colours the theme. */
import { FitAddon } from '@xterm/addon-fit';
import { Terminal, type ITheme } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef } from 'react';
import { isDark, type Theme } from '../app/theme.ts';
import { connect, type ScreenState } from './link.ts';

interface ScreenProps {
  look: Theme;
  profile: string | undefined;
  fontSize: number;
  /** Of several only one is seen; a hidden one keeps its size. */
  shown: boolean;
  onState: (state: ScreenState) => void;
}

export function Screen({ look, profile, fontSize, shown, onState }: ScreenProps) {
  const box = useRef<HTMLDivElement>(null);
  const terminal = useRef<Terminal>(undefined);
  const fitter = useRef<FitAddon>(undefined);
  const firstSize = useRef(fontSize);

  useEffect(() => {
    const screen = new Terminal({
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--font-mono'),
      fontSize: firstSize.current,
      lineHeight: 1.25,
      cursorBlink: true,
      scrollback: 5_000,
      theme: themeOf(),
    });
    terminal.current = screen;
    const fit = new FitAddon();
    fitter.current = fit;
    screen.loadAddon(fit);
    openWithNonce(screen, box.current!);
    fit.fit();
    screen.focus();
    const link = connect(screen, { profile, onState });
    const observer = new ResizeObserver(([entry]) => entry && entry.contentRect.width > 0 && fit.fit());
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
      link.close();
      screen.dispose();
    };
  }, [onState, profile]);

  useEffect(() => {
    if (!terminal.current) return;
    terminal.current.options.fontSize = fontSize;
    if (shown) fitter.current?.fit();
  }, [fontSize, shown]);

  useEffect(() => {
    if (shown) terminal.current?.focus();
  }, [shown]);

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
