/** `agent.disabled_toolsets` of config.yaml: toolsets that are taken away everywhere. */
import { AgentError } from '../../base/errors.ts';
import { getConfigValue, listConfigName } from './edit.ts';

export const DISABLED_TOOLSETS = 'agent.disabled_toolsets';

/** Errors: CONFIG_INVALID. */
export function disabledToolsets(configPath: string): string[] {
  const value = getConfigValue(configPath, DISABLED_TOOLSETS);
  return Array.isArray(value) ? value.map(String) : [];
}

/** Errors: BAD_REQUEST for what cannot name one, CONFIG_INVALID, DISK_FULL, LOCK_HELD. */
export async function switchToolset(configPath: string, name: string, enabled: boolean): Promise<{ before: string[]; after: string[] }> {
  if (!/^[a-z0-9][\w.-]{0,99}$/i.test(name))
    throw new AgentError('BAD_REQUEST', `"${name}" is not the name of a toolset`, { field: 'name' });
  return listConfigName(configPath, DISABLED_TOOLSETS, { name, listed: !enabled });
}
