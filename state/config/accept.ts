/**
 * What a new text of config.yaml has to be before it replaces the old one, whoever writes it: valid, no lockout of
 * its own user, and no place for a secret.
 */
import { dirname, join } from 'node:path';
import { AgentError, type ErrorCode } from '../../base/errors.ts';
import { SECRET_NAME } from '../../base/redact.ts';
import { readSecrets } from '../env.ts';
import { dashboardEnv } from '../startedWith.ts';
import type { KeyPath } from './edit.ts';
import { parseConfigText, type LoadedConfig } from './load.ts';
import { refuseLockout } from './lockout.ts';
import { nameOf } from './mask.ts';
import type { Config } from './schema.ts';

export interface Accepted {
  loaded: LoadedConfig;
  /** What the old text said; undefined when it was broken. */
  before: Config | undefined;
}

/** Errors: CONFIG_INVALID, CONFIG_LOCKOUT. */
export function acceptText(path: string, old: string, text: string): Accepted {
  const loaded = parseConfigText(text, path);
  const before = usable(old, path);
  // A file that was broken is no measure.
  refuseLockout(before ?? {}, loaded.config, readSecrets(join(dirname(path), '.env')), dashboardEnv(path));
  return { loaded, before };
}

function usable(text: string, path: string): Config | undefined {
  try {
    return parseConfigText(text, path).config;
  } catch {
    return undefined;
  }
}

/** One value that is named like a secret (interface spec, Authentication 10). Errors: `code`, in the words of the surface. */
export function refuseSecret(path: KeyPath, value: string, code: Extract<ErrorCode, 'USAGE' | 'BAD_REQUEST'>): void {
  if (SECRET_NAME.test(nameOf(path)) && !value.includes('${') && value !== '') throw noPlaceFor(path, code);
}

export function noPlaceFor(path: KeyPath, code: ErrorCode): AgentError {
  const variable = path.map(String).join('_').replace(/\W/g, '_').toUpperCase();
  return new AgentError(code, `${path.join('.')} looks like a secret, and config.yaml is no place for one`, {
    field: path.join('.'),
    fix: `agent env set ${variable} (or Models, Keys) and write "\${${variable}}" here, or name the variable in key_env`,
  });
}
