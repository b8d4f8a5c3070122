/** What a model or a program said, for a terminal. Names of strangers: visibleText.ts, which the page shares. */
import { stripVTControlCharacters } from 'node:util';
import { spelled } from './visibleText.ts';

const CONTROL = /[\p{Cc}--[\n\t]]/v;
const CONTROLS = /[\p{Cc}--[\n\t]]/gv;

/**
 * Its escape sequences and carriage returns are left out, other control characters spelled out. Marks for the
 * direction of writing stay: Arabic and Hebrew need them.
 */
export const spokenLines = (text: string): string =>
  CONTROL.test(text)
    ? stripVTControlCharacters(text)
        .replaceAll(/\r(?=\n|$)/g, '')
        .replaceAll(CONTROLS, spelled)
    : text;
