/**
 * SKILL.md: what its frontmatter says, checked. A bad one is described with its line and never throws;
 * what is merely odd is a warning and the skill is used.
 */
import { isMap, isScalar, LineCounter, parseDocument, type Document, type Node } from 'yaml';
import { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { scanText } from '../context/scan.ts';
import { Blueprint } from './blueprint.ts';

const { nameMaxChars, descriptionMaxChars, frontmatterMaxBytes } = limits.skills;

/** It becomes a slash command and a folder. */
export const SkillName = z
  .string()
  .max(nameMaxChars)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'a skill is named with letters, digits, -, _ and .');

/** One word or a list of them. */
const Words = z.union([z.string().transform((word) => [word]), z.array(z.string())]);
const EnvName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'it is not the name of a variable');
const EnvNames = z.array(z.union([EnvName, z.looseObject({ name: EnvName }).transform(({ name }) => name)]));

export const Upstream = z.strictObject({
  repo: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9-]{0,38}\/[A-Za-z0-9._-]{1,100}$/, 'it is written owner/name'),
  path: z.string().refine(isSafeRelative, 'it is a relative path without ..'),
});
export type Upstream = z.infer<typeof Upstream>;

/** Keys of ours below `metadata`. */
const Ours = z.looseObject({
  session_platforms: Words.optional(),
  requires_toolsets: Words.optional(),
  fallback_for_toolsets: Words.optional(),
  upstream: Upstream.optional(),
  blueprint: Blueprint.optional(),
});

const Frontmatter = z.looseObject({
  name: SkillName.optional(),
  description: z.string('it is missing or no text').trim().min(1, 'it is empty').max(descriptionMaxChars),
  version: z.union([z.string(), z.number().transform(String)]).optional(),
  platforms: Words.optional(),
  environments: Words.optional(),
  required_environment_variables: EnvNames.optional(),
  metadata: z.looseObject({ agent: Ours.optional() }).optional(),
});

export interface SkillFile {
  name: string;
  description: string;
  version: string | null;
  platforms: readonly string[];
  environments: readonly string[];
  requiredEnv: readonly string[];
  sessionPlatforms: readonly string[] | undefined;
  requiresToolsets: readonly string[];
  fallbackForToolsets: readonly string[];
  upstream: Upstream | undefined;
  blueprint: Blueprint | undefined;
}

export interface SkillProblem {
  /** Of the whole file, counted from 1. */
  line: number;
  message: string;
}

export interface ParsedSkill {
  /** Undefined: it cannot be used. */
  skill: SkillFile | undefined;
  problems: SkillProblem[];
}

const knownPlatforms = ['linux', 'macos', 'darwin', 'windows', 'win32'];
export const knownEnvironments = ['kanban', 'container', 'supervisor'] as const;

/** `text`: SKILL.md, at least its frontmatter. `folder`: the name it has when it gives itself none. */
export function parseSkill(text: string, folder: string): ParsedSkill {
  const yaml = frontmatterOf(text);
  if (typeof yaml !== 'string') return { skill: undefined, problems: [yaml] };
  const counter = new LineCounter();
  const document = parsed(yaml, counter);
  if ('message' in document) return { skill: undefined, problems: [document] };
  const value: unknown = document.toJS({ maxAliasCount: limits.state.yamlAliasesMax });
  const checked = Frontmatter.safeParse(value);
  if (!checked.success) {
    const problems = checked.error.issues.map(({ path, message }) => ({
      line: lineAt(document, path as (string | number)[], counter),
      message: `${path.map(String).join('.') || 'frontmatter'}: ${message}`,
    }));
    return { skill: undefined, problems };
  }
  const at = (...path: string[]) => lineAt(document, path, counter);
  return finished(checked.data, folder, at);
}

