/** Sentences of the contract as a stranger reads them, against the real service: each title names its section. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import t from 'tap';
import { sidecarSpecs } from '../../bin/sidecarSpecs.ts';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { parseConfigText } from '../../state/config/load.ts';
import { cli, errorOf } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';

const service = cliService();
t.before(async () => t.equal((await service.agent('up', '--demo', '--port', '0')).code, 0));
t.teardown(() => service[Symbol.asyncDispose]());

t.test('contract 6: what a pause holds is counted in status', async (t) => {
  await service.agent('pause', '--reason', 'tea');
  await service.agent('cron', 'create', 'every 1s', 'say: 1 words', '--name', 'ticks');
  await until('the due job is counted', async () => (await service.status()).paused?.held === 1);
  t.match(await service.agent('status'), {
    code: 0,
    stdout: /^Paused: automation has been held for .*, 1 waiting \(tea\) — agent resume lifts it$/m,
  });
  await service.agent('resume');
  t.equal((await service.status()).paused, null);
  await service.agent('cron', 'remove', 'ticks');
});

t.test('contract 13: an error says what to do, also where its cause knows nothing better', async (t) => {
  t.match(await service.agent('chat', '-q', 'fail: 500'), { code: 1, stderr: /^agent: .+ — .+\n$/ });
  t.match(errorOf(await service.agent('chat', '-q', 'fail: 500', '--json')), { code: 'PROVIDER_FAILED', message: String, fix: /./ });
});

t.test('contract 9: a body that is no JSON is answered 415', async (t) => {
  const { dashboard } = JSON.parse((await service.agent('up', '--json')).stdout) as { dashboard: string; status: Status };
  const { origin } = new URL(dashboard);
  const token = readFileSync(service.home.run.dashboardToken, 'utf8').trim();
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
    const answer = await fetch(`${origin}/api/cron/jobs`, {
      method: 'POST',
      body: '{"schedule":"every 1h","prompt":"x"}',
      headers: { 'content-type': type, 'x-agent-session-token': token },
    });
    t.equal(answer.status, 415, type);
    t.match(answer.headers.get('content-type'), /^application\/problem\+json/);
  }
});

t.test('contract 4: a name that cannot be one is a usage error, exit 2', async (t) => {
  using home = testHome();
  for (const words of [
    ['profile', 'create', 'Work'],
    ['profile', 'create', '../x'],
    ['mcp', 'add', 'a b', '--url', 'http://x/'],
    ['webhook', 'subscribe', 'a/b'],
  ])
    t.match(await cli(words, { home }), { code: 2, stdout: '', stderr: /^agent: .+ — .+\n$/ }, words.join(' '));
  const { code, stderr } = await service.agent('cron', 'create', 'every 1h', 'x', '--deliver', ':x');
  t.match({ code, stderr }, { code: 2, stderr: /delivery target — / });
});

t.test('contract 12: the shapes of its example are taken as they stand there', async (t) => {
  const example = readFileSync(new URL('../fixtures/contractConfig.yaml', import.meta.url), 'utf8');
  const { config, ineffective } = parseConfigText(example, 'config.yaml');
  t.strictSame(ineffective, []);
  t.match(config, {
    platforms: { irc: { channels: ['#room'] }, webhook: { routes: { build: { deliver: 'irc:#room' } } } },
    services: { bridge: { ready: { log: 'listening' }, stop_grace_seconds: 10 } },
  });
  t.equal(config.services!.bridge!.cwd, null, 'an unquoted ~ is YAML for nothing');
  using home = testHome();
  t.equal(sidecarSpecs(home, config)[0]!.cwd, homedir());
});
