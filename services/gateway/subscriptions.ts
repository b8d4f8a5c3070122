/** Routes of `webhook_subscriptions.json` as they are now: looked at for each delivery, read when they have changed. */
import { isAgentError, messageOf } from '../../base/errors.ts';
import { interpolate } from '../../state/env.ts';
import { stampOf } from '../../state/fileStamp.ts';
import { readSubscriptions, subscriptionsPath, type Subscription } from '../../state/webhookSubscriptions.ts';
import type { WorkerContext } from '../worker.ts';

/** One by its name, its secret filled in. A file that cannot be read leaves the routes that were known, and is told once. */
export function createSubscriptions({ paths, secrets, reportProblem }: WorkerContext): (name: string) => Subscription | undefined {
  let stamp = '';
  let routes: Record<string, Subscription> = {};
  const refresh = () => {
    const now = stampOf([subscriptionsPath(paths)]);
    if (now === stamp) return;
    stamp = now;
    try {
      routes = readSubscriptions(paths);
      reportProblem('subscriptions', null);
    } catch (thrown) {
      const fix = isAgentError(thrown) ? thrown.fix : undefined;
      reportProblem('subscriptions', {
        what: `${messageOf(thrown)}; webhook routes that were read before stay as they were`,
        fix: fix ?? `check ${subscriptionsPath(paths)}`,
      });
    }
  };
  refresh();
  return (name) => {
    refresh();
    const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
    return route && { ...route, secret: interpolate(route.secret, secrets()) };
  };
}
