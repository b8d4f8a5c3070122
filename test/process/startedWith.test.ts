/** `agent up --insecure` counts where a change of config.yaml is judged: by command, RPC and page, for as long as it runs. */
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { configSet } from '../../ipc/contracts/rpcSettings.ts';
import { dial } from '../../ipc/dial.ts';
import { readToken } from '../../state/home.ts';
import { identityOf } from '../../state/processIdentity.ts';
import { dashboardEnv } from '../../state/startedWith.ts';
import { errorOf } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

/** Others reach the page through it; nothing listens anywhere else. */
const key = 'dashboard.public_url';
const value = 'https://agent.example.org';

t.test('a service started with --insecure may be opened without a sign-in; once it is down, or started without, it may not', async (t) => {
  await using service = cliService();
  const { agent, home, status } = service;
  const locked = async (t: Test) => {
    const refused = await agent('config', 'set', key, value, '--json');
    t.match({ code: refused.code, error: errorOf(refused).code }, { code: 78, error: 'CONFIG_LOCKOUT' });
  };
  t.equal((await agent('up', '--demo', '--port', '0', '--insecure')).code, 0);
  t.match(await status(), { supervisor: { dashboard_start: { host: null, port: 0, insecure: true } } });

  await t.test('by command', async (t) => {
    t.equal((await agent('config', 'set', key, value)).code, 0);
    t.match(readFileSync(home.config, 'utf8'), value);
    t.equal((await agent('config', 'unset', key)).code, 0);
  });

  await t.test('by RPC', async (t) => {
    using link = await dial(home.run.socket('agent'), { token: readToken(home) ?? '', slot: 'cli' });
    t.match(await link.call(configSet, { key, value }), { value });
    t.equal((await agent('config', 'unset', key)).code, 0);
  });

  await t.test('by the page', async (t) => {
    const put = async (text: string | null) => {
      const { supervisor } = await status();
      return await fetch(`${supervisor.dashboard!.replace(/\?.*/, '')}api/config`, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json', 'X-Agent-Session-Token': readFileSync(home.run.dashboardToken, 'utf8').trim() },
        body: JSON.stringify({ config: { dashboard: { public_url: text } } }),
      });
    };
    const answer = await until('the page answers', async () => (await put(value).catch(() => undefined)) ?? undefined);
    t.equal(answer.status, 200, await answer.text());
    t.equal((await agent('config', 'unset', key)).code, 0);
  });

  t.equal((await agent('down', '--no-drain')).code, 0);
  await t.test('with nothing running', locked);
  t.equal((await agent('up', '--demo', '--port', '0')).code, 0);
  await t.test('of a service that was started without it', locked);
});

t.test('what a living service was started with wins over the environment of the command; of a dead one nothing counts', async (t) => {
  using home = testHome();
  const env = { AGENT_DASHBOARD_HOST: '0.0.0.0', AGENT_DASHBOARD_INSECURE: '1', PATH: '/bin' };
  t.same(dashboardEnv(home.config, env), env, 'nothing has run yet');
  const written = (supervisor: object) => home.write('run/status.json', JSON.stringify({ supervisor, workers: [] }));
  const dashboard_start = { host: '127.0.0.2', port: 9000, insecure: false };
  const me = identityOf(process.pid);
  written({ ...me, dashboard_start });
  const want = { PATH: '/bin', AGENT_DASHBOARD_HOST: '127.0.0.2', AGENT_DASHBOARD_PORT: '9000' };
  t.same(dashboardEnv(home.config, env), want);
  t.same(dashboardEnv(home.profile('work').config, env), want, 'profiles are served by the same dashboard');
  written({ ...me, boot_id: 'another boot', dashboard_start });
  t.same(dashboardEnv(home.config, env), env, 'it died');
  written(me);
  t.same(dashboardEnv(home.config, env), env, 'it is of an older release');
  home.write('run/status.json', '{"supervisor": {');
  t.same(dashboardEnv(home.config, env), env, 'it is damaged');
});
