/** Profiles on the real service: made and removed by the page's API, their agent on demand, and what is refused. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cli } from '../harness/cli.ts';
import { refused, startDashboard } from '../harness/dashboard.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { startService, type TestService } from '../harness/service.ts';
import { until } from '../harness/until.ts';
import { WebSocket } from 'ws';

t.setTimeout(240_000);

const TOKEN = 'pinned-token-of-the-test';

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** The dashboard of the whole service. */
function caller(service: TestService) {
  return async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      method,
      headers: { 'X-Agent-Session-Token': TOKEN, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
}

async function serviceOn(home: TestHome): Promise<TestService> {
  const service = await startService(home, { env: { AGENT_DASHBOARD_SESSION_TOKEN: TOKEN } });
  await service.ready();
  return service;
}

t.test(
  'a profile is made, its agent starts when it is first asked, and it is refused what would pull the ground away',
  { timeout: 200_000 },
  async (t) => {
    using home = testHome({ 'config.yaml': 'model: { default: tiny-1 }\n', '.env': 'OPENAI_API_KEY=sk-of-the-default-profile-1\n' });
    home.write('skills/home/brew/SKILL.md', '---\nname: brew\ndescription: tea\n---\nBoil.\n');
    await using service = await serviceOn(home);
    const call = caller(service);

    t.match(await call('POST', '/api/profiles', { name: 'work', clone_from: 'default', description: 'mail' }), {
      status: 201,
      body: { name: 'work', model: 'tiny-1', has_env: true, skill_count: 1, description: 'mail', agent_running: false },
    });
    t.equal(readFileSync(join(home.root, 'profiles/work/.env'), 'utf8'), 'OPENAI_API_KEY=sk-of-the-default-profile-1\n');
    t.match(await call('POST', '/api/profiles', { name: 'work' }), { status: 409, body: { code: 'PROFILE_EXISTS' } });
    for (const name of ['default', 'Work', '../work', 'a b', ''])
      t.equal((await call('POST', '/api/profiles', { name })).status, 422, name);

    // A moment old, and known: nobody has to wait for the supervisor's next look.
    t.match(await call('GET', '/api/skills?profile=work'), { status: 200, body: { skills: [{ name: 'brew', enabled: true }] } });
    t.match(await service.worker('agent@work'), { state: 'ready', desired: 'demand' });

    t.match(await call('PUT', '/api/skills/toggle', { name: 'brew', enabled: false, profile: 'work' }), {
      status: 200,
      body: { enabled: false },
    });
    t.match(await call('GET', '/api/skills?profile=work'), { body: { skills: [{ name: 'brew', enabled: false }] } });
    t.match(
      await call('GET', '/api/skills'),
      { body: { skills: [{ name: 'brew', enabled: true }] } },
      'of the default profile it is as it was',
    );

    for (const [method, path, body] of [
      ['DELETE', '/api/profiles/work', undefined],
      ['PATCH', '/api/profiles/work', { new_name: 'office' }],
    ] as const) {
      t.match(await call(method, path, body), { status: 409, body: { code: 'PROFILE_RUNS', fix: /agent stop agent@work/ } });
    }
    t.match(await call('DELETE', '/api/profiles/default'), { status: 422, body: { code: 'BAD_REQUEST' } });
    t.match(await call('DELETE', '/api/profiles/nobody'), { status: 404, body: { code: 'UNKNOWN_PROFILE' } });

    t.match(await call('POST', '/api/workers/agent@work/stop', {}), { body: { ok: true } });
    t.match(await call('PATCH', '/api/profiles/work', { new_name: 'office' }), {
      status: 200,
      body: { name: 'office', description: 'mail' },
    });
    t.match(await call('GET', '/api/skills?profile=work'), { status: 404 });
    t.match(
      await call('GET', '/api/skills?profile=office'),
      { body: { skills: [{ name: 'brew', enabled: false }] } },
      'everything came along',
    );
    await until('the old slot is gone', async () => (await service.worker('agent@work')) === undefined);

    await call('POST', '/api/workers/agent@office/stop', {});
    const { body } = await call('DELETE', '/api/profiles/office');
    t.equal(body.ok, true);
    t.ok(existsSync(join(body.backup as string, 'SOUL.md')), 'it is kept');
    t.notOk(existsSync(join(body.backup as string, 'agent.lock')), 'without the lock of who moved it');
    t.same(readdirSync(join(home.root, 'profiles')), []);
  },
);

t.test(
  'the page of a profile talks to the agent of that profile, which leaves when nobody needs it any more',
  { timeout: 200_000 },
  async (t) => {
    using home = testHome({
      'profiles/work/SOUL.md': 'You work.',
      'profiles/work/config.yaml': 'supervisor: { workers: { agent: { idle_ms: 1500 } } }\n',
    });
    await using service = await serviceOn(home);
    const open = (profile: string) => new WebSocket(`ws://127.0.0.1:${service.port}/api/ws?token=${TOKEN}&profile=${profile}`);

    const socket = open('work');
    const frames: { id?: number; result?: { session_id: string }; params?: { type: string; payload: { text?: string } } }[] = [];
    socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString())));
    await until('the agent of the profile says hello', () => frames.some(({ params }) => params?.type === 'gateway.ready'));
    const ask = (id: number, method: string, params: object) => socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    ask(1, 'session.create', {});
    const { session_id } = await until('a session', () => frames.find(({ id }) => id === 1)?.result);
    ask(2, 'prompt.submit', { session_id, text: 'say: 2 words' });
    await until(
      'the answer',
      () => frames.find(({ params }) => params?.type === 'message.complete')?.params?.payload.text === 'alpha bravo',
    );
    t.ok(existsSync(join(home.root, 'profiles/work/state.db')), 'it is stored with the profile');
    const call = caller(service);
    t.match(await call('GET', '/api/sessions'), { body: { total: 0 } });
    t.match(await call('GET', '/api/sessions?profile=work'), { body: { total: 1 } });

    const { pid } = await service.worker('agent@work');
    await until('it outlives its idle time while a page is open', async () => {
      const { state, since } = await service.worker('agent@work');
      t.equal(state, 'ready');
      return Date.now() - Date.parse(since) > 4_000;
    });
    t.equal((await service.worker('agent@work')).pid, pid);
    socket.close();
    await until('it has left', async () => (await service.worker('agent@work')).state === 'down');
    t.match(await service.worker('agent@work'), { restarts: 0 }, 'which is no crash');
    t.match(await call('GET', '/api/sessions?profile=work'), { body: { total: 1 } }, 'and it comes back when it is asked');

    t.equal(await refused(open('nobody')), 404, 'an unknown profile is refused before the handshake');
    t.equal(await refused(open('..%2F..')), 404);
  },
);

