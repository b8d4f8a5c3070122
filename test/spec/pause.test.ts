/** Row cli.7 from the command line: pause and resume engage and remove the sentinel, whatever stands there. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import t from 'tap';
import { isPaused, readPause } from '../../state/pause.ts';
import { cli } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';

t.test('cli.7 pause engages the sentinel and prints its path, resume removes it; both without a service, both repeatable', async (t) => {
  using home = testHome();
  const first = await cli(['pause', '--reason', 'maintenance', '--ttl', '10m', '--scope', 'cron', '--json'], { home });
  t.equal(first.code, 0);
  const body = JSON.parse(readFileSync(home.estop, 'utf8')) as { generation: string; expires_at: string; engaged_at: string };
  t.match(JSON.parse(first.stdout), {
    paused: true,
    path: home.estop,
    reason: 'maintenance',
    scope: ['cron'],
    generation: body.generation,
  });
  t.equal(Date.parse(body.expires_at) - Date.parse(body.engaged_at), 600_000);
  t.equal(statSync(home.estop).mode & 0o777, 0o600);

  const again = await cli(['pause'], { home });
  t.match(again, { code: 0, stdout: new RegExp(`^Paused: new automation is held \\(${home.estop}\\)\\n$`), stderr: '' });
  t.match(readPause(home), { reason: null, expires_at: null, scope: [] }, 'engaging again replaces it');

  t.match(await cli(['resume'], { home }), { code: 0, stdout: `Resumed: automation continues (${home.estop})\n` });
  t.equal(existsSync(home.estop), false);
  t.match(await cli(['resume'], { home }), { code: 0, stdout: `It was not paused (${home.estop})\n` });
});

t.test('cli.7 whatever stands in the sentinel pauses, and pause and resume put it right', async (t) => {
  const contents = ['', ' ', '{', 'null', '[]', '"text"', '{"reason": 5, "scope": "cron", "expires_at": "never"}', '\0\xff'];
  for (const content of contents) {
    using home = testHome({ ESTOP: content });
    const name = JSON.stringify(content);
    t.ok(isPaused(home, 'cron') && isPaused(home, 'gateway') && isPaused(home, 'webhook'), name);
    t.match(JSON.parse((await cli(['status', '--json'], { home })).stdout), { supervisor: null }, name);
    t.equal((await cli(['pause', '--reason', 'r'], { home })).code, 0, name);
    t.equal(readPause(home)?.reason, 'r', name);
    home.write('ESTOP', content);
    t.equal((await cli(['resume'], { home })).code, 0, name);
    t.equal(isPaused(home, 'cron'), false, name);
  }
});

t.test('cli.7 a directory in the place of the sentinel pauses too, and resume says how to remove it', async (t) => {
  using home = testHome();
  mkdirSync(home.estop);
  t.ok(isPaused(home, 'cron'));
  const { code, stderr } = await cli(['resume'], { home });
  t.equal(code, 1);
  t.match(stderr, /^agent: .*ESTOP .* — .*\n$/);
  rmSync(home.estop, { recursive: true });
  t.notOk(isPaused(home, 'cron'));
});

t.test('cli.7 the pause of a profile holds that profile alone, the pause of the root home holds all', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': '' });
  await cli(['-p', 'work', 'pause'], { home });
  t.same([isPaused(home, 'cron', 'work'), isPaused(home, 'cron')], [true, false]);
  await cli(['pause'], { home });
  const { code, stdout, stderr } = await cli(['-p', 'work', 'resume'], { home });
  t.equal(code, 0);
  t.match(stdout, `Resumed: automation continues (${home.profile('work').estop})`);
  t.match(stderr, `${home.estop} still holds automation`);
  t.same([isPaused(home, 'cron', 'work'), isPaused(home, 'cron')], [true, true]);
  await cli(['resume'], { home });
  t.same([isPaused(home, 'cron', 'work'), isPaused(home, 'cron')], [false, false]);
});
