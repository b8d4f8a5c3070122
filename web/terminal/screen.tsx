/** One shell in the page: its size follows the room it has, its colours the theme. */
import '@xterm/xterm/css/xterm.css';
import type { Terminal } from '@xterm/xterm';
import { useEffect, useRef } from 'react';
import type { Theme } from '../app/theme.ts';
import { paintShells, type Shell } from './shells.ts';

interface ScreenProps {
  shell: Shell;
  look: Theme;
  fontSize: number;
  /** Of several only one is seen; a hidden one keeps its size. */
  shown: boolean;
}

export function Screen({ shell: { screen, host, fit }, look, fontSize, shown }: ScreenProps) {
  const box = useRef<HTMLDivElement>(null);

  const wanted = shown || screen.element !== undefined;
  useEffect(() => {
    // What is opened unseen has letters of no size.
    if (!wanted) return;
    box.current!.append(host);
    if (!screen.element) openWithNonce(screen, host);
    fit.fit();
    const observer = new ResizeObserver(([entry]) => entry && entry.contentRect.width > 0 && fit.fit());
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
      // The shell goes on without a place.
      host.remove();
    };
  }, [screen, host, fit, wanted]);

  useEffect(() => {
    if (shown) fit.fit();
  }, [fit, fontSize, shown]);

  useEffect(() => {
    if (shown) screen.focus();
  }, [screen, shown]);

  useEffect(() => {
    const system = matchMedia('(prefers-color-scheme: dark)');
    paintShells();
    system.addEventListener('change', paintShells);
    return () => system.removeEventListener('change', paintShells);
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
