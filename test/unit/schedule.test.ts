import t from 'tap';
import { limits } from '../../base/limits.ts';
import { cachedPatterns, nextMatch } from '../../services/cron/patterns.ts';
import { graceMs, nextAfter, parseSchedule } from '../../services/cron/schedule.ts';

const NEW_YORK = 'America/New_York';
// A Wednesday, noon in New York.
const NOW = Date.parse('2026-03-04T17:00:00Z');
const next = (text: string, { zone = NEW_YORK, now = NOW } = {}): string => {
  const schedule = parseSchedule(text, { nowMs: now, zone });
  return `${schedule.kind} ${new Date(nextAfter(schedule, now)!).toISOString()}`;
};

t.test('each accepted form gives its kind and its first occurrence', async (t) => {
  const table: [string, string][] = [
    ['30m', 'once 2026-03-04T17:30:00.000Z'],
    ['2h', 'once 2026-03-04T19:00:00.000Z'],
    ['1d', 'once 2026-03-05T17:00:00.000Z'],
    ['in 90 seconds', 'once 2026-03-04T17:01:30.000Z'],
    ['every 1s', 'interval 2026-03-04T17:00:01.000Z'],
    ['every 30s', 'interval 2026-03-04T17:00:30.000Z'],
    ['every 10 minutes', 'interval 2026-03-04T17:10:00.000Z'],
    ['Every  Hour', 'interval 2026-03-04T18:00:00.000Z'],
    ['every monday 9am', 'cron 2026-03-09T13:00:00.000Z'],
    ['every mon,thu at 18:30', 'cron 2026-03-05T23:30:00.000Z'],
    ['every weekday 12:30pm', 'cron 2026-03-04T17:30:00.000Z'],
    ['every weekend 12am', 'cron 2026-03-07T05:00:00.000Z'],
    ['every day 7am', 'cron 2026-03-05T12:00:00.000Z'],
    ['*/15 9-17 * * 1-5', 'cron 2026-03-04T17:15:00.000Z'],
    ['0 9 * * MON', 'cron 2026-03-09T13:00:00.000Z'],
    ['@daily', 'cron 2026-03-05T05:00:00.000Z'],
    ['2026-12-24T18:00', 'once 2026-12-24T23:00:00.000Z'],
    ['2026-12-24 18:00:30', 'once 2026-12-24T23:00:30.000Z'],
    ['2026-12-24T18:00:00Z', 'once 2026-12-24T18:00:00.000Z'],
    ['2026-12-24T18:00+05:30', 'once 2026-12-24T12:30:00.000Z'],
  ];
  t.strictSame(
    table.map(([text]) => [text, next(text)]),
    table,
  );
});

t.test('what cannot be a schedule is refused with its own reason and the accepted forms', async (t) => {
  const table: [string, RegExp][] = [
    ['', /it is empty/],
    ['tomorrow', /none of the accepted forms/],
    ['every 0s', /shortest time is 1 s/],
    ['99999d', /longest time/],
    ['every someday', /the days are/],
    ['every monday 25:00', /time of day/],
    ['every monday 13pm', /time of day/],
    ['* * * *', /none of the accepted forms|5 fields/],
    ['*/5 * * * * *', /5 fields, this has 6/],
    ['61 * * * *', /minute/],
    ['*/60 * * * *', /step of 60 in the minute field/],
    ['0 */24 * * *', /step of 24 in the hour field/],
    ['0 0 30 2 *', /no date ever matches/],
    ['2020-01-01', /in the past/],
    ['2026-02-30T10:00', /no such date/],
    ['2026-13-01', /no such date/],
  ];
  for (const [text, reason] of table) {
    t.throws(() => next(text), { code: 'BAD_SCHEDULE', message: reason, fix: /every 30s.*monday 9am.*\* \* 1-5/ }, JSON.stringify(text));
  }
  t.throws(() => next('30m', { zone: 'Mars/Olympus' }), { code: 'BAD_SCHEDULE', field: 'timezone' });
});

