import t from 'tap';
import { IllegalTransition, machine } from '../../base/machine.ts';

type State = { phase: 'off' } | { phase: 'on'; since: number };
type Event = { type: 'press'; at: number } | { type: 'blow' };

const lamp = machine<State, Event, string>('lamp', {
  off: { press: (_state, { at }) => ({ state: { phase: 'on', since: at }, effects: ['light'] }) },
  on: {
    press: () => ({ state: { phase: 'off' }, effects: ['dark'] }),
    blow: ({ since }) => ({ state: { phase: 'off' }, effects: [`blown after ${since}`] }),
  },
});

t.test('a cell of the table gives the next state and the effects', async (t) => {
  t.same(lamp({ phase: 'off' }, { type: 'press', at: 7 }), { state: { phase: 'on', since: 7 }, effects: ['light'] });
  t.same(lamp({ phase: 'on', since: 7 }, { type: 'blow' }), { state: { phase: 'off' }, effects: ['blown after 7'] });
});

t.test('what stands in no cell is an IllegalTransition that names machine, phase and event', async (t) => {
  const illegal: [state: { phase: string }, event: { type: string }][] = [
    [{ phase: 'off' }, { type: 'blow' }],
    [{ phase: 'off' }, { type: 'toString' }],
    [{ phase: 'constructor' }, { type: 'press' }],
    [{ phase: 'nowhere' }, { type: 'press' }],
  ];
  for (const [state, event] of illegal) {
    t.throws(() => lamp(state as State, event as Event), {
      name: 'IllegalTransition',
      machine: 'lamp',
      phase: state.phase,
      event: event.type,
      message: `lamp: no transition from ${state.phase} on ${event.type}`,
    });
  }
  t.ok(new IllegalTransition('a', 'b', 'c') instanceof Error);
});
