/** The media type of a file by its ending: a hint for the preview, never a reason to run anything. */
import { extname } from 'node:path';

const TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
  json: 'application/json',
  md: 'text/markdown',
  markdown: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  htm: 'text/html',
  xml: 'text/xml',
  css: 'text/css',
  js: 'text/javascript',
  mjs: 'text/javascript',
  zip: 'application/zip',
  gz: 'application/gzip',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  wav: 'audio/wav',
};
const TEXT = new Set(
  'txt log yaml yml toml ini conf cfg env sh bash zsh py rb pl go rs c h cc cpp hpp java kt ts tsx jsx sql lua php swift diff patch lock'.split(
    ' ',
  ),
);

export function mimeOf(path: string): string {
  const ending = extname(path).slice(1).toLowerCase();
  return TYPES[ending] ?? (TEXT.has(ending) || ending === '' ? 'text/plain' : 'application/octet-stream');
}
