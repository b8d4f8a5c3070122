import t from 'tap';
import { blueprintViews, fillBlueprint } from '../../services/cron/blueprints.ts';
import { calendarOf } from '../../services/cron/calendar.ts';
import { parseSchedule } from '../../services/cron/schedule.ts';
import type { JobRow } from '../../services/cron/store.ts';
import { scheduleInWords } from '../../services/cron/words.ts';
import { splitWords } from '../../web/mcp/splitWords.ts';

const BERLIN = 'Europe/Berlin';
// A Wednesday, 13:00 in Berlin.
const NOW = Date.parse('2026-03-04T12:00:00Z');
const schedule = (text: string) => parseSchedule(text, { nowMs: NOW, zone: BERLIN });
const DAY_MS = 86_400_000;

t.test('a schedule is said in words', async (t) => {
  const table: [string, string][] = [
    ['every 30m', 'every 30 minutes'],
    ['every 1d', 'every day'],
    ['every 90s', 'every 90 seconds'],
    ['30m', 'once, on 4 March 2026 at 13:30'],
    ['2026-12-24T18:00', 'once, on 24 December 2026 at 18:00'],
    ['every day 7am', 'every day at 07:00'],
    ['every weekday 18:30', 'Monday to Friday at 18:30'],
    ['every weekend 9am', 'Saturday and Sunday at 09:00'],
    ['every mon,thu 9:05', 'every Monday and Thursday at 09:05'],
    ['0 9,18 * * *', 'every day at 09:00 and 18:00'],
    ['* * * * *', 'every minute'],
    ['*/15 * * * *', 'every 15 minutes'],
    ['*/1 * * * *', 'every minute'],
    ['*/7 * * * *', 'when the clock matches */7 * * * *'],
    ['5 */5 * * *', 'when the clock matches 5 */5 * * *'],
    ['*/15 9-17 * * 1-5', 'Monday to Friday: every 15 minutes from 09:00 to 17:59'],
    ['@hourly', 'every hour on the hour'],
    ['5 */6 * * *', 'every 6 hours at 5 minutes past'],
    ['@monthly', 'on day 1 of each month at 00:00'],
    ['0 8 24 12 *', 'on day 24 of December at 08:00'],
    ['0 8 * JAN MON', 'every Monday in January at 08:00'],
    ['0 8 1 * 1', 'when the clock matches 0 8 1 * 1'],
    ['1-59/2 8 L * *', 'when the clock matches 1-59/2 8 L * *'],
  ];
  t.strictSame(
    table.map(([text]) => [text, scheduleInWords(schedule(text))]),
    table,
  );
});

const job = (text: string, more: Partial<JobRow> = {}): { profile: string; job: JobRow } => {
  const read = schedule(text);
  const nextRunMs = calendarStart(read);
  return {
    profile: 'default',
    job: {
      id: text,
      name: text,
      prompt: 'x',
      script: null,
      schedule: read,
      deliver: 'local',
      enabled: true,
      repeatTimes: null,
      repeatCompleted: 0,
      nextRunMs,
      lastRunMs: null,
      lastStatus: null,
      lastError: null,
      createdMs: NOW,
      createdBy: null,
      ...more,
    },
  };
};
const calendarStart = (read: JobRow['schedule']): number => read.runAtMs ?? (read.intervalMs === null ? NOW + 1 : NOW + read.intervalMs);

t.test('a calendar names each run of a span, follows the change to summer time, and puts frequent jobs aside', async (t) => {
  const week = { fromMs: Date.parse('2026-03-27T00:00:00Z'), toMs: Date.parse('2026-03-31T00:00:00Z'), nowMs: NOW };
  const jobs = [job('every day 9am'), job('every 5m'), job('2026-03-28T12:00'), job('2026-04-28T12:00')];
  const { runs, often, truncated } = calendarOf(jobs, week);
  t.same(
    runs.map(({ name, at }) => `${name} ${at}`),
    [
      'every day 9am 2026-03-27T08:00:00.000Z',
      'every day 9am 2026-03-28T08:00:00.000Z',
      '2026-03-28T12:00 2026-03-28T11:00:00.000Z',
      'every day 9am 2026-03-29T07:00:00.000Z',
      'every day 9am 2026-03-30T07:00:00.000Z',
    ],
  );
  t.match(often, [{ name: 'every 5m', words: 'every 5 minutes' }]);
  t.equal(truncated, false);
});

