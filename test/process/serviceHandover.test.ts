/** Restarts of real workers under load: what the users of the dashboard and of a webhook notice (nothing). */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import t from 'tap';
import { restartSlot } from '../../ipc/contracts/supervisor.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { freePort, testHome, type TestHome } from '../harness/home.ts';
import { startService, type TestService } from '../harness/service.ts';
import { until } from '../harness/until.ts';

interface Answer {
  status: number;
  error?: string;
}

const fresh = new Agent({ keepAlive: false });
const kept = new Agent({ keepAlive: true, maxSockets: 4 });
t.teardown(() => {
  fresh.destroy();
  kept.destroy();
});

/** One request, on a connection of its own unless the agent keeps some; a refusal is an answer too. */
function ask(port: number, path: string, { body, agent = fresh }: { body?: string; agent?: Agent } = {}): Promise<Answer> {
  return new Promise((resolve) => {
    const call = request({
      port,
      host: '127.0.0.1',
      path,
      method: body ? 'POST' : 'GET',
      agent,
      headers: { 'content-type': 'application/json' },
    });
    call.on('response', (response) =>
      response
        .resume()
        .on('end', () => resolve({ status: response.statusCode ?? 0 }))
        .on('error', (thrown) => resolve({ status: 0, error: thrown.message })),
    );
    call.on('error', (thrown) => resolve({ status: 0, error: thrown.message }));
    call.end(body);
  });
}

async function restart(service: TestService, slot: string) {
  using control = await service.link();
  return await control.call(restartSlot, { slot, actor: 'test', cause: 'test' });
}

function inbox(home: TestHome): { prompt: string; closed_at: number | null }[] {
  const db = openReadOnly(home.gatewayDb);
  try {
    return db.prepare('SELECT text AS prompt, closed_at FROM inbox').all() as { prompt: string; closed_at: number | null }[];
  } finally {
    db.close();
  }
}

t.test('a restart of the dashboard under load fails no request and keeps the token of open pages', async (t) => {
  using home = testHome();
  await using service = await startService(home, { args: ['--demo', '--only', 'agent,dashboard'] });
  await service.ready();
  const answers: Answer[] = [];
  let running = true;
  const clients = [fresh, fresh, kept, kept, kept].map(async (agent) => {
    while (running) {
      answers.push(await ask(service.port, '/api/status', { agent }));
      // A page that looks now and then: its connection stands idle in between.
      if (agent === kept) await new Promise((resolve) => setTimeout(resolve, 2));
    }
  });
  const token = readFileSync(home.run.dashboardToken, 'utf8');
  const receipt = await restart(service, 'dashboard');
  t.match(receipt, { ok: true, downtime_ms: 0 });
  const before = answers.length;
  await until('requests go on', () => answers.length > before + 20);
  running = false;
  await Promise.all(clients);
  t.strictSame(
    answers.filter(({ status }) => status !== 200),
    [],
  );
  const page = await fetch(`http://127.0.0.1:${service.port}/api/status`, { headers: { 'x-agent-session-token': token.trim() } });
  t.equal(page.status, 200, 'the token of before is still good');
});

t.test('a restart of the gateway under load refuses no webhook, loses none and doubles none', async (t) => {
  const port = await freePort();
  const route = { prompt: 'say: 1 words {n}', secret: 'INSECURE_NO_AUTH' };
  using home = testHome({
    'config.yaml': JSON.stringify({ platforms: { webhook: { enabled: true, host: '127.0.0.1', port, routes: { build: route } } } }),
  });
  await using service = await startService(home, { env: { AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' } });
  await service.ready();
  await until('webhooks are taken', async () => (await ask(port, '/webhooks/none', { body: '{}' })).status === 401);
  const sent = 24;
  const answers: Answer[] = [];
  let next = 0;
  const clients = Array.from({ length: 2 }, async () => {
    while (next < sent) answers.push(await ask(port, '/webhooks/build', { body: JSON.stringify({ n: `number-${next++}` }) }));
  });
  const receipt = await restart(service, 'gateway');
  await Promise.all(clients);
  t.match(receipt, { ok: true });
  t.strictSame(
    answers.filter(({ status }) => status !== 202),
    [],
  );
  await until('every webhook has been a turn', () => inbox(home).filter(({ closed_at }) => closed_at !== null).length >= sent);
  const prompts = inbox(home).map(({ prompt }) => prompt);
  t.equal(new Set(prompts).size, sent);
  t.equal(prompts.length, sent);
});
