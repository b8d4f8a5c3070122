import { readdirSync, readFileSync, statSync } from 'node:fs';
import t from 'tap';
import { readGatewayState, reconcileGateway, setCorruptAside, updateGatewayState } from '../../state/gatewayState.ts';
import { testHome } from '../harness/home.ts';

t.test('boot reconciliation: the whole table of contract §3', async (t) => {
  using home = testHome();
  const verdict = (content: string | undefined, bootstrap?: string) => {
    if (content !== undefined) home.write('gateway_state.json', content);
    const { start, seed } = reconcileGateway(readGatewayState(home.gatewayState), bootstrap);
    return seed ? 'seed and start' : start ? 'start' : 'down';
  };
  const absent: [bootstrap: string | undefined, want: string][] = [
    ['running', 'seed and start'],
    [undefined, 'down'],
    ['', 'down'],
    ['Running', 'down'],
    ['stopped', 'down'],
    ['1', 'down'],
  ];
  t.same(
    absent.map(([bootstrap]) => verdict(undefined, bootstrap)),
    absent.map(([, want]) => want),
  );
  const states = ['starting', 'running', 'draining', 'degraded', 'stopped', 'startup_failed'];
  const observed = (state: string | null, intent?: string) =>
    JSON.stringify({ gateway_state: state, ...(intent ? { desired_state: intent } : {}) });
  const present: Record<string, string> = {
    ...Object.fromEntries(states.map((state) => [observed(state), ['running', 'draining', 'degraded'].includes(state) ? 'start' : 'down'])),
    ...Object.fromEntries(states.map((state) => [observed(state, 'running'), 'start'])),
    ...Object.fromEntries(states.map((state) => [observed(state, 'stopped'), 'down'])),
    [observed(null)]: 'down',
    '{}': 'down',
    '{"gateway_state":"RUNNING"}': 'down',
    '{"gateway_state":"running","desired_state":"maybe"}': 'down',
    '{"gateway_state":5,"desired_state":["running"]}': 'down',
    '': 'down',
    '{"gateway_state":"runn': 'down',
    '[]': 'down',
    null: 'down',
    '"running"': 'down',
  };
  for (const bootstrap of ['running', undefined]) {
    t.same(
      Object.keys(present).map((content) => verdict(content, bootstrap)),
      Object.values(present),
      `AGENT_GATEWAY_BOOTSTRAP_STATE=${bootstrap}`,
    );
  }
});

t.test('a file that cannot be read is corrupt, not absent: nothing is seeded over it', async (t) => {
  using home = testHome({ 'gateway_state.json/inside': '' });
  t.match(readGatewayState(home.gatewayState), { kind: 'corrupt', problem: /EISDIR/ });
  t.same(reconcileGateway(readGatewayState(home.gatewayState), 'running'), { start: false, seed: false });
});

t.test('an update keeps fields of other versions and stamps the writer', async (t) => {
  using home = testHome({
    'gateway_state.json': JSON.stringify({
      gateway_state: 'stopped',
      served_profiles: ['a'],
      pid: 'junk',
      platforms: { irc: { state: 'connected', extra: 1 } },
    }),
  });
  updateGatewayState(home.gatewayState, { gateway_state: 'running', desired_state: 'running', pid: 7 });
  t.match(JSON.parse(readFileSync(home.gatewayState, 'utf8')), {
    kind: 'agent-gateway',
    gateway_state: 'running',
    desired_state: 'running',
    pid: 7,
    served_profiles: ['a'],
    platforms: { irc: { state: 'connected', extra: 1 } },
    updated_at: /^20.*Z$/,
  });
  t.equal(statSync(home.gatewayState).mode & 0o777, 0o600);
});

t.test('a corrupt file is kept aside with its content, also when an update comes first', async (t) => {
  using home = testHome({ 'gateway_state.json': '{"gateway_state":' });
  updateGatewayState(home.gatewayState, { desired_state: 'running' });
  const aside = readdirSync(home.root).find((name) => name.startsWith('gateway_state.json.corrupt-'));
  t.equal(aside && readFileSync(`${home.root}/${aside}`, 'utf8'), '{"gateway_state":');
  t.match(readGatewayState(home.gatewayState), { kind: 'present', state: { desired_state: 'running' } });
  t.equal(setCorruptAside(`${home.root}/absent`), undefined);
});
