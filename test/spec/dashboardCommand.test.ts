/** Interface spec, commands: `agent dashboard` and `agent dashboard register`, as a user runs them. */
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { exitCodes } from '../../base/exitCodes.ts';
import { startIdentityProvider } from '../harness/identityProvider.ts';
import { ensurePage } from '../harness/browser.ts';
import { cli, errorOf, finished, spawnCli } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { freePort, testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { WebClient } from '../harness/webClient.ts';

await ensurePage();
t.setTimeout(240_000);

/** A browser that writes down what it was to open. */
function fakeBrowser(home: TestHome): { env: Record<string, string>; opened(): string[] } {
  const list = join(home.root, 'opened');
  const path = home.write('browser', `#!/bin/sh\necho "$1" >> ${list}\n`);
  chmodSync(path, 0o755);
  return {
    env: { BROWSER: path },
    opened() {
      try {
        return readFileSync(list, 'utf8').trim().split('\n');
      } catch {
        return [];
      }
    },
  };
}

t.test('cli.1 dashboard: starts the service, prints the address, opens the browser with a login that is good once', async (t) => {
  await using service = cliService();
  const { home } = service;
  home.write('profiles/work/SOUL.md', 'Work.\n');
  const browser = fakeBrowser(home);
  const port = await freePort();
  const dashboard = (...args: string[]) => cli([...args], { home, env: browser.env });

  const started = await dashboard('dashboard', '--port', String(port));
  await service.status();
  t.match(started, {
    code: 0,
    stdout: new RegExp(`^Dashboard: http://127\\.0\\.0\\.1:${port}/#code=[\\w-]{43}\n$`),
    stderr: /Opened in the browser/,
  });
  const [address] = browser.opened();
  t.match(address, new RegExp(`^http://127\\.0\\.0\\.1:${port}/#code=[\\w-]{43}$`), 'no token in an argument of another program');

  const token = readFileSync(home.run.dashboardToken, 'utf8').trim();
  const code = new URL(address!).hash.slice('#code='.length);
  const exchange = () =>
    new WebClient().ask(`http://127.0.0.1:${port}/auth/code`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ code }),
    });
  t.match((await exchange()).json(), { token });
  t.equal((await exchange()).status, 401, 'a second time it is nothing');

  t.match(await dashboard('dashboard', '--no-open'), {
    code: 0,
    stdout: new RegExp(`^Dashboard: http://127\\.0\\.0\\.1:${port}/#code=`),
  });
  t.equal(browser.opened().length, 1, '--no-open opens nothing');
  t.match(await dashboard('-p', 'work', 'dashboard'), { code: 0, stdout: /\?profile=work#code=[\w-]+\n$/ });
  t.match(browser.opened()[1], /\?profile=work#code=/, 'a profile attaches to the running one');
  t.match(await dashboard('dashboard', '--no-open', '--port', '9'), { code: 0, stderr: /keeps the address it was started with/ });
  t.match(JSON.parse((await dashboard('dashboard', '--json')).stdout), {
    already_running: true,
    dashboard: new RegExp(`^http://127\\.0\\.0\\.1:${port}/#code=`),
    profile: 'default',
  });

  await service.agent('stop', 'dashboard');
  t.match(await dashboard('dashboard', '--no-open'), { code: 0, stdout: /^Dashboard: / }, 'one that was stopped is started');
  t.equal((await dashboard('dashboard', '--tui')).code, exitCodes.usage, 'the old --tui is gone');
  t.equal((await dashboard('dashboard', '--port', 'x')).code, exitCodes.usage);
});

t.test(
  'cli.1 dashboard --host and --insecure: a wide address is refused without a sign-in, and said out loud with --insecure',
  async (t) => {
    await using service = cliService();
    const port = String(await freePort());
    const refused = await service.agent('dashboard', '--no-open', '--host', '0.0.0.0', '--port', port, '--json');
    await service.status();
    t.equal(refused.code, exitCodes.failed);
    t.match(errorOf(refused), { code: 'START_FAILED', message: /no sign-in is set up/ });
    await service.agent('down', '--no-drain');
    const open = await service.agent('dashboard', '--no-open', '--host', '0.0.0.0', '--port', port, '--insecure');
    await service.status();
    t.match(open, { code: 0, stderr: /anyone who can reach 0\.0\.0\.0 .* can read every conversation/ });
  },
);

t.test('cli.1 dashboard --isolated: a server of one profile alone, beside the one of the machine, until ctrl-C', async (t) => {
  await using service = cliService();
  const { home } = service;
  home.write('profiles/work/SOUL.md', 'Work.\n');
  const port = await freePort();
  const command = spawnCli(['-p', 'work', 'dashboard', '--isolated', '--port', String(port), '--no-open'], { home });
  t.teardown(() => command.kill('SIGKILL'));
  let said = '';
  command.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = finished(command);
  await until('its address', () => said.includes('\n'));
  await service.status();
  t.match(said, new RegExp(`^Dashboard of work alone: http://127\\.0\\.0\\.1:${port}/#code=[\\w-]{43}\n$`));
  const headers = { 'X-Agent-Session-Token': readFileSync(`${home.run.dashboardToken}@work`, 'utf8').trim() };
  const web = new WebClient();
  t.equal((await web.ask(`http://127.0.0.1:${port}/api/logs?file=gui`, { headers })).status, 200, 'its own profile, unnamed');
  t.equal((await web.ask(`http://127.0.0.1:${port}/api/logs?profile=work`, { headers })).status, 200);
  t.match((await web.ask(`http://127.0.0.1:${port}/api/logs?profile=default`, { headers })).json(), {
    status: 404,
    detail: /serves the profile work alone/,
  });
  const profiles = (await web.ask(`http://127.0.0.1:${port}/api/profiles`, { headers })).json<{ profiles: { name: string }[] }>().profiles;
  t.same(
    profiles.map(({ name }) => name),
    ['work'],
    'it knows no other',
  );
  for (const path of ['/api/cron/jobs?profile=all', '/api/cron/jobs?profile=default', '/api/profiles/default/soul'])
    t.match((await web.ask(`http://127.0.0.1:${port}${path}`, { headers })).json(), { status: 404, code: 'UNKNOWN_PROFILE' }, path);
  const { workers } = (await web.ask(`http://127.0.0.1:${port}/api/workers`, { headers })).json<{ workers: { slot: string }[] }>();
  t.ok(
    workers.some(({ slot }) => slot === 'cron'),
    'what all profiles share is there',
  );
  t.notOk(
    workers.some(({ slot }) => slot === 'agent' || slot === 'gateway'),
    'the agent of another profile is none of its business',
  );
  t.match(
    (
      await web.ask(`http://127.0.0.1:${port}/api/workers/agent/restart`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: '{}',
      })
    ).json(),
    {
      status: 404,
      code: 'UNKNOWN_SLOT',
    },
  );
  const second = await cli(['-p', 'work', 'dashboard', '--isolated', '--no-open', '--json'], { home });
  t.match(errorOf(second), { code: 'ALREADY_RUNNING', fix: new RegExp(`127\\.0\\.0\\.1:${port}`) });
  command.kill('SIGINT');
  t.match(await ended, { code: 0, signal: null });
});

