/**
 * What config.yaml says without any effect: keys that nothing reads, at any depth, values that a platform cannot use,
 * and names of things that do not exist. The service keeps them and warns once; `agent config check` and `config set`
 * treat them as errors, because a misspelled safety setting looks like protection.
 */
import type { ZodType } from 'zod';
import { auxiliaryTasks, platformIds, toolsetNames, workerKinds, type PlatformId } from '../../base/closedWords.ts';
import { nearest } from '../../base/nearest.ts';
import { dottedKey, isPlain } from './diff.ts';
import type { KeyPath } from './edit.ts';
import { fixOf, wordsOf, type Issue } from './issueWords.ts';
import { platformSettings } from './platformSettings.ts';
import { Config, reservedKeys } from './schema.ts';

export interface Ineffective {
  path: KeyPath;
  message: string;
  fix: string;
}

/** `value`: the plain content of a file that the schema accepts. */
export function ineffectiveSettings(value: Record<string, unknown>): Ineffective[] {
  const sections = Object.entries(value).flatMap(([name, section]) => ofSection(name, section));
  return [...sections, ...namesOf(value)];
}

function ofSection(name: string, section: unknown): Ineffective[] {
  // A key that begins with x- is the user's own.
  if (name.startsWith('x-') || name === '_config_version') return [];
  if (reservedKeys.has(name) && !Object.hasOwn(Config.shape, name)) return [notBuilt([name])];
  if (!Object.hasOwn(Config.shape, name)) return [unknownKey([name], Object.keys(Config.shape))];
  if (name !== 'platforms') return below(Config.shape[name as keyof typeof Config.shape] as ZodType, section, [name]);
  return Object.entries(isPlain(section) ? section : {}).flatMap(([id, settings]) => ofPlatform(id, settings));
}

/** Keys that the schema does not name. By the definitions alone: the module of zod is not loaded for this. */
function below(schema: ZodType, value: unknown, path: KeyPath): Ineffective[] {
  const { type, shape, valueType, element } = definitionOf(schema);
  if (type === 'object' && shape && isPlain(value)) {
    return Object.entries(value).flatMap(([name, part]) =>
      Object.hasOwn(shape, name) ? below(shape[name]!, part, [...path, name]) : [unknownKey([...path, name], Object.keys(shape))],
    );
  }
  if (type === 'record' && valueType && isPlain(value))
    return Object.entries(value).flatMap(([name, part]) => below(valueType, part, [...path, name]));
  if (type === 'array' && element && Array.isArray(value)) return value.flatMap((part, index) => below(element, part, [...path, index]));
  return [];
}

function ofPlatform(id: string, settings: unknown): Ineffective[] {
  const path: KeyPath = ['platforms', id];
  if (!isKnown(platformIds, id)) return [unknownName(path, 'platform', id, platformIds)];
  const schema = platformSettings[id as PlatformId];
  const parsed = schema.safeParse(settings ?? {});
  const wrong = parsed.success
    ? []
    : parsed.error.issues.map((issue) => ({
        path: [...path, ...(issue.path as KeyPath)],
        message: `${dottedKey([...path, ...(issue.path as KeyPath)])}: ${wordsOf(issue as unknown as Issue)}`,
        fix: `${fixOf(dottedKey([...path, ...(issue.path as KeyPath)]), issue as unknown as Issue)}; until then ${id} does not start`,
      }));
  return [...wrong, ...below(schema, settings, path)];
}

/** Names of things that do not exist. */
function namesOf(value: Record<string, unknown>): Ineffective[] {
  const { agent, platform_toolsets, supervisor, auxiliary } = value;
  const disabled = isPlain(agent) && Array.isArray(agent.disabled_toolsets) ? agent.disabled_toolsets : [];
  const workers = isPlain(supervisor) && isPlain(supervisor.workers) ? Object.keys(supervisor.workers) : [];
  return [
    ...disabled.flatMap((name, index) => ofToolset(['agent', 'disabled_toolsets', index], name)),
    ...Object.entries(isPlain(platform_toolsets) ? platform_toolsets : {}).flatMap(([place, listed]) =>
      ofPlace(['platform_toolsets', place], place, listed),
    ),
    ...workers.flatMap((name) =>
      isKnown(workerKinds, name.replace(/@.*/s, '')) ? [] : [unknownName(['supervisor', 'workers', name], 'worker', name, workerKinds)],
    ),
    ...Object.keys(isPlain(auxiliary) ? auxiliary : {}).flatMap((task) =>
      isKnown(auxiliaryTasks, task) ? [] : [unknownName(['auxiliary', task], 'side task', task, auxiliaryTasks)],
    ),
  ];
}

/** Where a list of toolsets applies. */
const places: readonly string[] = [...platformIds, 'cron', 'cli', 'tui', 'desktop', 'api', 'other'];

function ofPlace(path: KeyPath, place: string, listed: unknown): Ineffective[] {
  if (!isKnown(places, place)) return [unknownName(path, 'place', place, places)];
  const names: unknown[] = Array.isArray(listed) ? listed : [listed];
  return names.flatMap((name, index) => ofToolset(Array.isArray(listed) ? [...path, index] : path, name));
}

/** `mcp` and `mcp-<server>` are tools of MCP servers, `agent-<place>` the default of a place. */
function ofToolset(path: KeyPath, name: unknown): Ineffective[] {
  const known = typeof name !== 'string' || isKnown(toolsetNames, name) || /^(?:mcp(?:-.+)?|agent-.+)$/s.test(name);
  return known ? [] : [unknownName(path, 'toolset', name, [...toolsetNames, 'mcp'])];
}

function unknownKey(path: KeyPath, names: readonly string[]): Ineffective {
  const key = dottedKey(path);
  const near = nearest(String(path.at(-1)), names);
  return {
    path,
    message: `${key} is not a setting and has no effect`,
    fix: near ? `did you mean ${dottedKey([...path.slice(0, -1), near])}?` : `remove it; known here: ${names.join(', ')}`,
  };
}

function unknownName(path: KeyPath, what: string, name: string, names: readonly string[]): Ineffective {
  const near = nearest(name, names);
  return {
    path,
    message: `${dottedKey(path)}: there is no ${what} "${name}"`,
    fix: `${near ? `did you mean ${near}? ` : ''}known: ${names.join(', ')}`,
  };
}

const notBuilt = (path: KeyPath): Ineffective => ({
  path,
  message: `${dottedKey(path)} has no effect in this version`,
  fix: 'remove it until a release documents it',
});

const isKnown = (names: readonly string[], name: string): boolean => names.includes(name);

interface Definition {
  type: string;
  shape?: Record<string, ZodType>;
  valueType?: ZodType;
  element?: ZodType;
  innerType?: ZodType;
}

/** Of what an optional value is. */
function definitionOf(schema: ZodType): Definition {
  const definition = schema.def as unknown as Definition;
  return definition.innerType ? definitionOf(definition.innerType) : definition;
}
