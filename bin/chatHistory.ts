/** The REPL's history file in the home: private and bounded; one JSON string a line, so prompts may have several lines. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../base/limits.ts';
import { writeFileAtomic } from '../state/atomicFile.ts';
import type { ProfilePaths } from '../state/home.ts';

export function chatHistory(paths: ProfilePaths): { load(): string[]; add(text: string): boolean } {
  const file = join(paths.dir, 'chat_history');
  const load = (): string[] => {
    try {
      return readFileSync(file, 'utf8').split('\n').flatMap(parseEntry).slice(-limits.chat.historyMax);
    } catch {
      return [];
    }
  };
  return {
    load,
    /** Answers whether it stands in the file now. */
    add(text) {
      if (text.length > limits.chat.historyEntryMaxChars) return false;
      // Read again: another terminal may have added to it.
      const entries = load();
      if (entries.at(-1) === text) return true;
      const lines = [...entries, text].slice(-limits.chat.historyMax).map((entry) => JSON.stringify(entry));
      try {
        writeFileAtomic(file, `${lines.join('\n')}\n`, { durable: false });
        return true;
      } catch {
        // a history that cannot be kept must not stop a conversation
        return false;
      }
    },
  };
}

function parseEntry(line: string): string[] {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'string' ? [entry] : [];
  } catch {
    return [];
  }
}
