/** Methods of the gateway RPC about models and settings. */
import { SECRET_NAME } from '../../../base/redact.ts';
import { isoTime } from '../../../base/time.ts';
import { clientPing, configGet, setupStatus } from '../../../ipc/contracts/rpcSettings.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { parseKeyPath } from '../../../state/config/edit.ts';
import { factsOf } from '../models.ts';
import { requireSession, type SessionParts } from '../sessions.ts';

export function settingMethods({ context, store, desk }: SessionParts): Handler[] {
  return [
    handle(clientPing, () => ({ at: isoTime(Date.now()) })),
    handle(setupStatus, () => {
      const resolution = desk.resolve();
      const { provider, model, scripted, warning } = factsOf(resolution);
      return {
        ready: resolution.kind !== 'none',
        provider_configured: resolution.kind === 'endpoint',
        inference_provider: provider,
        model,
        scripted,
        free_tier: null,
        other_providers: desk.usable().filter((name) => name !== provider),
        message: warning,
      };
    }),
    handle(configGet, ({ key, session_id }) => {
      const session = session_id === undefined ? undefined : requireSession(store, session_id);
      if (key === 'model') {
        const { provider, model, scripted } = factsOf(desk.resolve(session));
        return { key, value: model, provider, scripted };
      }
      if (key === 'reasoning') return { key, value: context.config().config.agent?.reasoning_effort ?? null };
      return { key, value: configValue(context.config().config, key) };
    }),
  ];
}

/** The value at a dotted path; null when it is not set. What a name calls a secret is not given out. */
function configValue(config: unknown, key: string): unknown {
  let value = config;
  for (const part of parseKeyPath(key)) {
    if (typeof value !== 'object' || value === null) return null;
    value = Object.hasOwn(value, part) ? (value as Record<string, unknown>)[part] : undefined;
  }
  return withoutSecrets(value, key) ?? null;
}

function withoutSecrets(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, ''));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutSecrets(inner, key)]));
  return typeof value === 'string' && SECRET_NAME.test(name) ? '[redacted]' : value;
}
