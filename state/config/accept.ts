/**
 * What a new text of config.yaml must fulfil before it replaces the old one, whatever writes it: it is valid, it does
 * not lock its user out of the dashboard, and it adds no secret.
 */
import { dirname, join } from 'node:path';
import { LineCounter } from 'yaml';
import { AgentError } from '../../base/errors.ts';
import { SECRET_NAME } from '../../base/redact.ts';
import { readSecrets, type Secrets } from '../env.ts';
import { dashboardEnv } from '../startedWith.ts';
import { differences, dottedKey } from './diff.ts';
import type { KeyPath } from './edit.ts';
import { ineffectiveSettings } from './ineffective.ts';
import { parseConfigText, parseYaml, plainOf, positionOf, type ConfigProblem, type LoadedConfig } from './load.ts';
import { refuseLockout } from './lockout.ts';
import { createMasks, type Masks } from './mask.ts';
import type { Config } from './schema.ts';

export interface Accepted {
  loaded: LoadedConfig;
  /** What the old text said; undefined when it was broken. */
  before: Config | undefined;
}

/** `masks`: how secrets are recognised; by default also by the values of the `.env` beside the file. Errors: CONFIG_INVALID, CONFIG_KEY, CONFIG_LOCKOUT. */
export function acceptText(path: string, old: string, text: string, masks?: Masks): Accepted {
  const loaded = parseConfigText(text, path);
  const before = usable(old, path);
  const secrets = secretsBeside(path);
  // A file that was broken is no measure: what it held is unknown.
  if (before) refuseNewSecrets(before, loaded.config, masks ?? masksOf(secrets));
  refuseLockout(before ?? {}, loaded.config, secrets, dashboardEnv(path));
  return { loaded, before };
}

/** Secrets that a valid file holds in clear. */
export function misplacedSecrets(text: string, path: string): ConfigProblem[] {
  const counter = new LineCounter();
  const document = parseYaml(text, path, counter);
  return textsOutOfPlace(plainOf(document, path), masksOf(secretsBeside(path))).map(([keys, value]) => ({
    path,
    ...positionOf(document, keys, counter),
    key: dottedKey(keys),
    ...adviceFor(keys, value),
  }));
}

const secretsBeside = (path: string): Secrets => readSecrets(join(dirname(path), '.env'));

/** Values of `.env` count where their name says secret: others may rightly appear in both files. */
const masksOf = (secrets: Secrets): Masks =>
  createMasks(secrets.names().flatMap((name) => (SECRET_NAME.test(name) ? (secrets.get(name) ?? []) : [])));

function usable(text: string, path: string): Config | undefined {
  try {
    return parseConfigText(text, path).config;
  } catch {
    return undefined;
  }
}

/** One that the file holds already may stay in it. Errors: CONFIG_KEY. */
function refuseNewSecrets(before: Config, after: Config, masks: Masks): void {
  const standing = new Set(differences({}, before).flatMap((change) => valuesIn(change.after, change.path).map(([, value]) => value)));
  for (const change of differences(before, after)) {
    const found = textsOutOfPlace(change.after, masks, change.path).find(([, value]) => !standing.has(value));
    if (!found) continue;
    const { message, fix } = adviceFor(...found);
    throw new AgentError('CONFIG_KEY', message, { field: dottedKey(found[0]), fix });
  }
}

const textsOutOfPlace = (value: unknown, masks: Masks, path: KeyPath = []): [KeyPath, unknown][] =>
  valuesIn(value, path).filter(([inner, text]) => masks.isOutOfPlace(inner, text));

/** Texts and numbers, each with its path. */
function valuesIn(value: unknown, path: KeyPath): [KeyPath, unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([name, inner]) => valuesIn(inner, [...path, Array.isArray(value) ? Number(name) : name]));
}

/** Commands that work as they are written: the value goes to `.env`, and the setting names its variable where there is such a setting. */
function adviceFor(path: KeyPath, value: unknown): { message: string; fix: string } {
  const key = dottedKey(path);
  const variable = variableFor(path);
  const store = `store the value with \`agent env set ${variable}\``;
  const message = `${key} looks like a secret; secrets belong in .env, not in config.yaml`;
  const [section, name] = path;
  if (section === 'providers' && path.length === 3 && !/^https?:/.test(String(value))) {
    return {
      message,
      fix: `${store}, then name the variable: \`agent config set ${dottedKey(['providers', name!, 'key_env'])} ${variable}\``,
    };
  }
  // An address holds more than its secret.
  if (/^https?:/.test(String(value))) return { message, fix: `${store} and write \${${variable}} in its place in the address` };
  const scheme = /^(?:bearer|basic) /i.exec(String(value))?.[0] ?? '';
  const whole = path.reduceRight<unknown>((inner, part) => (typeof part === 'number' ? [inner] : { [part]: inner }), `\${${variable}}`);
  const isSetting = ineffectiveSettings(whole as Record<string, unknown>).length === 0;
  return { message, fix: isSetting ? `${store}, then \`agent config set ${key} '${scheme}\${${variable}}'\`` : store };
}

/** A platform reads its own variables, `IRC_PASSWORD`, without any setting. */
const variableFor = (path: KeyPath): string =>
  (path[0] === 'platforms' ? path.slice(1) : path).map(String).join('_').replace(/\W/g, '_').toUpperCase();
