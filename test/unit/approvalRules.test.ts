/** Rules that a conversation keeps, in a real store. */
import { join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { createLogger } from '../../base/log.ts';
import { createRedactor } from '../../base/redact.ts';
import { ApprovalRules } from '../../services/agent/owner.ts';
import { Store } from '../../services/agent/store.ts';
import type { WorkerContext } from '../../services/worker.ts';
import { testHome } from '../harness/home.ts';

const log = createLogger({ sink: { write() {}, close() {} }, component: 'test', redact: createRedactor() });
const rulesOf = (store: Store) => new ApprovalRules({ store, context: { log } as WorkerContext });

t.test('a chat with a full list of kept rules takes no room from the owner', async (t) => {
  using home = testHome();
  const store = new Store(join(home.root, 'state.db'));
  t.teardown(() => store.close());
  const chat = rulesOf(store).forSession('one', 'chat');
  for (let i = 0; i <= limits.approvals.rulesMax; i++) chat.add('terminal', `rm ${i}`, 'always');
  rulesOf(store).forSession('two', '').add('terminal', 'rm mine', 'always');
  const kept = rulesOf(store).list();
  t.equal(kept.filter(({ scope }) => scope === 'chat').length, limits.approvals.rulesMax);
  t.ok(rulesOf(store).forSession('three', '').has('terminal', 'rm mine'));
});

t.test('what the owner allows for a session does not hold for a chat that writes into the same one', async (t) => {
  using home = testHome();
  const store = new Store(join(home.root, 'state.db'));
  t.teardown(() => store.close());
  const rules = rulesOf(store);
  rules.forSession('one', '').add('terminal', 'rm x', 'session');
  t.ok(rules.forSession('one', '').has('terminal', 'rm x'));
  t.notOk(rules.forSession('one', 'chat').has('terminal', 'rm x'));
  t.notOk(rules.forSession('two', '').has('terminal', 'rm x'));
});