function finished(front: z.infer<typeof Frontmatter>, folder: string, at: (...path: string[]) => number): ParsedSkill {
  const { name = folder, description, version, platforms = [], environments = [], required_environment_variables = [], metadata } = front;
  const ours = metadata?.agent ?? {};
  const problems: SkillProblem[] = [];
  const named = SkillName.safeParse(name);
  if (!named.success)
    return { skill: undefined, problems: [{ line: 1, message: `name: the folder "${folder}" cannot be its name; write one` }] };
  const finding = scanText(description);
  if (finding) return { skill: undefined, problems: [{ line: at('description'), message: `description: it ${finding.why}` }] };
  const unknown = (key: string, words: readonly string[], known: readonly string[]) => {
    const odd = words.filter((word) => !known.includes(word.toLowerCase()));
    if (odd.length > 0) problems.push({ line: at(key), message: `${key}: ${odd.join(', ')} is not known (known: ${known.join(', ')})` });
  };
  unknown('platforms', platforms, knownPlatforms);
  unknown('environments', environments, knownEnvironments);
  const lower = (words: readonly string[]) => words.map((word) => word.toLowerCase());
  return {
    problems,
    skill: {
      name,
      description: description.replaceAll(/\s+/g, ' '),
      version: version ?? null,
      platforms: lower(platforms),
      environments: lower(environments),
      requiredEnv: required_environment_variables,
      sessionPlatforms: ours.session_platforms && lower(ours.session_platforms),
      requiresToolsets: ours.requires_toolsets ?? [],
      fallbackForToolsets: ours.fallback_for_toolsets ?? [],
      upstream: ours.upstream,
      blueprint: ours.blueprint,
    },
  };
}

/** The YAML between two lines of dashes. Its first line is line 2 of the file. */
function frontmatterOf(text: string): string | SkillProblem {
  const plain = text.startsWith('\uFEFF') ? text.slice(1) : text;
  if (!/^---[ \t]*\r?\n/.test(plain))
    return { line: 1, message: 'it begins with no frontmatter: a line of ---, then name and description' };
  const end = /\r?\n---[ \t]*(?:\r?\n|$)/.exec(plain.slice(3));
  if (!end) return { line: 1, message: `its frontmatter has no end: a line of --- within the first ${frontmatterMaxBytes} bytes` };
  return plain.slice(plain.indexOf('\n') + 1, 3 + end.index + 1);
}

/** What follows the frontmatter. */
export const bodyOf = (text: string): string => text.replace(/^\uFEFF?---[ \t]*\r?\n[\s\S]*?\n---[ \t]*(?:\r?\n|$)/, '').trim();

function parsed(yaml: string, lineCounter: LineCounter): Document.Parsed | SkillProblem {
  let document: Document.Parsed;
  try {
    document = parseDocument(yaml, { lineCounter, prettyErrors: false });
  } catch (thrown) {
    return { line: 2, message: `it cannot be read as YAML (${messageOf(thrown)})` };
  }
  const error = document.errors[0];
  if (error) return { line: lineCounter.linePos(error.pos[0]).line + 1, message: error.message };
  if (!isMap(document.contents)) return { line: 2, message: 'the frontmatter is no map of keys' };
  return document;
}

function lineAt(document: Document.Parsed, path: (string | number)[], counter: LineCounter): number {
  for (let depth = path.length; depth > 0; depth--) {
    const parent: unknown = depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    const key = isMap(parent) ? parent.items.find((pair) => isScalar(pair.key) && pair.key.value === path[depth - 1])?.key : undefined;
    const start = ((key ?? document.getIn(path.slice(0, depth), true)) as Node | undefined)?.range?.[0];
    if (start !== undefined) return counter.linePos(start).line + 1;
  }
  return 1;
}

/** Below a folder and nowhere else, whatever the separators. */
export function isSafeRelative(path: string): boolean {
  if (path === '' || path.length > 400 || path.includes('\\') || path.includes('\0') || path.startsWith('/') || /^[A-Za-z]:/.test(path))
    return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}
