/**
 * Reading config.yaml: file, line and column of whatever is wrong with it, and the last good version
 * when it is. Unknown keys are never fatal.
 */
import { existsSync, statSync } from 'node:fs';
import { readRegularText, unreadableWhy } from '../../base/regularFile.ts';
import { isMap, isScalar, LineCounter, parseDocument, visit, type Document, type Node } from 'yaml';
import { AgentError, errnoOf, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { writeFileAtomic } from '../atomicFile.ts';
import { dottedKey } from './diff.ts';
import { outOfBounds } from './documentBounds.ts';
import { ineffectiveSettings } from './ineffective.ts';
import type { Home, ProfilePaths } from '../home.ts';
import { release } from '../release.ts';
import { migrate } from './migrations.ts';
import { articled, deepest, fixOf, wordsOf, type Issue } from './issueWords.ts';
import { keepParsed, readParsed } from './parsedConfig.ts';
import { Config } from './schema.ts';

export interface ConfigProblem {
  path: string;
  line: number;
  column: number;
  /** Dotted key, empty for a syntax error. */
  key: string;
  message: string;
  /** What to write instead. */
  fix: string;
}

export interface LoadedConfig {
  config: Config;
  /** Set when config.yaml is unusable and an older version or the defaults serve. */
  problem?: ConfigProblem;
  /** Settings without effect: unknown keys and names. Kept, warned about, never fatal. */
  ineffective: ConfigProblem[];
  /** What the file said when this was made from it. */
  text?: string;
}

/** The configuration in force. Never throws: an unusable file is reported in `problem` and the last good one is used. */
export function loadConfig(home: Home, profile: ProfilePaths = home): LoadedConfig {
  try {
    const text = readText(profile.config);
    const known = profile.dir === home.root ? readParsed(parsedPath(home), text, release()) : undefined;
    return { ...(known ?? parseConfigText(text, profile.config)), text };
  } catch (thrown) {
    const problem = problemOf(thrown, profile.config);
    return { ...lastGood(home, profile), problem };
  }
}

/** All that is wrong with it, in the order of the file; empty = valid. */
export function configProblems(text: string, path: string): ConfigProblem[] {
  try {
    parseConfigText(text, path);
    return [];
  } catch (thrown) {
    const problems = (thrown as AgentError).facts?.problems as ConfigProblem[] | undefined;
    return problems ?? [problemOf(thrown, path)];
  }
}

/** Errors: CONFIG_INVALID with `facts.problem`, the first, and `facts.problems`. */
export function parseConfigText(text: string, path: string): LoadedConfig {
  const counter = new LineCounter();
  const document = parseYaml(text, path, counter);
  const value = plainOf(document, path);
  migrate(value);
  const parsed = Config.safeParse(value);
  if (parsed.success) return { config: parsed.data, ineffective: ineffectiveIn(document, value, { path, counter }) };
  const issues = parsed.error.issues.slice(0, limits.state.configProblemsMax).flatMap((issue) => deepest(issue as unknown as Issue));
  throw invalid(
    ...issues.map((issue) => problemIn(document, issue, { path, counter })).toSorted((a, b) => a.line - b.line || a.column - b.column),
  );
}

function ineffectiveIn(
  document: Document.Parsed,
  value: Record<string, unknown>,
  { path, counter }: { path: string; counter: LineCounter },
): ConfigProblem[] {
  return ineffectiveSettings(value)
    .slice(0, limits.state.configProblemsMax)
    .map(({ path: keys, message, fix }) => ({ path, ...positionOf(document, keys, counter), key: dottedKey(keys), message, fix }))
    .toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function problemIn(document: Document.Parsed, issue: Issue, { path, counter }: { path: string; counter: LineCounter }): ConfigProblem {
  const key = issue.path.map(String).join('.');
  const place = { path, ...positionOf(document, issue.path, counter), key };
  if (issue.code === 'invalid_type' && issue.path.length > 1 && !document.hasIn(issue.path)) {
    const owner = issue.path.slice(0, -1).map(String).join('.');
    const takes = issue.expected ? ` (${articled(issue.expected)})` : '';
    return { ...place, message: `${key} is missing; ${owner} needs it`, fix: `write ${key} too${takes}, or leave out ${owner}` };
  }
  return { ...place, message: `${key || 'the file'}: ${wordsOf(issue)}`, fix: fixOf(key, issue) };
}

/** The whole file as plain values, unchecked. Errors: CONFIG_INVALID, HOME_UNUSABLE. */
export const readPlain = (path: string): Record<string, unknown> => plainOf(parseYaml(readText(path), path), path);

/** A section with nothing in it is a section that is not there. Errors: CONFIG_INVALID when aliases multiply without end. */
export function plainOf(document: Document.Parsed, path: string): Record<string, unknown> {
  let value: Record<string, unknown>;
  try {
    value = (document.toJS({ maxAliasCount: limits.state.yamlAliasesMax }) ?? {}) as Record<string, unknown>;
  } catch (thrown) {
    throw invalid({
      path,
      line: 1,
      column: 1,
      key: '',
      message: messageOf(thrown),
      fix: `use fewer than ${limits.state.yamlAliasesMax} aliases (*name)`,
    });
  }
  return Object.fromEntries(Object.entries(value).filter(([, section]) => section !== null));
}

/** The document with comments and layout, for edits. Errors: CONFIG_INVALID. */
export function parseYaml(text: string, path: string, counter = new LineCounter()): Document.Parsed {
  const document = parseAny(text, path, counter);
  if (document.errors.length > 0) {
    const errors = document.errors.slice(0, limits.state.configProblemsMax).map(({ code, pos, message }) => {
      const { line, col } = counter.linePos(pos[0]);
      return { path, line, column: col, key: '', ...syntaxWords(code, message) };
    });
    throw invalid(...errors);
  }
  if (text.includes('*')) refuseCycles(document, path, counter);
  const { contents } = document;
  if (contents !== null && !isMap(contents) && !(isScalar(contents) && contents.value === null)) {
    throw invalid({
      path,
      line: 1,
      column: 1,
      key: '',
      message: 'the file is not a map of keys',
      fix: 'write keys and values, for example `model: { default: gpt-5 }`',
    });
  }
  return document;
}

/** A value that holds itself has no end. Errors: CONFIG_INVALID with its place. */
function refuseCycles(document: Document.Parsed, path: string, counter: LineCounter): void {
  visit(document, {
    Alias(_key, alias, above) {
      const target = alias.resolve(document);
      if (!target || !above.includes(target)) return;
      const { line, col: column } = counter.linePos(alias.range?.[0] ?? 0);
      throw invalid({
        path,
        line,
        column,
        key: '',
        message: `*${alias.source} is inside the value that it names`,
        fix: 'write the value out',
      });
    },
  });
}

function syntaxWords(code: string, message: string): { message: string; fix: string } {
  if (code === 'MULTIPLE_DOCS') return { message: 'the file holds more than one YAML document', fix: 'remove this line (---)' };
  return { message, fix: 'correct the YAML at this place; `agent config check` reads it again' };
}

/** Errors: CONFIG_INVALID for a text that would take too long to parse; every way to a configuration asks here first. */
export function refuseOutOfBounds(text: string, path: string): void {
  const passed = outOfBounds(text);
  if (passed) throw invalid({ path, column: 1, key: '', ...passed });
}

/** Errors: CONFIG_INVALID, also where the parser itself gives up (a nesting deeper than its stack). */
function parseAny(text: string, path: string, lineCounter: LineCounter): Document.Parsed {
  refuseOutOfBounds(text, path);
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false });
  } catch (thrown) {
    throw invalid({
      path,
      line: 1,
      column: 1,
      key: '',
      message: `it cannot be read as YAML (${messageOf(thrown)})`,
      fix: 'look for brackets that are never closed, or for too much indentation',
    });
  }
}

