/**
 * One desk per profile that has jobs: its store, its timer, its runs and what waits for its gateway. The desk
 * of the default profile is always open; another opens when it is first needed, or at the start when it has jobs.
 */
import { existsSync } from 'node:fs';
import { coalesced } from '../../base/coalesce.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { loadConfig, type LoadedConfig } from '../../state/config/load.ts';
import { readSecrets } from '../../state/env.ts';
import { stampOf } from '../../state/fileStamp.ts';
import { DEFAULT_PROFILE, listProfiles, requireProfile, type ProfilePaths } from '../../state/home.ts';
import { watchProfiles } from '../../state/profileWatch.ts';
import { openMended } from '../mendedStore.ts';
import { guardStore } from '../storeGuard.ts';
import type { WorkerContext } from '../worker.ts';
import { createHandover, type Handover } from './handover.ts';
import { pruneOutput } from './output.ts';
import { createRunner, type Runner } from './runner.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { openCronStore, type CronStore } from './store.ts';

export interface Desk extends AsyncDisposable {
  /** Of this profile, whichever the worker itself has. */
  context: WorkerContext;
  store: CronStore;
  runner: Runner;
  scheduler: Scheduler;
  handover: Handover;
  prune(): void;
  /** Takes up what an earlier incarnation left, then claims what is due. */
  start(): void;
}

export interface Desks extends AsyncDisposable {
  /** Errors: UNKNOWN_PROFILE, and those of opening its store. */
  of(profile: string): Desk;
  /** Those that are open, the default one first. */
  all(): Desk[];
  /** Opens the desk of every profile that has jobs; from here on a desk starts when it opens, and profiles are followed as they come, go and are renamed. */
  start(): void;
  /** Looks which profiles there are. */
  look(): void;
}

export function createDesks(context: WorkerContext, onChange: () => void): Desks {
  const open = new Map<string, Desk>();
  let started = false;
  let watching: Disposable | undefined;
  /** A run of a profile that is gone is not over. */
  let leaving = false;
  const lookSoon = coalesced(() => desks.look());

  const close = async (name: string): Promise<void> => {
    const desk = open.get(name);
    open.delete(name);
    await desk?.[Symbol.asyncDispose]();
  };
  /** A profile that was deleted or renamed takes its jobs along, once none of them runs. Answers whether one does. */
  const forgetGone = (): boolean => {
    const names = listProfiles(context.home);
    const gone = [...open.values()].filter((desk) => !names.includes(desk.context.profile));
    const busy = gone.filter(({ runner }) => runner.active().length > 0);
    for (const desk of gone) if (!busy.includes(desk)) void close(desk.context.profile);
    leaving = busy.length > 0;
    return leaving;
  };
  const changed = (): void => {
    if (leaving) lookSoon();
    onChange();
  };
  const desks: Desks = {
    of(profile) {
      const found = open.get(profile);
      if (found && (profile === DEFAULT_PROFILE || existsSync(found.context.paths.soul))) return found;
      forgetGone();
      watching ??= started ? watchProfiles(context.home, lookSoon) : undefined;
      const desk = openDesk(contextOf(context, requireProfile(context.home, profile)), changed);
      open.set(profile, desk);
      if (started) desk.start();
      return desk;
    },
    all() {
      forgetGone();
      return [...open.values()];
    },
    start() {
      started = true;
      for (const desk of open.values()) desk.start();
      desks.look();
    },
    look() {
      watching ??= watchProfiles(context.home, lookSoon);
      // The same jobs under another name wait until the old name's run is over.
      if (forgetGone()) return;
      for (const name of listProfiles(context.home)) {
        if (open.has(name) || !existsSync(context.home.profile(name).cronDb)) continue;
        try {
          desks.of(name);
        } catch (thrown) {
          // The jobs of the other profiles go on.
          context.log.error(`the jobs of profile ${name} cannot be read: ${messageOf(thrown)}`);
        }
      }
      onChange();
    },
    async [Symbol.asyncDispose]() {
      lookSoon.cancel();
      watching?.[Symbol.dispose]();
      await Promise.all([...open.keys()].map(close));
    },
  };
  desks.of(context.profile);
  return desks;
}

function openDesk(context: WorkerContext, onChange: () => void): Desk {
  const { store } = openMended(context, 'cron', openCronStore);
  const guard = guardStore(context, 'cron', store.db);
  const handover = createHandover(context, store);
  const runner = createRunner({ context, store, handover, onChange });
  const scheduler = createScheduler({
    context,
    store,
    isBusy: runner.isBusy,
    onClaimed: runner.add,
    onHeld: onChange,
  });
  const prune = () => {
    try {
      store.prune();
      pruneOutput(context.paths, (id) => store.job(id) !== undefined);
    } catch (thrown) {
      context.log.warn(`old runs could not be removed: ${messageOf(thrown)}`);
    }
  };
  return {
    context,
    store,
    runner,
    scheduler,
    handover,
    prune,
    start() {
      prune();
      void runner
        .recover()
        .then(scheduler.wake, (thrown: unknown) => context.log.error(`open runs could not be taken up: ${messageOf(thrown)}`));
      handover.wake();
    },
    async [Symbol.asyncDispose]() {
      scheduler[Symbol.dispose]();
      handover[Symbol.dispose]();
      await guard[Symbol.asyncDispose]();
      store[Symbol.dispose]();
    },
  };
}

/** The worker's own context seen from another profile: its files, its settings, its secrets kept out of logs. */
function contextOf(context: WorkerContext, paths: ProfilePaths): WorkerContext {
  if (paths.name === context.profile) return context;
  let known: { stamp: string; loaded: LoadedConfig } | undefined;
  context.redact.learn(readSecrets(paths.env, {}).values());
  return {
    ...context,
    profile: paths.name,
    paths,
    config() {
      const stamp = stampOf([paths.config]);
      if (known?.stamp !== stamp) known = { stamp, loaded: loadConfig(context.home, paths) };
      return known.loaded;
    },
    secrets: () => readSecrets(paths.env, {}),
    reportFacts() {
      throw new AgentError('INTERNAL', 'facts are told by the worker, not by one of its desks');
    },
  };
}
