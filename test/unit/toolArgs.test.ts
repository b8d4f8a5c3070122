import t from 'tap';
import { readCalls } from '../../agent/models/toolArgs.ts';

const calls = (...inputs: string[]) => inputs.map((input, i) => ({ id: `c${i}`, name: 'x', input }));
const cut = (end: string, ...inputs: string[]) => readCalls(calls(...inputs), end).map((call) => call.cut === true);

t.test('which calls count as cut off, by the reason that the provider gave for the end', async (t) => {
  const written = ['{"a":1}', '{"a":', '{}'];
  t.same(cut('stop', ...written), [false, false, false]);
  t.same(cut('tool-calls', ...written), [false, false, false]);
  t.same(cut('length', ...written), [false, true, true]);
  t.same(cut('content-filter', ...written), [false, true, true]);
  t.same(cut('other', ...written), [false, true, false], 'a word that is not known: whole JSON is taken');
  t.same(cut('length', '', '{"a":1}'), [false, false], 'only the last call can lack its arguments');
});
