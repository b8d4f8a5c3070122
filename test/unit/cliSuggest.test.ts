/** What a typing slip meant, and the notation of options. */
import t from 'tap';
import { camelCase, dashed, parseFlags } from '../../bin/flags.ts';
import { editDistance, nearest } from '../../base/nearest.ts';
import { unknownName } from '../../bin/suggest.ts';

t.test('the distance of two words counts inserted, removed, replaced and swapped letters', async (t) => {
  const cases: [string, string, number][] = [
    ['', '', 0],
    ['gateway', 'gateway', 0],
    ['gatway', 'gateway', 1],
    ['gatewayy', 'gateway', 1],
    ['gatewoy', 'gateway', 1],
    ['statsu', 'status', 1],
    ['abc', '', 3],
    ['kitten', 'sitting', 3],
  ];
  for (const [a, b, want] of cases) t.equal(editDistance(a, b), want, `${a} → ${b}`);
});

t.test('only a near name is suggested: a slip, or the beginning of a name', async (t) => {
  const names = ['status', 'start', 'stop', 'restart'];
  const cases: [string, string | undefined][] = [
    ['statsu', 'status'],
    ['restrat', 'restart'],
    ['STATUS', 'status'],
    ['rest', 'restart'],
    ['banana', undefined],
    ['x', undefined],
  ];
  for (const [word, want] of cases) t.equal(nearest(word, names), want, word);
});

t.test('an unknown name is refused with the nearest and the valid set', async (t) => {
  const error = unknownName('slot', 'crn', ['agent', 'cron'], 'UNKNOWN_SLOT');
  t.equal(error.code, 'UNKNOWN_SLOT');
  t.equal(error.message, 'unknown slot "crn"');
  t.equal(error.fix, 'did you mean cron? known: agent, cron');
  t.same(error.facts, { nearest: 'cron', valid: ['agent', 'cron'] });
  t.equal(unknownName('server', 'x', []).fix, 'there is no server yet');
});

t.test('the notation of options is read whole or not at all', async (t) => {
  const cases: [string, ReturnType<typeof parseFlags>][] = [
    ['--json', { short: undefined, long: 'json', negated: false, takes: 'nothing', value: undefined }],
    ['-n, --lines <count>', { short: 'n', long: 'lines', negated: false, takes: 'value', value: 'count' }],
    ['--no-drain', { short: undefined, long: 'drain', negated: true, takes: 'nothing', value: undefined }],
    ['--env <name=value...>', { short: undefined, long: 'env', negated: false, takes: 'list', value: 'name=value' }],
  ];
  for (const [flags, want] of cases) {
    t.same(parseFlags(flags), want, flags);
    t.ok(flags.includes(dashed(want)), `${flags} is typed as ${dashed(want)}`);
  }
  for (const wrong of ['json', '--', '-nn, --lines', '--Lines', '--lines [count]']) t.throws(() => parseFlags(wrong), wrong);
  t.equal(camelCase('external-supervisor'), 'externalSupervisor');
});
