/** Model resolution with the live configuration of this worker. */
import { createModel, resolveModel, usableProviders, type Resolution, type ResolveInput } from '../../agent/models/resolve.ts';
import { rehearsalName } from '../../agent/models/rehearsal.ts';
import type { Model } from '../../agent/ports.ts';
import type { WorkerContext } from '../worker.ts';

/** What a session says about its model; null = as configured. */
export interface ModelChoice {
  model: string | null;
  provider: string | null;
}

export interface ModelDesk {
  /** Without network and without loading anything. */
  resolve(choice?: ModelChoice): Resolution;
  /** Errors: NO_PROVIDER. */
  open(choice?: ModelChoice): Promise<Model>;
  /** Names of providers that could serve now. */
  usable(): string[];
}

export function createModelDesk(context: WorkerContext): ModelDesk {
  const input = (choice?: ModelChoice): ResolveInput => {
    const { config } = context.config();
    const secrets = context.secrets();
    return {
      model: config.model?.default,
      provider: config.model?.provider,
      session: { model: choice?.model ?? undefined, provider: choice?.provider ?? undefined },
      providers: config.providers,
      secret: (name) => secrets.get(name),
      demo: context.demo,
      envFile: context.paths.env,
    };
  };
  return {
    resolve: (choice) => resolveModel(input(choice)),
    open: (choice) => createModel(resolveModel(input(choice))),
    usable: () => usableProviders(input()),
  };
}

export interface ModelFacts {
  provider: string | null;
  model: string | null;
  scripted: boolean;
  /** Why nothing, or not what was configured, is used. */
  warning: string | null;
}

export function factsOf(resolution: Resolution): ModelFacts {
  switch (resolution.kind) {
    case 'endpoint':
      return { provider: resolution.settings.provider, model: resolution.settings.model, scripted: false, warning: null };
    case 'rehearsal':
      return { provider: rehearsalName.provider, model: rehearsalName.model, scripted: true, warning: resolution.because };
    case 'none':
      return { provider: null, model: null, scripted: false, warning: `${resolution.message} — ${resolution.fix}` };
  }
}
