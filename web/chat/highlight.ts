/**
 * Colours for code, loaded with the first block that has a language. What the highlighter makes goes through
 * the sanitizer like everything else that becomes HTML.
 */
import type { HLJSApi } from 'highlight.js';
import { sanitizeCode } from './sanitize.ts';

/** Longer code stays plain: colouring it would hold the page up. */
const CODE_MAX_CHARS = 60_000;
/** Blocks kept coloured, so that scrolling back costs nothing. */
const KEPT_MAX = 400;

let loaded: HLJSApi | undefined;
let loading: Promise<void> | undefined;
const kept = new Map<string, TrustedHTML | null>();

/** The coloured code, when it is known at once; null = it stays plain; undefined = ask `highlightSoon`. */
export function highlighted(code: string, language: string): TrustedHTML | null | undefined {
  if (language === '' || code.length > CODE_MAX_CHARS) return null;
  const name = `${language}\n${code}`;
  const found = kept.get(name);
  if (found !== undefined || !loaded) return found;
  const made = loaded.getLanguage(language) ? sanitizeCode(loaded.highlight(code, { language, ignoreIllegals: true }).value) : null;
  kept.set(name, made);
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value!);
  return made;
}

/** Resolves when `highlighted` knows. */
export async function loadHighlighter(): Promise<void> {
  loading ??= import('highlight.js/lib/common').then(({ default: api }) => void (loaded = api));
  await loading;
}

const endings: Readonly<Record<string, string>> = {
  ts: 'typescript',
  tsx: 'typescript',
  mts: 'typescript',
  js: 'javascript',
  mjs: 'javascript',
  jsx: 'javascript',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  go: 'go',
  java: 'java',
  kt: 'kotlin',
  c: 'c',
  h: 'c',
  cpp: 'cpp',
  cs: 'csharp',
  php: 'php',
  sh: 'bash',
  bash: 'bash',
  json: 'json',
  yaml: 'yaml',
  yml: 'yaml',
  toml: 'ini',
  ini: 'ini',
  html: 'xml',
  xml: 'xml',
  css: 'css',
  scss: 'scss',
  md: 'markdown',
  sql: 'sql',
  diff: 'diff',
};

/** By the ending of a file name; empty when unknown. */
export const languageOfFile = (path: string): string => endings[/\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''] ?? '';