/** Raw text, empty when the file is absent. Errors: CONFIG_INVALID when too large, HOME_UNUSABLE when unreadable. */
export function readText(path: string): string {
  try {
    const size = statSync(path).size;
    if (size > limits.state.configMaxBytes) {
      throw invalid({
        path,
        line: 1,
        column: 1,
        key: '',
        message: `the file has ${size} bytes`,
        fix: `keep it under ${limits.state.configMaxBytes} bytes`,
      });
    }
    return readRegularText(path);
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return '';
    if (cause instanceof AgentError) throw cause;
    throw new AgentError('HOME_UNUSABLE', `cannot read ${path} (${unreadableWhy(cause)})`, {
      cause,
      fix: 'check its owner and permissions',
    });
  }
}

/** Keeps a valid config.yaml as the one to fall back to. Called by the supervisor alone. */
export function rememberGood(home: Home, loaded: LoadedConfig): void {
  const { text, config, ineffective } = loaded;
  if (text === undefined) return;
  keepParsed(parsedPath(home), text, release(), { config, ineffective });
  if (existsSync(home.run.goodConfig) && readRegularText(home.run.goodConfig) === text) return;
  writeFileAtomic(home.run.goodConfig, text, { durable: false });
}

const parsedPath = (home: Home): string => `${home.run.goodConfig}.json`;

function lastGood(home: Home, profile: ProfilePaths): LoadedConfig {
  try {
    if (profile.dir === home.root) return parseConfigText(readText(home.run.goodConfig), home.run.goodConfig);
  } catch {
    // there is no good version yet: defaults serve
  }
  return { config: {}, ineffective: [] };
}

function problemOf(thrown: unknown, path: string): ConfigProblem {
  const problem = (thrown as AgentError).facts?.problem as ConfigProblem | undefined;
  return problem ?? { path, line: 1, column: 1, key: '', message: (thrown as Error).message, fix: (thrown as AgentError).fix ?? '' };
}

/** The first is said, all are known. */
function invalid(...problems: ConfigProblem[]): AgentError {
  const problem = problems[0]!;
  return new AgentError('CONFIG_INVALID', placed(problem), { fix: problem.fix, facts: { problem, problems } });
}

/** With its place, as compilers write it. */
export const placed = ({ path, line, column, message }: ConfigProblem): string => `${path}:${line}:${column}: ${message}`;

export function positionOf(document: Document.Parsed, path: (string | number)[], counter: LineCounter): { line: number; column: number } {
  for (let depth = path.length; depth >= 0; depth--) {
    const node = document.getIn(path.slice(0, depth), true) as Node | undefined;
    const start = node?.range?.[0];
    if (start !== undefined) {
      const { line, col } = counter.linePos(start);
      return { line, column: col };
    }
  }
  return { line: 1, column: 1 };
}
