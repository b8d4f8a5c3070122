/**
 * One connection on trial: new → provision → validate → connect → cleanup with the settings as they are now, beside
 * whatever runs. Nothing that arrives meanwhile is taken in.
 */
import { AgentError, isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { within } from '../../base/time.ts';
import type { PlatformTest } from '../../ipc/contracts/gateway.ts';
import { inheritedListener } from '../inherited.ts';
import type { WorkerContext } from '../worker.ts';
import type { Adapter, AdapterHost } from './adapter.ts';
import { catalog } from './catalog.ts';
import { wantedNow, type Platforms } from './platforms.ts';

interface TestParts {
  context: WorkerContext;
  platforms: Platforms;
  target: AdapterHost['target'];
}

/** Bounded; every outcome is an answer. Errors: NOT_FOUND. */
export async function testPlatform(
  { context, platforms, target }: TestParts,
  platform: string,
  signal: AbortSignal,
): Promise<PlatformTest> {
  const entry = catalog[platform];
  if (!entry) throw new AgentError('NOT_FOUND', `there is no platform "${platform}"`, { fix: `known: ${Object.keys(catalog).join(', ')}` });
  const startedAt = performance.now();
  const answer = (state: PlatformTest['state'], message: string, fix: string | null = null): PlatformTest => ({
    ok: state === 'connected',
    state,
    message,
    fix,
    took_ms: Math.round(performance.now() - startedAt),
  });
  const running = platforms.states().find((one) => one.platform === platform);
  const isCurrent = !platforms.pending().includes(platform);
  if (running?.state === 'connected' && isCurrent) return answer('connected', `connected since ${running.updated_at}`);

  const host: AdapterHost = {
    platform,
    log: context.log,
    receive: () => ({ kind: 'denied' }),
    keep() {},
    readinessChanged() {},
    target,
    ...noRoutes,
  };
  const over = new AbortController();
  const stop = AbortSignal.any([signal, context.signal, over.signal]);
  let adapter: Adapter | undefined;
  try {
    adapter = (await entry.load())(host);
    adapter.provision({ settings: wantedNow(context, platform) ?? {}, secrets: context.secrets() });
    adapter.validate();
    // The address that the supervisor holds for it is one: a second server on it would close it for the first.
    if (inheritedListener(platform) !== undefined) return heldAddress(running?.state === 'connected', answer);
    await within(adapter.connect(stop), { ms: limits.gateway.testMs, signal: stop, what: `the connection to ${platform}` });
    return answer('connected', 'the connection works; it was closed again');
  } catch (thrown) {
    const fix = isAgentError(thrown) ? (thrown.fix ?? null) : null;
    return answer(isAgentError(thrown) && thrown.code === 'CONFIG_INVALID' ? 'fatal' : 'disconnected', messageOf(thrown), fix);
  } finally {
    over.abort(new AgentError('CANCELLED', 'the trial is over'));
    await adapter?.cleanup();
  }
}

/** A trial takes nothing in. */
const noRoutes: Pick<AdapterHost, 'subscription' | 'isProfile'> = { subscription: () => undefined, isProfile: () => true };

function heldAddress(isOpen: boolean, answer: (state: PlatformTest['state'], message: string, fix?: string) => PlatformTest): PlatformTest {
  if (isOpen)
    return answer('connected', 'it listens, with the settings it was started with; a restart of the gateway takes over the new ones');
  return answer('disconnected', 'its settings are in order, but it does not listen yet', 'restart the gateway');
}
