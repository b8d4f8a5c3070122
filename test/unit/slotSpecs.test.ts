import t from 'tap';
import { slotSpecs } from '../../bin/slotSpecs.ts';
import { testHome } from '../harness/home.ts';

const dashboard = (env: Record<string, string>) => {
  using home = testHome();
  const before = process.env;
  process.env = { ...before, ...env };
  try {
    const specs = slotSpecs(home, {}, {});
    return { slots: specs.length, listeners: specs.find(({ slot }) => slot === 'dashboard')!.listeners };
  } finally {
    process.env = before;
  }
};

t.test('a worker that reads a variable of the environment is let see it', async (t) => {
  using home = testHome();
  const before = process.env;
  process.env = { ...before, AGENT_EXTRA_WELCOME_HOSTS: 'models.example.org' };
  t.teardown(() => (process.env = before));
  t.match(slotSpecs(home, {}, {}).find(({ slot }) => slot === 'agent')?.sealedEnv, { AGENT_EXTRA_WELCOME_HOSTS: 'models.example.org' });
});

t.test('the supervisor holds the address of the dashboard; one that cannot be read concerns the dashboard alone', async (t) => {
  t.match(dashboard({ AGENT_DASHBOARD_PORT: '9200' }), { listeners: [{ name: 'http', host: '127.0.0.1', port: 9_200 }] });
  t.strictSame(dashboard({ AGENT_DASHBOARD_PORT: 'abc' }), { slots: 6, listeners: [] }, 'the worker refuses it and says why');
  t.strictSame(dashboard({ AGENT_DASHBOARD_HOST: 'localhost' }).listeners, [], 'a name is looked up by the worker');
});
