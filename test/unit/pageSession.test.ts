/** One session of a browser tab, attached over a line that refuses: the real link, with a service that is scripted. */
import t from 'tap';
import type { EventParams } from '../../ipc/contracts/rpcEvents.ts';
import { CallError } from '../../web/callError.ts';
import { sessionSnapshot } from '../harness/records.ts';
import { until } from '../harness/until.ts';

interface Link {
  state: { get(): { transcript: object | null; failure: { code: string } | null } };
  attach(): Promise<void>;
  receive(event: EventParams): void;
}

// What a browser has; a hidden tab draws by a timer. The page is checked by a tsconfig of its own, which knows these.
Object.assign(globalThis, { document: { hidden: true }, sessionStorage: { getItem: () => null, setItem() {}, removeItem() {} } });
const { SessionLink } = (await import(new URL('../../web/sessionLink.ts', import.meta.url).href)) as {
  SessionLink: new (connection: object, id: string) => Link;
};

const snapshot = sessionSnapshot();

/** Answers `session.resume` with one of these after the other, the last for ever. */
function service(...answers: (object | CallError)[]) {
  const calls: string[] = [];
  const call = async (method: string) => {
    calls.push(method);
    await new Promise((resolve) => setImmediate(resolve));
    const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
    if (answer instanceof CallError) throw answer;
    return answer;
  };
  return { calls, connection: { call, state: { get: () => ({ phase: 'ready' }) } } };
}

t.test('a session that is gone when its rows were replaced is asked for once, not in a loop', async (t) => {
  const { calls, connection } = service(snapshot, new CallError('SESSION_NOT_FOUND', 'there is no session s'));
  const link = new SessionLink(connection, 's');
  await link.attach();
  link.receive({ type: 'session.changed', session_id: 's', seq: 1, payload: {} });
  await until('the failure is shown', () => link.state.get().failure !== null);
  t.match(link.state.get().failure, { code: 'SESSION_NOT_FOUND' });
  t.same(calls, ['session.resume', 'session.resume']);
});

t.test(
  'a session that was not answered for is asked for again while the line stands, and who joined the wait is not thrown at',
  async (t) => {
    const { calls, connection } = service(new CallError('TIMEOUT', 'session.resume was not answered', { retry: true }), snapshot);
    const link = new SessionLink(connection, 's');
    await Promise.all([link.attach(), link.attach()]);
    t.equal(link.state.get().transcript, null);
    await until('it is shown', () => link.state.get().transcript !== null);
    t.same(calls, ['session.resume', 'session.resume']);
  },
);
