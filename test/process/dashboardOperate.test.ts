/** Sessions, analytics, workers, logs and status over HTTP, through the real workers. */
import t from 'tap';
import { connect } from '../harness/agentClient.ts';
import { startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.setTimeout(240_000);

/** Answers of many shapes, read freely. */
// oxlint-disable-next-line typescript/no-explicit-any
type Read = { status: number } & Record<string, any>;

const json = { 'Content-Type': 'application/json' };
const send = async (dashboard: TestDashboard, method: string, path: string, body?: object) => {
  const answer = await dashboard.ask(path, { method, ...(body ? { headers: json, body: JSON.stringify(body) } : {}) });
  return { status: answer.status, headers: answer.headers, ...answer.json<Record<string, never>>() } as Read;
};

t.test('sessions: order, sources, one of them, title, both ends of its messages, export and import, search, deletion', async (t) => {
  using home = testHome();
  await using agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  using chat = await connect(agent);
  const first = await chat.create();
  await chat.turn(first, 'say: 3 words about lisbon');
  const second = await chat.create();
  await chat.turn(second, 'say: 2 words');
  await chat.turn(first, 'say: 4 words');

  const ids = async (query: string) =>
    (await send(dashboard, 'GET', `/api/sessions?${query}`)).sessions.map(({ id }: { id: string }) => id) as string[];
  t.same(await ids('order=recent'), [first, second]);
  t.same(await ids('order=created'), [second, first]);
  t.same(await ids('limit=1&offset=1'), [second]);
  const { source } = await send(dashboard, 'GET', `/api/sessions/${first}`);
  t.same(await ids(`source=${source}`), [first, second]);
  t.same(await ids(`exclude_sources=irc,${source}`), []);
  t.same(await ids('sources=irc,slack'), []);
  t.match(await send(dashboard, 'GET', `/api/sessions/${first}`), { id: first, is_active: true, profile: 'default', input_tokens: Number });
  t.match(await send(dashboard, 'GET', '/api/sessions/nobody'), { status: 404, code: 'UNKNOWN_SESSION' });

  t.match(await send(dashboard, 'PATCH', `/api/sessions/${first}`, { title: 'Trip to Lisbon' }), { ok: true, title: 'Trip to Lisbon' });
  t.match(await send(dashboard, 'PATCH', `/api/sessions/${first}`, {}), { status: 422 });
  t.match(await send(dashboard, 'PATCH', `/api/sessions/${first}`, { title: 'x'.repeat(201) }), { status: 422 });
  t.match(await send(dashboard, 'GET', '/api/sessions/Trip%20to%20Lisbon/latest-descendant'), {
    requested_session_id: 'Trip to Lisbon',
    session_id: first,
    changed: true,
  });

  const said = async (query: string) =>
    (await send(dashboard, 'GET', `/api/sessions/${first}/messages?${query}`)).messages.map(({ role }: { role: string }) => role);
  const all = await send(dashboard, 'GET', `/api/sessions/${first}/messages`);
  const texts = all.messages.map(({ content }: { content: string }) => content);
  const page = async (query: string) =>
    (await send(dashboard, 'GET', `/api/sessions/${first}/messages?${query}`)).messages.map(({ content }: { content: string }) => content);
  t.equal((await said('')).length, 4);
  t.same(await page('order=oldest&limit=2'), texts.slice(0, 2));
  t.same(await page('order=oldest&limit=2&offset=1'), texts.slice(1, 3));
  t.same(await page('order=latest&limit=1'), texts.slice(3));
  t.same(await page('limit=2&offset=1'), texts.slice(1, 3));

  const exported = await dashboard.ask(`/api/sessions/${first}/export`);
  t.match(exported.headers, { 'content-disposition': `attachment; filename="${first}.json"` });
  const found = await until('it is indexed', async () => {
    const { results } = await send(dashboard, 'GET', '/api/sessions/search?q=lisbon');
    return results.length > 0 && results;
  });
  t.match(found[0], { session_id: first, role: String, snippet: /lisbon/, source, session_started: String, lineage_root: first });
  t.match(await send(dashboard, 'GET', '/api/sessions/stats'), { total: 2, active_store: 2, archived: 0, by_source: { [source]: 2 } });
  t.match(await send(dashboard, 'GET', '/api/sessions/empty/count'), { count: 0 });
  t.match(await send(dashboard, 'DELETE', '/api/sessions/empty'), { ok: true, removed: 0 });
  t.match(await send(dashboard, 'POST', '/api/sessions/prune', { older_than_days: 30 }), { ok: true, removed: 0, skipped_open: 0 });
  t.match(await send(dashboard, 'POST', '/api/sessions/bulk-delete', { ids: [first, 'nobody'] }), {
    ok: false,
    removed: 1,
    failed: [{ id: 'nobody', code: 'UNKNOWN_SESSION' }],
  });
  t.match(await send(dashboard, 'POST', '/api/sessions/import', { sessions: [exported.json(), { format: 'something else' }] }), {
    ok: false,
    imported: 1,
    imported_ids: [first],
    errors: [{ index: 1 }],
  });
  t.match(await send(dashboard, 'DELETE', `/api/sessions/${second}`), { ok: true });
  t.same(await ids(''), [first]);
});

t.test('analytics: tokens by day, model and source, of the days asked for, from the agent worker of the profile', async (t) => {
  using home = testHome();
  await using agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  t.match(await send(dashboard, 'GET', '/api/analytics/usage'), {
    period_days: 30,
    daily: [],
    by_model: [],
    totals: { turns: 0, sessions: 0 },
  });
  using chat = await connect(agent);
  const id = await chat.create();
  await chat.turn(id, 'say: 3 words');
  const usage = await until('the answer of a moment ago is no longer given', async () => {
    const answer = await send(dashboard, 'GET', '/api/analytics/usage?days=7');
    return answer.daily.length > 0 && answer;
  });
  t.match(usage, { period_days: 7, by_source: [{ sessions: 1, turns: 1 }], totals: { sessions: 1, turns: 1, actual_cost: null } });
  t.equal(usage.daily.length, 1);
  t.equal(usage.totals.input_tokens, usage.daily[0].input_tokens);
  t.match(await send(dashboard, 'GET', '/api/analytics/models?days=7'), {
    models: [{ provider: String, model: String, daily: [{ day: usage.daily[0].day }] }],
  });
  for (const days of ['0', 'many', '100000'])
    t.equal((await send(dashboard, 'GET', `/api/analytics/usage?days=${days}`)).status, 422, days);
});

t.test('status: memory, disk and sessions for the user; on a wider bind a stranger learns none of the figures or paths', async (t) => {
  using home = testHome();
  {
    await using dashboard = await startDashboard(home);
    t.match((await dashboard.ask('/api/status', { token: false })).json(), {
      config_version: Number,
      latest_config_version: Number,
      config_path: home.config,
      active_sessions: null,
      memory: {
        pressure: /^(?:ok|elevated|critical)$/,
        system_total_mb: Number,
        system_available_mb: Number,
        last_boot_unclean: false,
        last_boot_suspected_oom: false,
        boot_id: String,
      },
      disk: { pressure: /^(?:ok|elevated|critical)$/, total_mb: Number, free_mb: Number, used_percent: Number },
    });
    t.match((await dashboard.ask('/api/system/stats')).json(), {
      node: process.version,
      cpus: Number,
      load: [Number],
      memory: { service_mb: 0 },
    });
  }
  await using wide = await startDashboard(home, { env: { AGENT_DASHBOARD_HOST: '0.0.0.0', AGENT_DASHBOARD_INSECURE: '1' } });
  const { text, json: body } = await wide.ask('/api/status', { token: false });
  t.notOk(text.includes(home.root));
  t.same(body<{ memory: object; disk: object }>().disk, { pressure: body<{ disk: { pressure: string } }>().disk.pressure });
  t.notOk('system_total_mb' in body<{ memory: object }>().memory);
  t.match((await wide.ask('/api/status')).json(), { agent_home: home.root, memory: { system_total_mb: Number } });
});

t.test('a worker: its row, why it ended with the same words as `agent why`, receipts and log', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using service = await startService(home, { env: { AGENT_DASHBOARD_SESSION_TOKEN: 'pinned-token-of-the-test' } });
  await service.ready();
  const get = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      headers: { 'X-Agent-Session-Token': 'pinned-token-of-the-test' },
    });
    return { status: answer.status, ...((await answer.json()) as object) } as Read;
  };
  t.match(await get('/api/workers/cron'), { slot: 'cron', state: 'ready', live: true });
  t.match(await get('/api/workers/cron/why'), { sentence: /no abnormal end on record/, times: 0, ends: [] });
  await until('cron has served for a second', async () => Date.now() - Date.parse((await service.worker('cron')).since) > 1_200);
  process.kill((await service.worker('cron')).pid!, 'SIGKILL');
  const why = await until('the end is on record', async () => {
    const answer = await get('/api/workers/cron/why?last=3');
    return answer.ends.length > 0 && answer;
  });
  t.match(why, { slot: 'cron', sentence: /SIGKILL/, times: 1, ends: [{ slot: 'cron', tail: Array }] });
  const { memory } = await until('status says so', async () => {
    const status = await get('/api/status');
    return status.memory.last_boot_unclean && status;
  });
  t.match(memory, { last_boot_suspected_oom: false });
  await fetch(`http://127.0.0.1:${service.port}/api/workers/cron/restart`, {
    method: 'POST',
    headers: { 'X-Agent-Session-Token': 'pinned-token-of-the-test' },
  });
  t.match(await get('/api/workers/cron/receipts?limit=1'), {
    receipts: [{ slot: 'cron', action: 'restart', actor: 'dashboard', ok: true }],
  });
  t.match(await get('/api/workers/dashboard/logs?lines=3'), { file: 'gui', lines: [String] });
  t.equal(await until('sessions are counted', async () => (await get('/api/status')).active_sessions === 0 && 'counted'), 'counted');
  for (const path of ['', '/why', '/receipts', '/logs']) {
    t.match(await get(`/api/workers/nobody${path}`), { status: 404, code: 'UNKNOWN_SLOT' }, path);
  }
  await service.down();
  await using next = await startService(home);
  await next.ready();
  const fresh = (await (await fetch(`http://127.0.0.1:${next.port}/api/status`)).json()) as Read;
  t.match(fresh.memory, { last_boot_unclean: false }, 'after a clean stop nothing is held against the next run');
});

t.test('logs: the list of them, words of a line whatever their case, and no name that leads elsewhere', async (t) => {
  using home = testHome();
  home.write('logs/agent.log', `${['One fish', 'two FISH', 'red'].map((msg) => JSON.stringify({ level: 'info', msg })).join('\n')}\n`);
  home.write('logs/bridge.log', 'words of a program of the user\n');
  await using dashboard = await startDashboard(home);
  t.equal((await send(dashboard, 'GET', '/api/logs?text=fish')).lines.length, 2);
  t.same((await send(dashboard, 'GET', '/api/logs?file=bridge')).lines, ['words of a program of the user']);
  const { files } = await send(dashboard, 'GET', '/api/logs/files');
  t.match(
    files.find(({ name }: { name: string }) => name === 'bridge'),
    { size: 31, modified_at: String },
  );
  t.match(await send(dashboard, 'GET', '/api/logs?file=nobody'), { status: 404, code: 'NOT_FOUND' });
  for (const name of ['../config', '%2e%2e%2fconfig', 'agent.log', '']) {
    t.ok([404, 422].includes((await send(dashboard, 'GET', `/api/logs?file=${name}`)).status), name);
  }
});
