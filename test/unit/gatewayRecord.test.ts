import { readdirSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { createLogger } from '../../base/log.ts';
import { createGatewayRecord } from '../../supervisor/gatewayRecord.ts';
import { testHome } from '../harness/home.ts';

t.test('a gateway_state.json that cannot be read after the boot does not change the intent', async (t) => {
  for (const intent of ['running', 'stopped'] as const) {
    using home = testHome();
    const log = createLogger({ sink: { write() {}, close() {} }, component: 'test' });
    const record = createGatewayRecord({ path: home.gatewayState, home: home.root, version: '1', code: 'c', log });
    writeFileSync(home.gatewayState, JSON.stringify({ desired_state: intent }));
    t.same(record.reconcile(undefined), { start: intent === 'running' });
    writeFileSync(home.gatewayState, '{"desired');
    t.same(record.reconcile(undefined), { start: intent === 'running' });
    t.same(
      readdirSync(home.root).filter((name) => name.includes('.corrupt-')),
      [],
    );
  }
});
