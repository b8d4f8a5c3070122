/** Commands of the page as children: real ones, with an entry of the test in the place of the agent command. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { createLogger } from '../../base/log.ts';
import { createRedactor, type Redactor } from '../../base/redact.ts';
import { createActions, type Actions } from '../../services/dashboard/actions.ts';
import { openHome } from '../../state/home.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import { until } from '../harness/until.ts';

const ENTRY = `
import { spawn } from 'node:child_process';
const [, , , , what] = process.argv;
if (what === 'echo') process.stdin.on('data', (text) => console.log('got ' + String(text).length + ' characters'));
if (what === 'flood') for (let n = 0; n < 50_000; n++) console.log('line ' + n);
if (what === 'secret') console.error('key is ' + 'sk-or-v1-' + 'abcdefghijklmnopqrstuvwxyz012345');
if (what === 'long') console.error('x'.repeat(3_985) + ' key sk-or-v1-' + 'abcdefghijklmnopqrstuvwxyz012345');
if (what === 'rows') console.log(JSON.stringify({ checks: [{ what: 'the key "sk-or-v1-abcdefghijklmnopqrstuvwxyz012345"' }] }));
if (what === 'env') console.log(JSON.stringify({ names: Object.keys(process.env) }));
if (what === 'stubborn') {
  process.on('SIGTERM', () => {});
  spawn('sleep', ['1000'], { stdio: 'inherit' });
  console.log('begun');
  setInterval(() => {}, 1_000);
}
if (what === 'leaves') {
  spawn('sleep', ['1000'], { stdio: 'inherit' });
  setTimeout(() => process.exit(7), 50);
}
`;

function setUp(): { actions: Actions; home: ReturnType<typeof openHome>; redact: Redactor } & AsyncDisposable {
  const dir = mkdtempSync(join(tmpdir(), 'agent-actions-'));
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'bin', 'main.ts'), ENTRY);
  const home = openHome(dir);
  const redact = createRedactor();
  const log = createLogger({ sink: { write: () => {}, close: () => {} }, component: 'test', level: 'info', redact });
  const release = { version: '0', code: 'test', root: dir, built: false, codeRoot: dir };
  const actions = createActions({ home, log, redact, release });
  return {
    actions,
    home,
    redact,
    async [Symbol.asyncDispose]() {
      await actions[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const never = new AbortController().signal;

t.test('no half of a secret is left where a long line is cut, and redacting leaves the shape of a result alone', async (t) => {
  await using scene = setUp();
  const { actions, home, redact } = scene;
  redact.learn(['checks']);
  await actions.start('long', ['long'], home);
  const { lines } = await actions.ended('long', never);
  t.notMatch(lines.join(), /sk-or/);
  await actions.start('rows', ['rows'], home);
  t.same((await actions.ended('rows', never)).result, { checks: [{ what: 'the key "[redacted]"' }] });
});

t.test('a command says its end, what a child of it left running goes with it', async (t) => {
  await using scene = setUp();
  const { actions, home } = scene;
  const { pid } = await actions.start('x', ['leaves'], home);
  t.match(await actions.ended('x', never), { running: false, exit_code: 7, error: null });
  t.notOk(groupAlive(pid));
});

t.test('one that ignores SIGTERM is killed after its time with all it started, and the answer says why', async (t) => {
  await using scene = setUp();
  const { actions, home } = scene;
  const { pid } = await actions.start('x', ['stubborn'], home, { timeoutMs: 300 });
  t.match(await actions.ended('x', never), { running: false, exit_code: null, error: /longer than/ });
  t.notOk(groupAlive(pid));
});

t.test('leaving ends what runs; another command under a name that runs is refused, the same is joined', async (t) => {
  await using scene = setUp();
  const { actions, home } = scene;
  const { pid } = await actions.start('x', ['stubborn'], home);
  t.equal((await actions.start('x', ['stubborn'], home)).pid, pid);
  await t.rejects(actions.start('x', ['echo'], home), { code: 'ACTION_RUNNING' });
  await until('it has begun', () => actions.status('x', 1).lines[0] === 'begun');
  t.same(actions.active(), ['action x']);
  t.equal(await actions.drain(AbortSignal.timeout(1)), 1);
  t.notOk(groupAlive(pid));
  t.match(actions.status('x', 1), { running: false, error: /dashboard is leaving/ });
});

t.test('output is bounded and redacted, input goes in unseen, the environment is an allow-list', async (t) => {
  await using scene = setUp();
  const { actions, home } = scene;
  process.env.AGENT_TEST_API_KEY = 'secret';
  await actions.start('flood', ['flood'], home);
  const { lines } = await actions.ended('flood', never);
  t.same([lines.length, lines.at(-1)], [2_000, 'line 49999']);
  await actions.start('secret', ['secret'], home);
  t.notMatch((await actions.ended('secret', never)).lines[0], /abcdefghij/);
  await actions.start('echo', ['echo'], home, { input: 'a secret' });
  t.same((await actions.ended('echo', never)).lines, ['got 8 characters']);
  await actions.start('env', ['env'], home);
  const { names } = (await actions.ended('env', never)).result as { names: string[] };
  t.notOk(names.includes('AGENT_TEST_API_KEY'));
  t.ok(names.includes('AGENT_HOME'));
  delete process.env.AGENT_TEST_API_KEY;
  t.throws(() => actions.status('nobody', 1), { code: 'NOT_FOUND' });
});
