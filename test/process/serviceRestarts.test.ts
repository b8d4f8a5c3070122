/** The service across its own ends: a new supervisor beside living workers, `agent up` during `agent down`, two at once. */
import t from 'tap';
import { startTimeOf } from '../../state/processIdentity.ts';
import { cliService, pidOf } from '../harness/cliService.ts';
import { freePort } from '../harness/home.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

/** Needs a while to end. */
const slowSidecar = `services:
  slow:
    command: /bin/sh
    args: ["-c", "trap 'sleep 2; exit 0' TERM; echo up; while :; do sleep 0.1; done"]
    ready: { log: up }
    stop_grace_seconds: 10
`;

t.test('a chat after the death of the supervisor adopts the full service as it was started', async (t) => {
  await using service = cliService();
  const port = await freePort();
  t.equal((await service.agent('up', '--demo', '--port', String(port))).code, 0);
  const before = await service.status();
  process.kill(before.supervisor.pid, 'SIGKILL');
  await until('the supervisor is gone', () => startTimeOf(before.supervisor.pid) === undefined);
  t.equal((await service.agent('chat', '-q', 'say: 2 words')).code, 0);
  const after = await until('every worker is adopted', async () => {
    const found = await service.status();
    return found.supervisor.adopted >= 4 && found;
  });
  for (const slot of ['agent', 'dashboard', 'cron', 'mcp']) t.equal(pidOf(after, slot), pidOf(before, slot), `${slot} was not touched`);
  t.match(after.supervisor, { demo: true, dashboard_start: { port }, dashboard: new RegExp(`:${port}/`) });
  t.equal((await service.agent('status')).code, 0);
  const up = await service.agent('up', '--json');
  t.match({ code: up.code, ...(JSON.parse(up.stdout) as object) }, { code: 0, already_running: true });
});

t.test('`agent up` while `agent down` drains waits for it, and starts the service again', async (t) => {
  await using service = cliService({ 'config.yaml': slowSidecar });
  t.equal((await service.agent('up', '--demo', '--port', '0')).code, 0);
  const before = await service.status();
  const down = service.agent('down');
  await until('it drains', async () => (await service.status()).workers.some(({ state }) => state === 'draining'));
  const up = await service.agent('up', '--demo', '--port', '0', '--json');
  t.equal((await down).code, 0);
  t.match({ code: up.code, ...(JSON.parse(up.stdout) as object) }, { code: 0, already_running: false });
  const after = await service.status();
  t.not(after.supervisor.pid, before.supervisor.pid);
  t.equal((await service.agent('status')).code, 0, 'every wanted slot is ready');
});

t.test('three `agent up` at once start one service, and all succeed', async (t) => {
  await using service = cliService();
  const ups = await Promise.all([1, 2, 3].map(() => service.agent('up', '--demo', '--port', '0', '--json')));
  t.same(
    ups
      .map(({ code, stdout }) => [code, (JSON.parse(stdout) as { already_running: boolean }).already_running])
      .toSorted((a, b) => Number(a[1]) - Number(b[1])),
    [
      [0, false],
      [0, true],
      [0, true],
    ],
  );
  t.equal((await service.agent('status')).code, 0);
});

t.test('`agent up` that is overtaken by `agent down` does not report success', async (t) => {
  await using service = cliService({ 'config.yaml': 'services:\n  never: { command: /bin/sleep, args: ["60"], ready: { log: never } }\n' });
  const up = service.agent('up', '--demo', '--port', '0', '--json');
  await until('it starts', async () =>
    (await service.status().catch(() => undefined))?.workers.some(({ slot, state }) => slot === 'never' && state === 'starting'),
  );
  t.equal((await service.agent('down')).code, 0);
  t.equal((await up).code, 1);
});
