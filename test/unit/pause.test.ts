import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { pauseScopes, type PauseScope } from '../../base/closedWords.ts';
import { engagePause, isPaused, liftPause, readPause, resumeAdvice } from '../../state/pause.ts';
import { testHome } from '../harness/home.ts';
import { cli } from '../harness/cli.ts';
import { mounts, onTmpfs } from '../harness/smallDisk.ts';

const held = (home: ReturnType<typeof testHome>, profile?: string): PauseScope[] =>
  pauseScopes.filter((scope) => isPaused(home, scope, profile));
const everything = [...pauseScopes];

t.test('no sentinel, no pause', async (t) => {
  using home = testHome();
  t.same([readPause(home), held(home)], [undefined, []]);
});

t.test('whatever is in the sentinel, it pauses; only a time that has passed lifts it', async (t) => {
  using home = testHome();
  const past = '2020-01-01T00:00:00.000Z';
  const table: Record<string, [content: string, want: PauseScope[]]> = {
    empty: ['', everything],
    'not JSON': ['{"reason":', everything],
    'a list': ['[]', everything],
    null: ['null', everything],
    'no scope': ['{"reason":"x"}', everything],
    'one scope': ['{"scope":["cron"]}', ['cron']],
    'two scopes': ['{"scope":["gateway","webhook"]}', ['gateway', 'webhook']],
    'a scope that is no list': ['{"scope":"cron"}', everything],
    'a scope nobody knows': ['{"scope":["cronn"]}', everything],
    'one known scope among others': ['{"scope":["cronn","webhook"]}', ['webhook']],
    expired: [`{"expires_at":"${past}"}`, []],
    'expires later': ['{"expires_at":"2999-01-01T00:00:00Z"}', everything],
    'an expiry nobody can read': ['{"expires_at":"soon"}', everything],
    'an expiry that is a number': ['{"expires_at":5}', everything],
  };
  for (const [name, [content, want]] of Object.entries(table)) {
    home.write('ESTOP', content);
    t.same(held(home), want, name);
  }
});

t.test('a sentinel that cannot be read pauses, and says why', async (t) => {
  using home = testHome();
  mkdirSync(home.estop);
  t.match(readPause(home), { reason: /cannot be read \(EISDIR\)/, scope: [] });
  t.same(held(home), everything);
  t.throws(() => liftPause([home.estop]), {
    code: 'HOME_UNUSABLE',
    message: /is a directory/,
    fix: `remove it by hand: rm -r ${home.estop}`,
  });
  rmSync(home.estop, { recursive: true });
  writeFileSync(home.estop, '{"scope":[]}', { mode: 0o000 });
  t.same(held(home), everything, 'whoever may read it or not');
  chmodSync(home.estop, 0o600);
});

t.test('engage and lift: private, idempotent, with reason, scope and end', async (t) => {
  using home = testHome();
  engagePause(home.estop, { reason: 'first' });
  const pause = engagePause(home.estop, { reason: 'maintenance', ttlMs: 60_000, scope: ['cron'] });
  t.match(readPause(home), { path: home.estop, reason: 'maintenance', scope: ['cron'], generation: pause.generation });
  t.ok(Date.parse(pause.expires_at!) - Date.parse(pause.engaged_at!) === 60_000);
  t.same(Object.keys(JSON.parse(readFileSync(home.estop, 'utf8')) as object), [
    'reason',
    'engaged_at',
    'expires_at',
    'scope',
    'generation',
  ]);
  t.equal(readPause(home, 'default', Date.now() + 60_000), undefined, 'it ends by itself');
  t.same([liftPause([home.estop]), liftPause([home.estop]), readPause(home)], [true, false, undefined]);
});

t.test('the pause of the root home holds every profile; a profile holds itself alone; both add up', async (t) => {
  using home = testHome();
  const profile = home.write('profiles/work/ESTOP', '{"scope":["gateway"]}');
  t.same([held(home), held(home, 'work'), held(home, 'other')], [[], ['gateway'], []]);
  t.equal(resumeAdvice(home, 'gateway', 'work'), 'lift the pause: `agent -p work resume`');
  home.write('ESTOP', '{"scope":["cron"]}');
  t.same([held(home), held(home, 'work'), held(home, 'other')], [['cron'], ['cron', 'gateway'], ['cron']]);
  t.equal(resumeAdvice(home, 'cron', 'work'), 'lift the pause: `agent resume`', 'each kind of work by the pause that holds it');
  t.match([readPause(home, 'work')?.path, readPause(home)?.path], [home.estop, home.estop]);
  t.ok(liftPause([home.estop, profile]));
  t.same(held(home, 'work'), []);
});

t.test('a pause is engaged on a full disk, by an empty sentinel; what could not be kept is said', mounts, async (t) => {
  using home = testHome();
  using disk = onTmpfs(home, 1_000);
  const root = dirname(disk.path);
  await cli(['config', 'path'], { home: { root } });
  disk.fill();
  const { code, stdout, stderr } = await cli(['pause', '--scope', 'cron', '--ttl', '1h', '--json'], { home: { root } });
  t.match(
    { code, pause: JSON.parse(stdout) as object },
    { code: 0, pause: { paused: true, generation: null, scope: [], expires_at: null } },
  );
  t.match(stderr, /disk is full/);
  t.equal(readFileSync(join(root, 'ESTOP'), 'utf8'), '');
  disk.empty();
  t.equal((await cli(['resume'], { home: { root } })).code, 0);
});

t.test('an end that is not a time never lifts a pause and is not shown', async (t) => {
  using home = testHome({ ESTOP: '{"reason":"x","expires_at":"garbage"}' });
  t.match(readPause(home), { reason: 'x', expires_at: null });
});
