/** Colours of the shells, light and dark; each can be read on its ground. */
import type { ITheme } from '@xterm/xterm';
import { isDark } from '../app/theme.ts';

export function themeOf(): ITheme {
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