t.test('personality, description, model and the profile of commands are written where they belong', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': 'You work.', 'profiles/work/config.yaml': '# mine\nmodel:\n  default: old\n' });
  await using dashboard = await startDashboard(home);
  const call = async (method: string, path: string, body?: unknown) =>
    (
      await dashboard.ask(path, {
        method,
        ...(body === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
      })
    ).json();
  t.match(await call('GET', '/api/profiles/work/soul'), { content: 'You work.', exists: true });
  t.match(await call('GET', '/api/profiles/default/soul'), { content: '', exists: false });
  const { version } = (await call('GET', '/api/profiles/work/soul')) as { version: string };
  t.match(await call('PUT', '/api/profiles/work/soul', { content: 'You are terse.\n', version }), { content: 'You are terse.\n' });
  t.match(await call('PUT', '/api/profiles/work/soul', { content: 'You are late.\n', version }), { status: 409, code: 'CONFIG_CHANGED' });
  t.equal(readFileSync(join(home.root, 'profiles/work/SOUL.md'), 'utf8'), 'You are terse.\n');
  t.match(await call('PUT', '/api/profiles/work/soul', { content: 'x'.repeat(100_001) }), { status: 422 });
  t.match(await call('PUT', '/api/profiles/work/description', { description: 'mail' }), { description: 'mail' });
  t.match(await call('PUT', '/api/profiles/work/model', { model: 'new', provider: 'openai' }), { model: 'new', provider: 'openai' });
  t.match(readFileSync(join(home.root, 'profiles/work/config.yaml'), 'utf8'), /^# mine\nmodel:\n {2}default: new\n {2}provider: openai\n$/);
  t.same(await call('GET', '/api/profiles/active'), { active: 'default', current: 'default' });
  t.same(await call('POST', '/api/profiles/active', { name: 'work' }), { active: 'work', current: 'default' });
  t.match(await call('POST', '/api/profiles/active', { name: 'nobody' }), { code: 'UNKNOWN_PROFILE' });
  t.match(await call('GET', '/api/profiles'), {
    profiles: [
      { name: 'default', is_active: false },
      { name: 'work', is_active: true },
    ],
  });
});

t.test('renaming with --stop starts again what it stopped; a deleted profile leaves nothing in run/', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': 'mail\n', 'profiles/work/config.yaml': 'platforms: { webhook: { port: 0 } }\n' });
  await using service = await serviceOn(home);
  const agent = (...args: string[]) => cli(args, { home });
  const filesOf = (profile: string) => readdirSync(home.run.dir).filter((name) => name.includes(`@${profile}.`));
  t.match(await agent('-p', 'work', 'gateway', 'start'), { code: 0 });
  t.not(filesOf('work').length, 0);

  t.match(await agent('profile', 'rename', 'work', 'office', '--stop'), { code: 0 });
  t.match(await service.worker('gateway@office'), { state: 'ready', desired: 'up' });
  await until('the files of the former slots are removed', () => filesOf('work').length === 0);

  t.match(await agent('profile', 'delete', 'office', '--stop'), { code: 0 });
  await until('the files of the deleted slots are removed', () => filesOf('office').length === 0);
});
