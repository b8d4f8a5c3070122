import fc from 'fast-check';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { IllegalTransition } from '../../base/machine.ts';
import { nextConnection, type ConnectionEvent, type ConnectionState } from '../../services/mcp/connectionTable.ts';

const idle = { phase: 'idle' } as ConnectionState;

/** Phases passed through and effects named, for a row of events. */
function walk(...events: ConnectionEvent[]): string[] {
  let state = idle;
  return events.map((event) => {
    const step = nextConnection(state, event);
    state = step.state;
    return [state.phase, ...step.effects.map((effect) => effect.do)].join(' ');
  });
}

t.test('a server that refuses is tried five times more, then only when someone needs it', async (t) => {
  const refused: ConnectionEvent = { type: 'refused', permanent: false };
  const rounds = Array.from({ length: limits.mcp.reconnectTriesMax }, () => [refused, { type: 'due' } as const]).flat();
  const path = walk({ type: 'use' }, ...rounds, refused, { type: 'use' }, refused);
  t.equal(path.filter((step) => step === 'connecting open').length, 1 + limits.mcp.reconnectTriesMax + 1);
  t.same(path.slice(-3), ['failed', 'connecting open', 'failed']);
});

t.test('a server that is lost soon after each connect runs out of tries; one that was healthy starts over', async (t) => {
  const flap = (atMs: number): ConnectionEvent[] => [{ type: 'opened', atMs: 0 }, { type: 'lost', atMs }, { type: 'due' }];
  t.throws(
    () => walk({ type: 'use' }, ...Array.from({ length: 6 }, () => flap(1)).flat()),
    IllegalTransition,
    'due does not come once it has failed',
  );
  t.equal(walk({ type: 'use' }, ...Array.from({ length: 20 }, () => flap(limits.mcp.healthyMs)).flat()).at(-1), 'connecting open');
});

t.test('a use during the pause connects at once; a permanent refusal fails at once; a stop closes', async (t) => {
  t.same(walk({ type: 'use' }, { type: 'refused', permanent: false }, { type: 'use' }), [
    'connecting open',
    'retrying wait',
    'connecting stopWaiting open',
  ]);
  t.same(walk({ type: 'use' }, { type: 'refused', permanent: true }), ['connecting open', 'failed']);
  t.same(walk({ type: 'use' }, { type: 'opened', atMs: 0 }, { type: 'stop' }), ['connecting open', 'connected', 'stopped close']);
});

t.test('whatever happens, at most one attempt is under way and nothing starts after a stop', async (t) => {
  const event = fc.constantFrom<ConnectionEvent>(
    { type: 'use' },
    { type: 'opened', atMs: 5 },
    { type: 'refused', permanent: false },
    { type: 'lost', atMs: 9 },
    { type: 'due' },
    { type: 'stop' },
  );
  const holds = fc.property(fc.array(event, { maxLength: 60 }), (events) => {
    let state: ConnectionState = idle;
    let opening = 0;
    for (const each of events) {
      let step;
      try {
        step = nextConnection(state, each);
      } catch (thrown) {
        if (thrown instanceof IllegalTransition) continue;
        throw thrown;
      }
      if (state.phase === 'connecting' && step.state.phase !== 'connecting') opening--;
      opening += step.effects.filter((effect) => effect.do === 'open').length;
      if (state.phase === 'stopped' && step.effects.length > 0) return false;
      state = step.state;
      if (opening < 0 || opening > 1) return false;
    }
    return true;
  });
  t.doesNotThrow(() => fc.assert(holds));
});
