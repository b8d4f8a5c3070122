/** The table of HTTP contracts and the handlers of the dashboard name the same routes. */
import t from 'tap';
import type { z } from 'zod';
import { httpRoutes } from '../../ipc/contracts/http/table.ts';
import type { Dashboard } from '../../services/dashboard/http.ts';
import { allRoutes } from '../../services/dashboard/routes/table.ts';

/** Put up by hand, because its proof covers the raw bytes. */
const BY_HAND = ['POST /api/cron/fire'];

/** Handlers are only made here, not run: whatever they take apart is there. */
const anything: object = new Proxy(() => anything, { get: () => anything });

t.test('every contract has a handler, and every handler a contract', (t) => {
  const handled = allRoutes(anything as Dashboard).map(({ route }) => route.key);
  t.same([...handled, ...BY_HAND].toSorted(), httpRoutes.map(({ key }) => key).toSorted());
  t.ok(handled.length >= 9);
  t.end();
});

t.test('a path names each of its parameters once, and its schema knows them', (t) => {
  for (const { key, path, params } of httpRoutes) {
    const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
    const known = params ? Object.keys((params as z.ZodObject).shape) : [];
    t.same(known.toSorted(), names.toSorted(), key);
  }
  t.end();
});
