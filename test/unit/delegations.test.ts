/** Children that wait for a person, on a real store without a worker around it. */
import t from 'tap';
import type { Owner, ToolRun } from '../../agent/ports.ts';
import type { SessionRecord } from '../../services/agent/store.ts';
import { Store } from '../../services/agent/store.ts';
import { Delegations, type DelegateParts } from '../../services/agent/tools/delegate.ts';
import { testHome } from '../harness/home.ts';

/** A call's guard that says how many waits stop its clock. */
function guarded(): ToolRun & { waits: () => number } {
  let waits = 0;
  return {
    callId: 'call',
    signal: new AbortController().signal,
    progress() {},
    untimed(work) {
      waits++;
      return work.finally(() => waits--);
    },
    waits: () => waits,
  };
}

t.test('while a child of a child waits for a person, the clocks of all calls above it stand still', async (t) => {
  using home = testHome();
  const store = new Store(home.stateDb);
  t.teardown(() => store.close());
  const submitted: string[] = [];
  const running = new Map<number, PromiseWithResolvers<void>>();
  const delegations = new Delegations(
    () =>
      ({
        context: { config: () => ({ config: { delegation: { max_depth: 2 } } }) },
        store,
        events: { emit() {} },
        transcripts: { message: () => undefined, lastTurnOf: () => undefined },
        turns: {
          submit({ sessionId }: { sessionId: string }) {
            const messageId = submitted.push(sessionId) - 1;
            running.set(messageId, Promise.withResolvers());
            return { messageId };
          },
          runs: (id: number) => running.has(id),
          ended: (id: number) => running.get(id)?.promise ?? Promise.resolve(),
        },
      }) as unknown as DelegateParts,
    async () => {},
  );
  const childOf = (session: SessionRecord, run: ToolRun) => {
    const parent = { session, surface: 'cli', unattended: false, toolsets: () => ['terminal', 'delegation'] };
    const done = delegations.delegator(parent).run({ goal: 'x' }, { ...run, index: 0, count: 1 });
    return { done, session: store.session(submitted.at(-1)!)! };
  };
  const [above, between] = [guarded(), guarded()];
  const first = childOf(store.createSession({ source: 'cli', cwd: '/' }), above);
  const second = childOf(first.session, between);
  const answer = Promise.withResolvers<undefined>();
  const owner: Owner = { permit: (_call, _danger, run) => run.untimed!(answer.promise), clarify: async () => undefined };
  const own = guarded();
  const asked = delegations
    .watching(second.session, owner)
    .owner!.permit({ id: 'c', name: 'terminal', args: {} }, { command: 'rm -r x', reasons: ['it deletes'] }, own);
  t.same([own.waits(), between.waits(), above.waits()], [1, 1, 1]);
  answer.resolve(undefined);
  t.equal(await asked, undefined);
  t.same([own.waits(), between.waits(), above.waits()], [0, 0, 0]);
  for (const [id, { resolve }] of running) {
    running.delete(id);
    resolve();
  }
  t.match(await Promise.all([second.done, first.done]), [{ status: 'interrupted' }, { status: 'interrupted' }]);
  t.same(delegations.watching(second.session, owner), {}, 'a child that is over is watched no more');
});
