/**
 * The shells of this tab. They outlive the place that shows them: who looks at a chat meanwhile comes back to the same
 * shell, and after a reload the dashboard is asked for it again. A shell ends when it is closed, or with its browser tab.
 */
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { Observable } from '../observable.ts';
import { connect, type Link, type ScreenState } from './link.ts';
import { controlOf, sequenceOf, type Key } from './keys.ts';
import { themeOf } from './palette.ts';

/** Of the letters, in pixels. */
export const SIZES = { least: 10, usual: 14, most: 24 } as const;
const STORED = { size: 'agent.terminal.size', reader: 'agent.terminal.reader', shells: 'agent.terminal.shells' } as const;

export interface Shell {
  id: number;
  screen: Terminal;
  /** Holds what xterm draws; moved into the place while it is shown. */
  host: HTMLDivElement;
  fit: FitAddon;
  link: Link;
  state: ScreenState;
}

export interface Shells {
  list: readonly Shell[];
  shown: number;
  fontSize: number;
  /** Each line is said to a screen reader. */
  reader: boolean;
  /** The next key is pressed with Control: on a keyboard of glass there is none. */
  control: boolean;
}

const storedSize = Number(localStorage.getItem(STORED.size));
export const shells = new Observable<Shells>({
  list: [],
  shown: 0,
  fontSize: storedSize >= SIZES.least && storedSize <= SIZES.most ? storedSize : SIZES.usual,
  reader: localStorage.getItem(STORED.reader) === 'yes',
  control: false,
});

const change = (part: Partial<Shells>): void => shells.set({ ...shells.get(), ...part });
const shellOf = (id: number): Shell | undefined => shells.get().list.find((shell) => shell.id === id);

/** The shells of this tab, those of before a reload first; one is opened where there is none. */
export function ensureShells(profile: string | undefined): void {
  if (shells.get().list.length > 0) return;
  for (const resume of rememberedShells(profile)) openShell(profile, resume);
  if (shells.get().list.length === 0) openShell(profile);
}

export function openShell(profile: string | undefined, resume?: string): void {
  const { list } = shells.get();
  const shell = makeShell(Math.max(0, ...list.map(({ id }) => id)) + 1, profile, resume);
  change({ list: [...list, shell], shown: shell.id });
}

/** Another shell in the place of one that ended. */
export function reopenShell(id: number, profile: string | undefined): void {
  shellOf(id)?.link.close();
  const { list } = shells.get();
  const fresh = makeShell(Math.max(...list.map((shell) => shell.id)) + 1, profile);
  change({ list: list.map((shell) => (shell.id === id ? (dispose(shell), fresh) : shell)), shown: fresh.id });
}

/** Ends it. */
export function closeShell(id: number, profile: string | undefined): void {
  const { list, shown } = shells.get();
  const at = list.findIndex((shell) => shell.id === id);
  const left = list.filter((shell) => shell.id !== id);
  if (list[at]) dispose(list[at]);
  change({ list: left, shown: shown === id ? (left[Math.min(at, left.length - 1)]?.id ?? 0) : shown });
  remember(profile);
  ensureShells(profile);
}

export const showShell = (id: number): void => change({ shown: id });

export function setFontSize(fontSize: number): void {
  const size = Math.min(SIZES.most, Math.max(SIZES.least, fontSize));
  localStorage.setItem(STORED.size, String(size));
  change({ fontSize: size });
  for (const { screen } of shells.get().list) screen.options.fontSize = size;
}

export function setReader(reader: boolean): void {
  localStorage.setItem(STORED.reader, reader ? 'yes' : 'no');
  change({ reader });
  for (const { screen } of shells.get().list) screen.options.screenReaderMode = reader;
}

/** In the colours of the theme. */
export function paintShells(): void {
  for (const { screen } of shells.get().list) screen.options.theme = themeOf();
}

export const setControl = (control: boolean): void => change({ control });

/** A key that a keyboard of glass lacks. */
export function press(id: number, key: Key): void {
  const shell = shellOf(id);
  if (!shell) return;
  shell.link.type(sequenceOf(key, shell.screen.modes.applicationCursorKeysMode));
  shell.screen.focus();
}

function makeShell(id: number, profile: string | undefined, resume?: string): Shell {
  const { fontSize, reader } = shells.get();
  const screen = new Terminal({
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--font-mono'),
    fontSize,
    lineHeight: 1.25,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    scrollback: 5_000,
    screenReaderMode: reader,
    theme: themeOf(),
  });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  const host = document.createElement('div');
  host.className = 'h-full w-full';
  const link = connect(screen, {
    profile,
    resume,
    onState: (state) => {
      change({ list: shells.get().list.map((shell) => (shell.id === id ? { ...shell, state } : shell)) });
      remember(profile);
    },
    onKeys: (data) => {
      if (!shells.get().control) return data;
      change({ control: false });
      return controlOf(data);
    },
  });
  return { id, screen, host, fit, link, state: { phase: 'opening', text: '' } };
}

function dispose({ link, screen, host }: Shell): void {
  link.close();
  screen.dispose();
  host.remove();
}

const keyOf = (profile: string | undefined): string => `${STORED.shells}.${profile ?? 'default'}`;

/** What the next page of this browser tab needs to go on with them. */
function remember(profile: string | undefined): void {
  const going = shells.get().list.flatMap(({ link, state }) => (state.phase === 'ended' ? [] : (link.resume() ?? [])));
  if (going.length > 0) sessionStorage.setItem(keyOf(profile), JSON.stringify(going));
  else sessionStorage.removeItem(keyOf(profile));
}

function rememberedShells(profile: string | undefined): string[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(keyOf(profile)) ?? '[]');
    return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}
