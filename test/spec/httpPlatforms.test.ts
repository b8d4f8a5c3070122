/** Interface spec, "HTTP and WebSocket": the rows about messaging platforms. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { catalog } from '../../services/gateway/catalog.ts';
import { startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';

const send = (dashboard: TestDashboard, method: string, path: string, body: object) =>
  dashboard.ask(path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

t.test(
  'http.14 GET /api/messaging/platforms has status and set-up guidance of every adapter, also while the gateway is down',
  async (t) => {
    using home = testHome({ 'config.yaml': 'platforms: { irc: { host: irc.example.org, home_channel: "#room" } }\n' });
    await using dashboard = await startDashboard(home);
    const { status, json } = await dashboard.ask('/api/messaging/platforms');
    t.equal(status, 200);
    const answer = json<{ env_path: string; gateway_start_command: string; platforms: { id: string; steps: string[] }[] }>();
    t.match(answer, { env_path: home.env, gateway_start_command: 'agent gateway start' });
    t.same(answer.platforms.map(({ id }) => id).toSorted(), Object.keys(catalog).toSorted(), 'the catalogue is the table of adapters');
    t.match(answer.platforms, [
      { id: 'irc', enabled: true, configured: true, gateway_running: false, state: 'gateway_stopped', home_channel: '#room' },
      { id: 'webhook', enabled: false, configured: false, state: 'not_configured', home_channel: null },
    ]);
    t.ok(answer.platforms.every(({ steps }) => steps.length >= 3));
  },
);

t.test(
  'http.15 saving a platform puts secrets into .env and the enable flag into config.yaml; a test answers with the outcome',
  async (t) => {
    using home = testHome({ 'profiles/work/SOUL.md': 'You work.' });
    await using dashboard = await startDashboard(home);
    const saved = await send(dashboard, 'PUT', '/api/messaging/platforms/irc', {
      enabled: true,
      env: { IRC_PASSWORD: 'pa$$ "word"\' of irc' },
      profile: 'work',
    });
    t.match({ status: saved.status, ...saved.json() }, { status: 200, ok: true, platform: { id: 'irc', enabled: true } });
    t.notMatch(saved.text, 'of irc"', 'the secret does not come back');
    const work = home.profile('work');
    t.match(readFileSync(work.config, 'utf8'), /platforms:\n {2}irc:\n {4}enabled: true/);
    t.match(readFileSync(work.env, 'utf8'), 'IRC_PASSWORD=`pa$$ "word"\' of irc`');
    t.throws(() => readFileSync(home.env), { code: 'ENOENT' }, 'the profile of the body is the one that is changed');
    const tried = await send(dashboard, 'POST', '/api/messaging/platforms/irc/test?profile=work', {});
    t.match(tried.json(), { ok: false, state: 'gateway_stopped', message: String, fix: /-p work gateway start/ });
    t.equal((await send(dashboard, 'POST', '/api/messaging/platforms/irq/test', {})).status, 404);
  },
);
