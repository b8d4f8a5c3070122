/**
 * Whether anything can answer, and `setup.ready` when that becomes so: a key that was added while pages are open, a model
 * server that was found. Looks at the configuration when its files change; polls nothing.
 */
import { watch } from 'node:fs';
import { basename } from 'node:path';
import { coalesced } from '../../base/coalesce.ts';
import { errorFields } from '../../base/log.ts';
import type { setupStatus } from '../../ipc/contracts/rpcSettings.ts';
import type { ResultOf } from '../../ipc/method.ts';
import type { WorkerContext } from '../worker.ts';
import type { EventLog } from './events.ts';
import { factsOf, type ModelDesk } from './models.ts';

export function readiness(desk: ModelDesk): ResultOf<typeof setupStatus> {
  const resolution = desk.resolve();
  const { provider, model, scripted, warning } = factsOf(resolution);
  const found = resolution.kind === 'endpoint' && resolution.settings.detected;
  const usable = desk.usable();
  const detected = new Set<string>(desk.catalog.detected.map(({ kind }) => kind));
  return {
    ready: resolution.kind !== 'none',
    provider_configured: (resolution.kind === 'endpoint' && !found) || usable.some((name) => !detected.has(name)),
    inference_provider: provider,
    model,
    scripted,
    free_tier: null,
    other_providers: usable.filter((name) => name !== provider),
    message: found ? `${provider} was found running on this machine; \`agent model set ${provider}:${model}\` keeps it` : warning,
  };
}

export interface SetupWatch extends Disposable {
  /** Announces a provider that has become usable since the last look. */
  look(): void;
}

export function watchSetup({ context, desk, events }: { context: WorkerContext; desk: ModelDesk; events: EventLog }): SetupWatch {
  let usable = false;
  const look = () => {
    const before = usable;
    usable = desk.resolve().kind === 'endpoint';
    if (usable && !before) events.broadcast('setup.ready', readiness(desk));
  };
  const soon = coalesced(look);
  const { dir, config, env, auth } = context.paths;
  const names = new Set<string | null>([config, env, auth].map((path) => basename(path)));
  let watcher: Disposable | undefined;
  try {
    const files = watch(dir, { persistent: false }, (_event, name) => void (names.has(name) && soon()));
    files.on('error', (thrown) => context.log.warn('the configuration is no longer watched', errorFields(thrown)));
    watcher = { [Symbol.dispose]: () => files.close() };
  } catch (thrown) {
    // Clients see the change when they ask next.
    context.log.warn('the configuration cannot be watched', errorFields(thrown));
  }
  return {
    look,
    [Symbol.dispose]() {
      soon.cancel();
      watcher?.[Symbol.dispose]();
    },
  };
}
