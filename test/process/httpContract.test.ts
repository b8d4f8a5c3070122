/**
 * Every HTTP route of the dashboard against the real service: nobody gets in without a token, answers are what the
 * contract (and so docs/openapi.json) says, and what a stranger sends is refused in words, never with a defect.
 */
import t from 'tap';
import { httpRoutes } from '../../ipc/contracts/http/table.ts';
import type { HttpRoute } from '../../ipc/httpRoute.ts';
import { testHome } from '../harness/home.ts';
import { startService } from '../harness/service.ts';

t.setTimeout(240_000);

const TOKEN = 'token-of-the-contract-test';

using home = testHome({ 'profiles/work/SOUL.md': 'You work.' });
await using service = await startService(home, { env: { AGENT_DASHBOARD_SESSION_TOKEN: TOKEN } });
await service.ready();

interface Said {
  status: number;
  type: string;
  body: unknown;
}

interface Options {
  query?: string;
  body?: string;
  type?: string;
  token?: boolean;
}

async function call(
  { method, path }: HttpRoute,
  { query = '', body, type = 'application/json', token = true }: Options = {},
): Promise<Said> {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => samples[name] ?? 'nothing-of-this-name');
  const answer = await fetch(`http://127.0.0.1:${service.port}${filled}${query}`, {
    method,
    redirect: 'manual',
    headers: { ...(token ? { 'X-Agent-Session-Token': TOKEN } : {}), ...(body === undefined ? {} : { 'Content-Type': type }) },
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  const kind = answer.headers.get('content-type') ?? '';
  return { status: answer.status, type: kind, body: kind.includes('json') && text !== '' ? JSON.parse(text) : text };
}

/** What a path parameter may be, where something exists. */
const samples: Record<string, string> = { slot: 'agent' };

const isProblem = ({ status, type, body }: Said): boolean => {
  const { code, detail, status: said } = (body ?? {}) as { code?: unknown; detail?: unknown; status?: unknown };
  return type.startsWith('application/problem+json') && typeof code === 'string' && typeof detail === 'string' && said === status;
};

await t.test('without a token every route but the public ones answers 401, as a problem', async (t) => {
  for (const route of httpRoutes.filter(({ access }) => access === 'signedIn')) {
    const said = await call(route, { token: false, ...(route.body ? { body: '{}' } : {}) });
    t.ok(said.status === 401 && isProblem(said), `${route.key} ${said.status}`);
  }
});

await t.test('what a GET answers is what its contract says', async (t) => {
  let answered = 0;
  for (const route of httpRoutes.filter(({ method, access }) => method === 'GET' && access !== 'outside')) {
    const said = await call(route);
    if (said.status !== 200) {
      t.ok(said.status < 500 && isProblem(said), `${route.key} ${said.status} ${JSON.stringify(said.body).slice(0, 200)}`);
      continue;
    }
    answered += 1;
    const parsed = route.result?.safeParse(said.body);
    t.same(parsed?.error?.issues ?? [], [], route.key);
  }
  t.ok(answered >= 5, `${answered} routes have answered`);
});

const TOO_LARGE = 'more than a body may be';
const junk = [
  { name: 'no JSON', body: '{"a":' },
  { name: 'a list', body: '[1,2,3]' },
  { name: 'a word', body: '"word"' },
  { name: 'nothing', body: 'null' },
  { name: 'fields that nobody knows', body: '{"__proto__":{"x":1},"no_such_field":true,"profile":7}' },
  { name: 'another type', body: '<a/>', type: 'application/xml' },
  { name: 'a form', body: 'a=1&b=2', type: 'application/x-www-form-urlencoded' },
  { name: TOO_LARGE, body: '' },
];

await t.test('a body that is not what the contract says is refused in words, and nothing fails', { timeout: 200_000 }, async (t) => {
  for (const route of httpRoutes.filter(({ body, access }) => body && access === 'signedIn')) {
    for (const { name, body, type } of junk) {
      // Half a gigabyte is the business of the test of uploads.
      if (name === TOO_LARGE && route.upload) continue;
      // An optional body may be left empty.
      if (name === 'nothing' && route.body!.safeParse({}).success) continue;
      const sent = name === TOO_LARGE ? `{"a":"${'x'.repeat(route.bodyMaxBytes)}"}` : body;
      const said = await call(route, { body: sent, ...(type ? { type } : {}) }).catch((thrown: unknown) => thrown as Error);
      // The server may hang up on what is too large while it is still being sent.
      if (said instanceof Error) t.equal(name, TOO_LARGE, `${route.key} ${name}: ${said.message}`);
      else
        t.ok(
          said.status >= 400 && said.status < 500 && isProblem(said),
          `${route.key}, ${name}: ${said.status} ${JSON.stringify(said.body).slice(0, 150)}`,
        );
    }
  }
});

await t.test('err.4 an unknown profile is a 404 on every route that takes one, in the query and in the body', async (t) => {
  for (const route of httpRoutes.filter(({ profile }) => profile)) {
    const query = await call(route, { query: '?profile=nobody', ...(route.body ? { body: '{}' } : {}) });
    // A body that lacks what is required is refused first.
    t.ok(query.status === 404 || query.status === 422, `${route.key} ${query.status}`);
    t.ok(isProblem(query), route.key);
  }
});

await t.test('ver.5 no path carries a version', async (t) => {
  t.same(
    httpRoutes.filter(({ path }) => /\/v\d/.test(path)).map(({ path }) => path),
    [],
  );
});

await t.test('after all of it the service stands', async (t) => {
  const { status, body } = await call(httpRoutes.find(({ key }) => key === 'GET /api/workers')!);
  t.equal(status, 200);
  const { workers } = body as { workers: { slot: string; restarts: number }[] };
  t.same(
    workers.filter(({ restarts }) => restarts > 0),
    [],
    'no worker was restarted by it',
  );
});
