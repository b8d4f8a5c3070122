/** Scheduled jobs: asked of the cron worker, which owns them. `POST /api/cron/fire` stands in cronFire.ts. */
import * as cron from '../../../ipc/contracts/cron.ts';
import * as http from '../../../ipc/contracts/http/cron.ts';
import { loadConfig } from '../../../state/config/load.ts';
import { readSecrets } from '../../../state/env.ts';
import { DEFAULT_PROFILE, requireProfile, type ProfilePaths } from '../../../state/home.ts';
import type { Dashboard } from '../http.ts';
import { pinnedProfile, withinPinned } from '../pinned.ts';
import { on, type HttpHandler, type RouteInput } from '../route.ts';

/** In the query of a list: the jobs of every profile. */
const EVERY = 'all';

export function cronRoutes({ context }: Dashboard): HttpHandler[] {
  const { home } = context;
  const worker = context.peer('cron');
  const jobOf = ({ params: { id }, profile }: RouteInput<{ id: string }>) => ({ job_id: id, profile: profile.name });
  const pinned = pinnedProfile(context);
  const scope = (said: string | undefined) => {
    const profile = withinPinned(pinned, said || undefined);
    return profile === EVERY ? { every_profile: true } : { profile: requireProfile(home, profile ?? DEFAULT_PROFILE).name };
  };
  const runsOf = (profile: ProfilePaths, limit: number, job: string | undefined, signal: AbortSignal) =>
    worker.call(cron.listRuns, { profile: profile.name, limit, ...(job === undefined ? {} : { job_id: job }) }, { signal });

  return [
    on(http.listCronJobs, ({ query: { profile }, signal }) => worker.call(cron.listJobs, scope(profile), { signal })),
    on(http.createCronJob, ({ body, profile }) =>
      worker.call(cron.createJob, { ...given(body), schedule: body.schedule, profile: profile.name }),
    ),
    on(http.getCronJob, (input) => worker.call(cron.getJob, jobOf(input), { signal: input.signal })),
    on(http.updateCronJob, (input) => worker.call(cron.updateJob, { ...jobOf(input), updates: input.body.updates })),
    on(http.pauseCronJob, (input) => worker.call(cron.pauseJob, jobOf(input))),
    on(http.resumeCronJob, (input) => worker.call(cron.resumeJob, jobOf(input))),
    on(http.triggerCronJob, async (input) => {
      const { execution_id } = await worker.call(cron.runJob, jobOf(input));
      const { job } = await worker.call(cron.getJob, jobOf(input));
      return { execution_id, job };
    }),
    on(http.deleteCronJob, (input) => worker.call(cron.removeJob, jobOf(input))),
    on(http.listCronRuns, ({ query: { limit, job_id }, profile, signal }) => runsOf(profile, limit, job_id, signal)),
    on(http.cronJobRuns, ({ params: { id }, query: { limit }, profile, signal }) => runsOf(profile, limit, id, signal)),
    on(http.cronRunOutput, ({ params: { id }, profile, signal }) =>
      worker.call(cron.runOutput, { execution_id: id, profile: profile.name }, { signal }),
    ),
    on(http.deliveryTargets, ({ profile }) => ({ targets: [localFile, ...platformTargets(context.home, profile)] })),
    on(http.previewCron, ({ body: { schedule, timezone }, profile, signal }) =>
      worker.call(cron.previewSchedule, { schedule, profile: profile.name, ...(timezone ? { timezone } : {}) }, { signal }),
    ),
    on(http.cronCalendar, ({ query: { from, to, profile }, signal }) =>
      worker.call(cron.calendar, { from, to, ...scope(profile) }, { signal }),
    ),
    on(http.listCronBlueprints, ({ signal }) => worker.call(cron.listBlueprints, {}, { signal })),
    on(http.previewCronBlueprint, ({ body: { blueprint, values }, profile, signal }) =>
      worker.call(cron.previewBlueprint, { blueprint, values, profile: profile.name }, { signal }),
    ),
    on(http.instantiateCronBlueprint, async ({ body: { blueprint, values }, profile }) => {
      const { job } = await worker.call(cron.instantiateBlueprint, { blueprint, values, profile: profile.name });
      return job;
    }),
  ];
}

/** What was given, without what was left out. */
function given<T extends object>(body: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as never;
}

const localFile = { id: 'local', name: 'A file of the job', home_target_set: true, home_env_var: null };

/** As config.yaml has them; whether one is connected is the gateway's to say when a result comes. */
function platformTargets(home: Dashboard['context']['home'], profile: ProfilePaths) {
  const { config } = loadConfig(home, profile);
  const secrets = readSecrets(profile.env, profile.name === DEFAULT_PROFILE ? process.env : {});
  return Object.entries(config.platforms ?? {})
    .filter(([, { enabled }]) => enabled !== false)
    .map(([id, { home_channel }]) => {
      const variable = `${id.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_HOME_CHANNEL`;
      return { id, name: id, home_target_set: Boolean(home_channel ?? secrets.get(variable)), home_env_var: variable };
    });
}
