/** No process of the service shows a variable of its starter to other programs of the same user. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sealedMark, sealVariables, unsealVariables } from '../../base/sealedVariables.ts';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { cli, cliEnv } from '../harness/cli.ts';
import { freePort, testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

const linux = process.platform === 'linux' ? {} : { skip: 'not Linux' };
const KEY = 'sk-exported-8842-secret';
const DATABASE = 'postgres://owner:hunter2pass@db/main';
const exported = { BOX_API_KEY: KEY, DATABASE_URL: DATABASE };

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
};

/** Processes of the home, and which of them show a secret in their environment or at their standard input. */
function processesOf(home: TestHome): { all: number[]; showing: number[] } {
  const all = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 1 && textOf(`/proc/${pid}/environ`).includes(home.root));
  const showing = all.filter((pid) =>
    [textOf(`/proc/${pid}/environ`), textOf(`/proc/${pid}/fd/0`)].some((text) => text.includes(KEY) || text.includes('hunter2pass')),
  );
  return { all, showing };
}

const starts = [
  { name: 'agent up', words: ['bin/main.ts', 'up'], inBackground: true },
  { name: 'agent up --foreground', words: ['bin/main.ts', 'up', '--foreground'], inBackground: false },
  { name: 'the program of a unit', words: ['bin/agentd.ts'], inBackground: false },
];

for (const { name, words, inBackground } of starts) {
  t.test(`${name}: exported keys work, and no process of the service shows them`, linux, async (t) => {
    await using provider = await startOpenAi({ text: 'hello' });
    using home = testHome({
      'config.yaml': `model: { default: m, provider: box }\nproviders: { box: { base_url: "${provider.url}", key_env: BOX_API_KEY } }\n`,
    });
    const [entry, ...rest] = words;
    const child = spawn(process.execPath, [join(projectRoot, entry!), ...rest, '--port', String(await freePort())], {
      env: cliEnv({ home, env: exported }),
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    t.teardown(async () => {
      await cli(['down', '--no-drain'], { home });
      await ended;
    });
    if (inBackground) t.same(await ended, [0, null]);
    const status = await until('every slot is ready', () => {
      const now = JSON.parse(readFileSync(home.run.status, 'utf8')) as Status;
      return now.workers.every(({ desired, state }) => desired !== 'up' || state === 'ready') && now;
    });
    if (!inBackground) t.equal(status.supervisor.pid, child.pid, 'the process keeps its number');
    t.match(await cli(['chat', '-q', 'hi'], { home }), { code: 0, stdout: 'hello\n' });
    t.equal(provider.requests[0]!.headers.authorization, `Bearer ${KEY}`);
    const { all, showing } = processesOf(home);
    t.ok(all.length >= 4, 'the supervisor and its workers were looked at');
    t.same(showing, []);
    // The next incarnation has it from the memory of the supervisor.
    t.match(await cli(['restart', 'agent'], { home }), { code: 0 });
    t.match(await cli(['chat', '-q', 'again'], { home }), { code: 0 });
    t.equal(provider.requests.at(-1)!.headers.authorization, `Bearer ${KEY}`);
    t.same(processesOf(home).showing, []);
  });
}

t.test('a worker of another process manager shows no variable of its starter', linux, async (t) => {
  using home = testHome();
  const child = spawn(process.execPath, [join(projectRoot, 'bin/main.ts'), 'worker', 'cron', '--external-supervisor'], {
    env: cliEnv({ home, env: exported }),
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  await until('it serves', () => readdirSync(home.run.dir).includes('cron.sock'));
  const { all, showing } = processesOf(home);
  t.ok(all.includes(child.pid!));
  t.same(showing, []);
});

t.test('standard input that is not sealed is neither read nor changed', (t) => {
  const env = { ...sealedMark, OTHER: 'stays' };
  t.equal(unsealVariables(env), false);
  t.same(env, { OTHER: 'stays' });
  t.end();
});

t.test('sealed variables never replace those of the environment, and are gone for the next reader', linux, async (t) => {
  const fd = sealVariables({ ONE: 'sealed', TWO: 'sealed' });
  const program = `
    import { unsealVariables } from ${JSON.stringify(join(projectRoot, 'base/sealedVariables.ts'))};
    const was = unsealVariables();
    console.log(JSON.stringify([was, process.env.ONE, process.env.TWO, Object.keys(process.env).filter((name) => name.includes('SEALED'))]));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: { PATH: process.env.PATH, ONE: 'shown', ...sealedMark },
    stdio: [fd, 'pipe', 'inherit'],
  });
  const output: Buffer[] = [];
  child.stdout!.on('data', (chunk: Buffer) => output.push(chunk));
  await once(child, 'close');
  t.same(JSON.parse(Buffer.concat(output).toString()), [true, 'shown', 'sealed', []]);
  t.equal(readFileSync(fd, 'utf8'), '');
});
