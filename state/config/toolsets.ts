/** `agent.disabled_toolsets` of config.yaml: toolsets that are taken away everywhere. */
import { AgentError } from '../../base/errors.ts';
import { getConfigValue, setConfigValue } from './edit.ts';

export const DISABLED_TOOLSETS = 'agent.disabled_toolsets';

/** Errors: CONFIG_INVALID. */
export function disabledToolsets(configPath: string): string[] {
  const value = getConfigValue(configPath, DISABLED_TOOLSETS);
  return Array.isArray(value) ? value.map(String) : [];
}

/** Errors: BAD_REQUEST for what cannot name one, CONFIG_INVALID, DISK_FULL, LOCK_HELD. */
export async function switchToolset(configPath: string, name: string, enabled: boolean): Promise<{ before: string[]; after: string[] }> {
  if (!/^[a-z0-9][\w.-]{0,99}$/i.test(name)) throw new AgentError('BAD_REQUEST', `"${name}" is no name of a toolset`, { field: 'name' });
  const before = disabledToolsets(configPath);
  const others = before.filter((one) => one !== name);
  const after = enabled ? others : [...others, name];
  if (after.join('\n') !== before.join('\n')) await setConfigValue(configPath, DISABLED_TOOLSETS, after);
  return { before, after };
}
