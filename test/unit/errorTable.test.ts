/** Contract §8: programs tell errors apart by their numbers, and by the words in `data.code`. */
import t from 'tap';
import { errorTable } from '../../base/errors.ts';

t.test('contract 8: every error code has a number of its own', async (t) => {
  const byNumber = Map.groupBy(Object.entries(errorTable), ([, { rpc }]) => rpc);
  const shared = [...byNumber.values()].filter((codes) => codes.length > 1).map((codes) => codes.map(([code]) => code));
  t.strictSame(shared, []);
});
