import t from 'tap';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { readGatewayState } from '../../state/gatewayState.ts';
import { freePort, testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.test('cfg.15 `enabled: false` disables a platform even when tokens for it exist in the environment', async (t) => {
  const port = await freePort();
  const env = { IRC_HOST: '127.0.0.1', IRC_PORT: '9', IRC_PASSWORD: 'token', WEBHOOK_ENABLED: 'true', WEBHOOK_PORT: String(port) };
  const table = [
    { name: 'tokens alone', config: '', want: { irc: /retrying|connecting/, webhook: /connected|connecting/ } },
    {
      name: 'switched off',
      config: 'platforms:\n  irc: { enabled: false, host: 127.0.0.1 }\n  webhook: { enabled: false }\n',
      want: { irc: /disabled/, webhook: /disabled/ },
    },
  ];
  for (const { name, config, want } of table) {
    using home = testHome({ 'config.yaml': config });
    await using worker = await startWorker(home, 'gateway', { env });
    using link = await worker.dial();
    const { platforms } = await link.call(gateway.platforms, {});
    t.match(Object.fromEntries(platforms.map(({ platform, state }) => [platform, state])), want, name);
    const sent = link.call(gateway.enqueueDelivery, { target: 'irc:#room', text: 'x', idempotency_key: 'k', origin: 'cli' });
    if (name === 'switched off') await t.rejects(sent, { code: 'UNKNOWN_TARGET' }, 'and nothing can be sent there');
    else t.match(await sent, { status: 'pending' });
  }
});

t.test('other.4 a gateway without a supervisor keeps gateway_state.json, a JSON object with gateway_state', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'gateway');
  const observed = () => {
    const read = readGatewayState(home.gatewayState);
    return read.kind === 'present' ? read.state.gateway_state : undefined;
  };
  await until('it says running', () => observed() === 'running');
  await worker.kill('SIGTERM');
  t.equal(observed(), 'stopped');
});
