/** Some of the kills of `node test/chaos/agentKills.ts --kills 1000`. */
import t from 'tap';
import { runKills } from '../chaos/agentKills.ts';

t.setTimeout(240_000);

t.test('SIGKILL at random points of turns with tools: no accepted message is lost or doubled, no tool runs twice', async (t) => {
  const { problems, figures } = await runKills({ kills: 20, seed: 11 });
  t.same(problems, []);
  t.equal(figures.kills, 20);
  t.ok(figures['tools run']! > 5 && figures['turns cut']! > 0, JSON.stringify(figures));
});
