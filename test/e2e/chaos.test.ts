/** Half a minute of `npm run soak`: random processes die under load, then nothing is lost, doubled or left behind. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { runChaos } from '../chaos/chaos.ts';
import { sidecarProblems } from '../chaos/proofs.ts';
import { seeded } from '../chaos/random.ts';
import { testHome } from '../harness/home.ts';

t.setTimeout(240_000);

t.test(
  'random kills under chat, IRC, webhook and cron load lose nothing, double nothing and leave nothing',
  { timeout: 235_000 },
  async (t) => {
    const log: string[] = [];
    const { problems, figures } = await runChaos({ ms: 20_000, seed: 7, pauseMs: [800, 2_500], say: (line) => log.push(line) });
    t.same(problems, [], `seed 7:\n${log.join('\n')}`);
    t.ok(figures.kills! > 2, `${figures.kills} processes were killed`);
    for (const what of ['prompts', 'ircAnswers', 'webhooks', 'sends', 'fires', 'cronRuns', 'sidecarLines'])
      t.ok(figures[what]! > 0, `${what}: ${figures[what]}`);
  },
);

t.test('the same seed gives the same faults', async (t) => {
  const first = Array.from(
    { length: 100 },
    (
      (random) => () =>
        random.next()
    )(seeded(42)),
  );
  const second = Array.from(
    { length: 100 },
    (
      (random) => () =>
        random.next()
    )(seeded(42)),
  );
  t.same(first, second);
  t.ok(first.every((value) => value >= 0 && value < 1));
  t.not(seeded(43).next(), first[0]);
});

t.test('the proof sees a line that is lost, doubled or out of order', async (t) => {
  const line = (number: number, pid: number) => `{"msg":"N${String(number).padStart(8, '0')} ${pid} E"}\n`;
  using home = testHome();
  const folder = join(home.root, 'last');
  mkdirSync(folder);
  const logged = (text: string, printed: number) => {
    home.write('logs/one.log', text);
    home.write('last/7', String(printed).padStart(8, '0'));
    return sidecarProblems(home, ['one'], folder).problems;
  };
  t.same(logged(line(1, 7) + line(2, 7) + line(3, 7), 3), []);
  t.match(logged(line(1, 7) + line(3, 7), 3), [/1 lines of process 7 are not in the log: 2/]);
  t.same(logged(`${line(1, 7)}{"dropped":1}\n${line(3, 7)}`, 3), [], 'unless the log reports it as dropped');
  t.match(logged('', 3), [/no line of process 7/]);
  t.match(logged(line(1, 7) + line(2, 7) + line(2, 7) + line(3, 7), 3), [/1 lines of process 7 stand twice/, /out of order/]);
  t.match(logged(line(1, 7) + line(2, 7), 3), [/1 lines/]);
});
