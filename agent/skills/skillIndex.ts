/** The index of skills in a prompt: what there is, in bounded room; the text of a skill comes when it is asked for. */
import { limits } from '../../base/limits.ts';

interface Row {
  name: string;
  description: string;
  category: string;
}

const LEAD = 'Skills are written methods. Before a task that one fits, read it with skill_view(name) and follow it.';

/** Empty without skills. With too many for the room: names alone, then numbers alone. */
export function skillIndex(skills: readonly Row[]): string {
  if (skills.length === 0) return '';
  const groups = [...Map.groupBy(sorted(skills), ({ category }) => category)];
  const full = groups.flatMap(([category, rows]) => [`${category}:`, ...rows.map(line)]);
  const names = groups.map(([category, rows]) => `${category}: ${rows.map(({ name }) => name).join(', ')}`);
  const counts = groups.map(([category, rows]) => `${category}: ${rows.length}`);
  for (const [lines, note] of [
    [full, ''],
    [names, ' skills_list says what they do.'],
    [counts, ` There are ${skills.length}, by category; skills_list(category) names them.`],
  ] as const) {
    const text = [LEAD + note, ...lines].join('\n');
    if (text.length <= limits.skills.indexMaxChars) return text;
  }
  return `${LEAD} There are ${skills.length}; skills_list names them.`;
}

/** By category and name, so that the same skills make the same text. */
export const sorted = <T extends Row>(skills: readonly T[]): T[] =>
  skills.toSorted((a, b) => order(a.category, b.category) || order(a.name, b.name));

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function line({ name, description }: Row): string {
  const max = limits.skills.indexLineMaxChars;
  return `- ${name}: ${description.length > max ? `${description.slice(0, max - 1).trimEnd()}…` : description}`;
}
