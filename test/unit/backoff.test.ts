import t from 'tap';
import { decideRestart, emptyHistory, type Decision, type End, type History } from '../../supervisor/backoff.ts';
import type { ShortageKind } from '../../ipc/contracts/supervisor.ts';
import { defaultPolicy } from '../../supervisor/spec.ts';

const end = (more: Partial<End>): End => ({
  atMs: 0,
  livedMs: 5_000,
  readyMs: 2_000,
  code: null,
  signature: 's',
  permanent: false,
  ...more,
});

/** Feeds ends one after another; the random number is 1, so a delay is its upper bound. */
function decide(ends: End[]): Decision[] {
  let history: History = emptyHistory;
  return ends.map((one) => {
    const out = decideRestart(history, one, defaultPolicy, () => 1);
    history = out.history;
    return out.decision;
  });
}

const every = (n: number, stepMs: number, more: Partial<End> = {}): End[] =>
  Array.from({ length: n }, (_, i) => end({ atMs: i * stepMs, ...more }));
const lacking = (kind: ShortageKind, n: number, stepMs: number): End[] => every(n, stepMs, { readyMs: undefined, shortage: { kind } });
const short = (decision: Decision): string =>
  'ms' in decision && decision.kind !== 'park' ? `${decision.kind} ${decision.ms}` : decision.kind;

const table: { name: string; given: End[]; want: string[] }[] = [
  {
    name: 'lesson 2: ready for a second, then dead: replaced at once, five times in a minute, then parked',
    given: every(6, 2_000),
    want: ['now', 'now', 'now', 'now', 'now', 'park'],
  },
  {
    name: 'ends spread over more than a minute are replaced at once each time',
    given: every(7, 15_000, { readyMs: 14_500 }),
    want: Array.from({ length: 7 }, () => 'now'),
  },
  {
    name: 'five quick ends with long service each inside one minute back off',
    given: every(7, 8_000, { readyMs: 10_500 }),
    want: ['now', 'now', 'now', 'now', 'now', 'delay 500', 'delay 1000'],
  },
  {
    name: 'never ready: 0.5 s doubling, parked at the fifth',
    given: every(5, 1_000, { readyMs: undefined }),
    want: ['delay 500', 'delay 1000', 'delay 2000', 'delay 4000', 'park'],
  },
  { name: 'ready for less than a second is not replaced at once', given: [end({ readyMs: 900 })], want: ['delay 500'] },
  { name: 'exit 78 parks at once', given: [end({ code: 78, readyMs: undefined })], want: ['park'] },
  {
    name: 'exit 75 after service starts again at once, any number of times',
    given: every(8, 1_000, { code: 75, readyMs: 20_000 }),
    want: Array.from({ length: 8 }, () => 'now'),
  },
  {
    name: 'lesson 2: exit 75 soon after each start is a loop like any other: at once five times, then parked',
    given: every(7, 3_000, { code: 75, readyMs: 2_500 }),
    want: ['now', 'now', 'now', 'now', 'now', 'park', 'park'],
  },
  { name: 'exit 75 without ever serving is a failed start', given: [end({ code: 75, readyMs: undefined })], want: ['delay 500'] },
  {
    name: 'the second end with the same permanent signature parks',
    given: every(2, 1_000, { permanent: true, readyMs: undefined }),
    want: ['delay 500', 'park'],
  },
  {
    name: 'another permanent signature does not park',
    given: [end({ permanent: true, readyMs: undefined }), end({ permanent: true, readyMs: undefined, signature: 'other', atMs: 1_000 })],
    want: ['delay 500', 'delay 1000'],
  },
  {
    name: 'a shortage never parks, however often a start meets it: its cause is checked every 5 s',
    given: lacking('space', 40, 10_000),
    want: ['wait 500', ...Array.from({ length: 39 }, () => 'wait 5000')],
  },
  {
    name: 'a program file that stays missing parks after a minute',
    given: lacking('program', 14, 5_000),
    want: ['wait 500', ...Array.from({ length: 11 }, () => 'wait 5000'), 'park', 'park'],
  },
  {
    name: 'service in between: another minute for a program file',
    given: [...lacking('program', 2, 30_000), end({ atMs: 100_000, readyMs: 60_000, shortage: { kind: 'program' } })],
    want: ['wait 500', 'wait 5000', 'wait 5000'],
  },
  {
    name: 'starts that a shortage prevented are no failed starts',
    given: [...lacking('port', 6, 1_000), ...every(4, 1_000, { readyMs: undefined })],
    want: ['wait 500', ...Array.from({ length: 5 }, () => 'wait 5000'), 'delay 500', 'delay 1000', 'delay 2000', 'delay 4000'],
  },
  {
    name: 'five minutes of health reset the delay and the counts',
    given: [
      ...every(4, 1_000, { readyMs: undefined }),
      end({ atMs: 400_000, readyMs: 300_000 }),
      end({ atMs: 401_000, readyMs: undefined }),
    ],
    want: ['delay 500', 'delay 1000', 'delay 2000', 'delay 4000', 'now', 'delay 500'],
  },
  {
    name: 'the delay is never over a minute',
    given: every(12, 700_000, { readyMs: undefined }),
    want: [
      'delay 500',
      'delay 1000',
      'delay 2000',
      'delay 4000',
      'delay 8000',
      'delay 16000',
      'delay 32000',
      ...Array.from({ length: 5 }, () => 'delay 60000'),
    ],
  },
];

for (const { name, given, want } of table) {
  t.test(name, async (t) => t.same(decide(given).map(short), want));
}

t.test('the delay has full jitter: anything from zero to its bound', async (t) => {
  const delays = Array.from({ length: 400 }, () => decideRestart(emptyHistory, end({ readyMs: undefined }), defaultPolicy).decision).map(
    (d) => (d.kind === 'delay' ? d.ms : -1),
  );
  t.ok(Math.min(...delays) < 100 && Math.max(...delays) > 400 && Math.max(...delays) <= 500);
});
