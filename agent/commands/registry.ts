/** The one table of slash commands, in the order that decides between beginnings that fit several. */
import { talking, type SlashCommand } from './command.ts';
import { configurationCommands } from './configurationCommands.ts';
import type { Surface } from './host.ts';
import { infoCommands } from './infoCommands.ts';
import { sessionCommands } from './sessionCommands.ts';
import { toolCommands } from './toolCommands.ts';

export const registry: readonly SlashCommand[] = [...sessionCommands, ...configurationCommands, ...toolCommands, ...infoCommands];

export const availableOn = (surface: Surface): readonly SlashCommand[] =>
  registry.filter(({ surfaces = talking }) => surfaces.includes(surface));

/** A slash and a name, then a space or the end: `/usr/bin/x` and `/ 2` are prompts. */
export function commandWords(line: string): { word: string; args: string } | undefined {
  const match = /^\/?([a-z?][a-z0-9_-]*)(?:@\S+)?(?:\s+([\s\S]*))?$/i.exec(line.trim());
  return match ? { word: match[1]!.toLowerCase(), args: (match[2] ?? '').trim() } : undefined;
}

/** Exact names and aliases first, then the first in order that begins so and does not lower protection. */
export function findCommand<C extends { name: string; aliases?: readonly string[]; exact?: true }>(
  word: string,
  commands: readonly C[],
): C | undefined {
  const lower = word.toLowerCase();
  return (
    commands.find(({ name }) => name === lower) ??
    commands.find(({ aliases }) => aliases?.includes(lower)) ??
    commands.find(({ name, exact }) => exact !== true && name.startsWith(lower))
  );
}

const NEAREST = 3;

/** Names that differ little. */
export function nearestNames(word: string, names: readonly string[]): string[] {
  const lower = word.toLowerCase();
  return names
    .map((name) => ({ name, steps: distance(lower, name) }))
    .filter(({ name, steps }) => steps <= Math.max(2, Math.floor(name.length / 3)))
    .toSorted((a, b) => a.steps - b.steps)
    .slice(0, NEAREST)
    .map(({ name }) => name);
}

/** Letters to change, add or leave out. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === b[j] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