t.test('a calendar shows no run that the job will not have, none in the past, and no more than its bounds', async (t) => {
  const twice = { ...job('every 1d', { repeatTimes: 3, repeatCompleted: 1 }) };
  t.equal(calendarOf([twice], { fromMs: NOW, toMs: NOW + 10 * DAY_MS, nowMs: NOW }).runs.length, 2);
  const past = calendarOf([job('every day 9am')], { fromMs: NOW - 5 * DAY_MS, toMs: NOW + DAY_MS, nowMs: NOW });
  t.ok(past.runs.every(({ at }) => Date.parse(at) >= NOW));
  t.throws(() => calendarOf([], { fromMs: NOW, toMs: NOW + 63 * DAY_MS, nowMs: NOW }), { code: 'INVALID_PARAMS', field: 'to' });
  t.throws(() => calendarOf([], { fromMs: NOW, toMs: NOW - 1, nowMs: NOW }), { code: 'INVALID_PARAMS' });
  const many = Array.from({ length: 600 }, () => job('every 4h'));
  const answer = calendarOf(many, { fromMs: NOW, toMs: NOW + 60 * DAY_MS, nowMs: NOW });
  t.equal(answer.truncated, true);
  t.ok(answer.runs.length <= 4_000);
});

t.test('every blueprint makes a job of its defaults that can be scheduled, and refuses what does not fit', async (t) => {
  for (const { key, fields } of blueprintViews()) {
    const values = Object.fromEntries(
      fields
        .filter(({ default: preset, optional }) => preset === null && !optional)
        .map(({ name }) => [name, /feeds|url/.test(name) ? 'https://example.org/feed' : '/tmp']),
    );
    const filled = fillBlueprint(key, values);
    t.ok(scheduleInWords(schedule(filled.schedule.text)).length > 0, key);
    t.ok(filled.prompt !== null || filled.script !== null, key);
    for (const { name, type, optional } of fields) {
      if (!optional)
        t.throws(
          () => fillBlueprint(key, { ...values, [name]: '' }),
          { code: 'INVALID_PARAMS', field: `values.${name}` },
          `${key} ${name} empty`,
        );
      if (type !== 'text')
        t.throws(
          () => fillBlueprint(key, { ...values, [name]: 'x'.repeat(9) }),
          { code: 'INVALID_PARAMS', field: `values.${name}` },
          `${key} ${name} junk`,
        );
      t.throws(
        () => fillBlueprint(key, { ...values, [name]: 'a\0b' }),
        { code: 'INVALID_PARAMS', field: `values.${name}` },
        `${key} ${name} NUL`,
      );
    }
    t.match(
      fillBlueprint(key, { ...values, schedule: ' every  2h ' }),
      { schedule: { text: 'every 2h' } },
      `${key}: other.2, a free-text schedule`,
    );
    t.throws(() => fillBlueprint(key, { ...values, schedule: 'whenever' }), { code: 'INVALID_PARAMS', field: 'values.schedule' });
    t.throws(() => fillBlueprint(key, { ...values, constructor: 'x' }), { code: 'INVALID_PARAMS', field: 'values.constructor' });
  }
});

t.test('a command line is split as a shell would', async (t) => {
  const table: [string, string[]][] = [
    ['npx -y  @a/b', ['npx', '-y', '@a/b']],
    [`run "two words" 'it''s' a\\ b ''`, ['run', 'two words', 'its', 'a b', '']],
    ['  ', []],
    [`x "a\\"b" '\\'`, ['x', 'a"b', '\\']],
  ];
  t.strictSame(
    table.map(([line]) => [line, splitWords(line)]),
    table,
  );
});
