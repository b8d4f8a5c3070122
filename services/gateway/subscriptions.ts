/** Routes of `webhook_subscriptions.json` as they are now: looked at for each delivery, read when they have changed. */
import { messageOf } from '../../base/errors.ts';
import { interpolate } from '../../state/env.ts';
import { stampOf } from '../../state/fileStamp.ts';
import { readSubscriptions, subscriptionsPath, type Subscription } from '../../state/webhookSubscriptions.ts';
import type { WorkerContext } from '../worker.ts';

/** One by its name, its secret filled in. A file that cannot be read leaves the routes that were known, and is told once. */
export function createSubscriptions({ paths, log, secrets }: WorkerContext): (name: string) => Subscription | undefined {
  let stamp = '';
  let routes: Record<string, Subscription> = {};
  return (name) => {
    const now = stampOf([subscriptionsPath(paths)]);
    if (now !== stamp) {
      stamp = now;
      try {
        routes = readSubscriptions(paths);
      } catch (thrown) {
        log.error(`webhook: ${messageOf(thrown)}; the routes stay as they were`);
      }
    }
    const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
    return route && { ...route, secret: interpolate(route.secret, secrets()) };
  };
}
