/** Which status refuses what, and which profile a request means: against a dashboard worker with its agent. */
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { loadConfig } from '../../state/config/load.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

const home = testHome({ 'profiles/work/SOUL.md': 'You work.' });
const agent = await startWorker(home, 'agent', { demo: true });
const dashboard = await startDashboard(home);
t.teardown(async () => {
  await dashboard[Symbol.asyncDispose]();
  await agent[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});
const send = (method: string, path: string, body: unknown) =>
  dashboard.ask(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

t.test('another method at an address that exists is 405 with the methods it takes', async (t) => {
  for (const [path, allow] of [
    ['/api/cron/fire', 'POST'],
    ['/auth/code', 'POST'],
    ['/api/config', 'GET, PUT'],
    ['/metrics', 'GET'],
  ] as const) {
    const { status, headers, text } = await dashboard.ask(path, { method: 'DELETE' });
    t.match({ status, allow: headers.allow, text }, { status: 405, allow, text: /METHOD_NOT_ALLOWED/ }, path);
  }
  t.equal((await dashboard.ask('/api/nosuch', { method: 'DELETE' })).status, 404);
});

t.test('a body that is too large to be proved is refused as not proved', async (t) => {
  const body = 'x'.repeat(limits.dashboard.bodyMaxBytes + 1);
  const { status, text } = await dashboard
    .ask('/api/cron/fire', { method: 'POST', token: false, body })
    .catch(() => ({ status: 0, text: '' }));
  t.match({ status, text }, { status: 401, text: /UNAUTHENTICATED/ });
});

t.test('a second MCP server of one name is a conflict', async (t) => {
  const server = { name: 'one', command: 'true', enabled: false };
  t.equal((await send('POST', '/api/mcp/servers', server)).status, 201);
  const second = await send('POST', '/api/mcp/servers', server);
  t.match({ status: second.status, ...second.json() }, { status: 409, code: 'SERVER_EXISTS' });
});

t.test('a profile of the body that is empty or null leaves the one of the query', async (t) => {
  for (const [n, profile] of ['', null].entries()) {
    const { status } = await send('PUT', '/api/config?profile=work', { config: { agent: { max_turns: 40 + n } }, profile });
    t.equal(status, 200);
    t.equal(loadConfig(home, home.profile('work')).config.agent?.max_turns, 40 + n);
  }
  t.equal(loadConfig(home, home.profile('default')).config.agent?.max_turns, undefined, 'the default profile is not touched');
});

t.test('a reasoning level that does not exist is refused with the levels', async (t) => {
  const { status, text } = await send('POST', '/api/model/set', { scope: 'main', reasoning_effort: 'ultra' });
  t.equal(status, 422);
  for (const level of ['none', 'medium', 'max', 'default']) t.match(text, level);
});

t.test('status lists accepted work that waits', async (t) => {
  t.same((await dashboard.ask('/api/status', { token: false })).json().waiting, []);
});