t.test('a local time the clock skips fires at the first valid minute, one it repeats fires once', async (t) => {
  // New York: 02:00 → 03:00 on 8 March 2026 (07:00Z); 02:00 → 01:00 on 1 November 2026 (06:00Z).
  const table = [
    { pattern: '30 2 * * *', from: '2026-03-07T12:00Z', want: ['03-08T07:00', '03-09T06:30'] },
    { pattern: '*/20 2 * * *', from: '2026-03-08T05:00Z', want: ['03-08T07:00', '03-09T06:00', '03-09T06:20'] },
    { pattern: '30 1 * * *', from: '2026-10-31T12:00Z', want: ['11-01T05:30', '11-02T06:30'] },
    { pattern: '*/30 1 * * *', from: '2026-11-01T04:00Z', want: ['11-01T05:00', '11-01T05:30', '11-02T06:00'] },
    { pattern: '30 * * * *', from: '2026-03-08T06:00Z', want: ['03-08T06:30', '03-08T07:30', '03-08T08:30'] },
    { pattern: '30 * * * *', from: '2026-11-01T05:00Z', want: ['11-01T05:30', '11-01T06:30', '11-01T07:30'] },
  ];
  for (const { pattern, from, want } of table) {
    const got: string[] = [];
    for (let at = Date.parse(from); got.length < want.length;) {
      at = nextMatch(pattern, NEW_YORK, at)!;
      got.push(new Date(at).toISOString().slice(5, 16));
    }
    t.strictSame(got, want, `${pattern} from ${from}`);
  }
  const hours = (zone: string, pattern: string, from: string): string[] => {
    const found = [nextMatch(pattern, zone, Date.parse(from))!];
    while (found.length < 3) found.push(nextMatch(pattern, zone, found.at(-1)!)!);
    return found.map((at) => new Date(at).toISOString().slice(5, 16));
  };
  t.strictSame(hours('Europe/Berlin', '0 */2 * * *', '2026-10-24T21:00Z'), ['10-24T22:00', '10-25T00:00', '10-25T03:00'], 'once in autumn');
  t.strictSame(
    hours('Europe/Berlin', '0 */2 * * *', '2026-03-28T22:00Z'),
    ['03-28T23:00', '03-29T01:00', '03-29T02:00'],
    'at 03:00 in spring',
  );
  t.strictSame(hours('America/Santiago', '0 */6 * * *', '2026-09-05T21:00Z'), ['09-05T22:00', '09-06T04:00', '09-06T09:00'], 'no midnight');
  t.equal(next('2026-03-08T02:30'), 'once 2026-03-08T07:00:00.000Z', 'an instant in the gap');
  t.equal(next('2026-11-01T01:30'), 'once 2026-11-01T05:30:00.000Z', 'an instant that happens twice: the first');
});

t.test('an interval counts from its anchor, whenever it is asked', async (t) => {
  const schedule = parseSchedule('every 10s', { nowMs: NOW, zone: 'UTC' });
  const asked = [0, 1, 9_999, 10_000, 10_001, 123_456].map((late) => nextAfter(schedule, NOW + late)! - NOW);
  t.strictSame(asked, [10_000, 10_000, 10_000, 20_000, 20_000, 130_000]);
});

t.test('the grace of an occurrence is half its period, between two minutes and two hours', async (t) => {
  const grace = (text: string) => graceMs(parseSchedule(text, { nowMs: NOW, zone: 'UTC' }), NOW) / 1_000;
  t.strictSame(['every 10s', 'every 20m', '0 * * * *', 'every 1d', '30m'].map(grace), [120, 600, 1_800, 7_200, 120]);
});

t.test('no more parsed patterns are held than the limit, however many are used', async (t) => {
  for (let n = 0; n < limits.cron.patternsMax + 40; n++) nextMatch(`${n % 60} ${n % 24} ${1 + (n % 28)} * *`, 'UTC', NOW);
  t.equal(cachedPatterns(), limits.cron.patternsMax);
});
