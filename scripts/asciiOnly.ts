/**
 * A rolldown plugin: what is not ASCII in the bundle is written as an escape. A single other character makes Node
 * decode a whole file the long way and keep it at two bytes a character: 4 ms and a megabyte for the supervisor.
 * Works because comments are left out: what remains of such characters stands in strings, templates and patterns.
 */
import type { Plugin } from 'rolldown';

const OTHER = /[^\0-\x7f]/g;

export function asciiOnly(): Plugin {
  return {
    name: 'ascii-only',
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type === 'chunk') file.code = file.code.replace(OTHER, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
      }
    },
  };
}