t.test('cli.2 dashboard register: the portal gives a client id, which goes to .env', async (t) => {
  await using portal = await startIdentityProvider({ configuration: { features: { registration: { enabled: true } } } });
  using home = testHome({
    'config.yaml': `portal: { base_url: "${portal.issuer}" }\ndashboard: { public_url: "https://agent.example.org" }\n`,
  });
  const registered = await cli(['dashboard', 'register', '--name', 'Home server', '--json'], { home });
  t.equal(registered.code, 0, registered.stderr);
  const { client_id: id, ...rest } = JSON.parse(registered.stdout) as { client_id: string };
  t.match(rest, { portal: portal.issuer, callback: 'https://agent.example.org/auth/callback', restarted: false });
  t.match(readFileSync(home.env, 'utf8'), `AGENT_DASHBOARD_OAUTH_CLIENT_ID=${id}`);
  const client = await portal.provider.Client.find(id);
  t.match(client, {
    clientName: 'Home server',
    redirectUris: ['https://agent.example.org/auth/callback'],
    tokenEndpointAuthMethod: 'none',
  });
});

t.test('cli.2 dashboard register: without a portal, with one that takes none, or none that answers, it says so', async (t) => {
  await using closedPortal = await startIdentityProvider();
  const cases: { name: string; config: string; want: RegExp; code: string }[] = [
    { name: 'none', config: '', want: /no account portal is configured/, code: 'PORTAL_UNAVAILABLE' },
    {
      name: 'closed',
      config: `portal: { base_url: "${closedPortal.issuer}" }\n`,
      want: /takes no registrations/,
      code: 'PORTAL_UNAVAILABLE',
    },
    {
      name: 'away',
      config: `portal: { base_url: "http://127.0.0.1:${await freePort()}" }\n`,
      want: /cannot be reached/,
      code: 'PORTAL_UNAVAILABLE',
    },
    { name: 'in the clear', config: 'portal: { base_url: "http://portal.example.org" }\n', want: /https:/, code: 'CONFIG_INVALID' },
  ];
  for (const { name, config, want, code } of cases) {
    using home = testHome({ 'config.yaml': config });
    const result = await cli(['dashboard', 'register', '--json'], { home });
    t.match(errorOf(result), { code, message: want }, name);
    t.not(result.code, 0);
  }
});
