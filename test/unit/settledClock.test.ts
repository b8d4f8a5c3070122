/** Deleting by age waits for a day after the wall clock jumped. */
import t from 'tap';
import { SettledClock } from '../../base/settledClock.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

t.test('a jump forward or back holds deletions for a day; a clock that runs evenly never does', async (t) => {
  const clock = new SettledClock(0, 0);
  t.equal(clock.isSettled(DAY, DAY), true);
  t.equal(clock.isSettled(402 * DAY, 2 * DAY), false, '400 days forward');
  t.equal(clock.isSettled(2 * DAY + HOUR, 2 * DAY + HOUR), false, 'and back');
  t.equal(clock.isSettled(3 * DAY, 3 * DAY), false, 'not a day after it yet');
  t.equal(clock.isSettled(4 * DAY, 4 * DAY), true);
});
