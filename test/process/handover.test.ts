/** Planned restarts with two processes, and listeners that outlive the one that serves them. */
import { Agent, get } from 'node:http';
import t from 'tap';
import { fixture, fixtureSlot, superviseFixtures, type TestSupervisor } from '../harness/supervisor.ts';
import { freePort, testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import type { SlotSpec } from '../../supervisor/spec.ts';

interface Load {
  answered: number;
  failed: { code: string; at: number }[];
  pids: Set<string>;
  stop(): Promise<void>;
}

/** Eight clients without keep-alive that ask again at once. */
function startLoad(port: number): Load {
  const agent = new Agent({ keepAlive: false });
  let running = true;
  const load: Load = { answered: 0, failed: [], pids: new Set(), stop: async () => {} };
  const ask = () =>
    new Promise<void>((resolve) => {
      const request = get({ port, host: '127.0.0.1', agent, timeout: 10_000 }, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('end', () => {
          load.answered++;
          load.pids.add(body);
          resolve();
        });
        response.on('error', () => resolve());
      });
      request.on('error', (thrown) => {
        load.failed.push({ code: (thrown as { code?: string }).code ?? thrown.message, at: performance.now() });
        resolve();
      });
    });
  const clients = Array.from({ length: 8 }, async () => {
    while (running) await ask();
  });
  load.stop = async () => {
    running = false;
    await Promise.all(clients);
    agent.destroy();
  };
  return load;
}

const listening = async (home: ReturnType<typeof testHome>, more: Partial<SlotSpec>): Promise<{ port: number; spec: SlotSpec }> => {
  const port = await freePort();
  const spec = fixtureSlot(home, 'front', 'countsConnections', { listeners: [{ name: 'http', host: '127.0.0.1', port }], ...more });
  return { port, spec };
};

const restart = (service: TestSupervisor, slot: string) =>
  service.supervisor.command('restart', service.supervisor.slots.get(slot)!, { actor: 'test', cause: 'test', drain: true });

for (const handover of ['overlap', 'standby'] as const) {
  t.test(`planned restarts by ${handover} under load fail no request`, async (t) => {
    using home = testHome();
    const { port, spec } = await listening(home, { handover });
    await using service = await superviseFixtures(home, [spec]);
    await service.ready('front');
    const load = startLoad(port);
    for (let round = 0; round < 3; round++) {
      const before = load.answered;
      const receipt = await restart(service, 'front');
      t.match(receipt, { ok: true, action: 'restart' });
      t.not(receipt.new_pid, receipt.old_pid);
      if (handover === 'overlap') t.equal(receipt.downtime_ms, 0, 'the new one served before the old one drained');
      await until('requests go on', () => load.answered > before + 20);
    }
    await load.stop();
    t.strictSame(load.failed, []);
    t.equal(load.pids.size, 4, 'every process has served');
  });
}

t.test('a SIGKILL of the one that serves refuses no new connection; only requests in flight are cut', async (t) => {
  using home = testHome();
  const { port, spec } = await listening(home, { handover: 'overlap' });
  await using service = await superviseFixtures(home, [spec]);
  await service.ready('front');
  const load = startLoad(port);
  await until('load runs', () => load.answered > 20);
  const pid = service.pid('front');
  process.kill(pid, 'SIGKILL');
  await until('another process serves', () => load.pids.size === 2);
  await load.stop();
  t.strictSame(
    [...new Set(load.failed.map(({ code }) => code))].filter((code) => code !== 'ECONNRESET' && code !== 'socket hang up'),
    [],
  );
  t.ok(load.failed.length <= 8, `${load.failed.length} requests were in flight`);
});

t.test('a successor that never comes up is given up, and the old one serves on', async (t) => {
  using home = testHome();
  const { port, spec } = await listening(home, { handover: 'overlap' });
  const slots = [spec];
  await using service = await superviseFixtures(home, slots);
  await service.ready('front');
  const pid = service.pid('front');
  const load = startLoad(port);
  service.supervisor.slots.get('front')!.spec = { ...spec, command: [process.execPath, fixture('neverReady')], startupMs: 1_500 };
  const receipt = await restart(service, 'front');
  await load.stop();
  t.match(receipt, { ok: false, error: /old one serves on/, new_pid: pid });
  t.equal(service.pid('front'), pid);
  t.equal(service.supervisor.slots.get('front')!.state, 'ready');
  t.strictSame(load.failed, []);
});

t.test('the one that serves may be killed while its successor starts: the service comes back by itself', async (t) => {
  using home = testHome();
  const { spec } = await listening(home, { handover: 'standby' });
  await using service = await superviseFixtures(home, [spec]);
  await service.ready('front');
  const pid = service.pid('front');
  const answer = restart(service, 'front').catch((thrown: unknown) => thrown);
  process.kill(pid, 'SIGKILL');
  await answer;
  await service.ready('front');
  t.not(service.pid('front'), pid);
});

t.test('a stop during a hand-over leaves neither of the two', async (t) => {
  using home = testHome();
  const { spec } = await listening(home, { handover: 'overlap' });
  await using service = await superviseFixtures(home, [spec]);
  await service.ready('front');
  const restarting = restart(service, 'front').catch((thrown: unknown) => thrown);
  const { supervisor } = service;
  const stopped = await supervisor.command('stop', supervisor.slots.get('front')!, { actor: 'test', cause: 'test', drain: true });
  t.match(stopped, { ok: true, action: 'stop' });
  t.match(await restarting, { code: 'SUPERSEDED' });
  t.equal(supervisor.slots.get('front')!.incarnation, undefined);
});
