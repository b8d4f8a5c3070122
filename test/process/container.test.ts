/** As the main process of a container: orphans are reaped, signals arrive, the exit code is right, with every init there is. */
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { initCommand } from '../../bin/init.ts';
import { slotSpecs } from '../../bin/slotSpecs.ts';
import { stopBudgetMs } from '../../bin/service/stopBudget.ts';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { openHome } from '../../state/home.ts';
import { cli } from '../harness/cli.ts';
import { freePort, testHome, type TestHome } from '../harness/home.ts';
import { pidNamespace, whyNoNamespaces } from '../harness/pidNamespace.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

const reason = whyNoNamespaces();
const skip = reason !== undefined && !process.env.CI ? reason : false;
const entry = join(projectRoot, 'bin', 'agentd.ts');
const SECRET = 'sk-container-8842-secret';
const TINI = '/usr/bin/tini';

/** A PATH with a shell and no init. */
function pathWithoutInit(home: TestHome): string {
  const dir = join(dirname(home.root), 'bin');
  mkdirSync(dir);
  for (const name of ['sh', 'sleep', 'env', 'cat', 'mkfifo']) symlinkSync(`/usr/bin/${name}`, join(dir, name));
  return dir;
}

const variants = [
  { name: 'started by itself, with tini in the image', init: 'tini', tini: true, path: () => '/usr/bin:/bin', before: [] as string[] },
  { name: 'started by itself, in an image without any init', init: 'sh', tini: false, path: pathWithoutInit, before: [] as string[] },
  {
    name: 'below the init of the runtime, as with `docker run --init`',
    init: 'tini',
    tini: true,
    path: () => '/usr/bin:/bin',
    before: [TINI, '--'],
  },
];

for (const { name, init, tini, path, before } of variants) {
  const here = tini && !existsSync(TINI) && !process.env.CI ? 'missing Debian package: tini' : skip;
  t.test(`agentd as process 1, ${name}: reaps orphans, hands SIGTERM on, drains, and ends with 0`, { skip: here }, async (t) => {
    using home = testHome();
    const port = await freePort();
    const env = {
      PATH: path(home),
      HOME: home.root,
      AGENT_HOME: home.root,
      container: 'test',
      OPENAI_API_KEY: SECRET,
      NODE_COMPILE_CACHE: join(projectRoot, 'node_modules/.cache/compile'),
    };
    await using box = await pidNamespace([...before, process.execPath, entry, '--port', String(port)], env);
    const status = async () => JSON.parse(readFileSync(home.run.status, 'utf8')) as Status;
    const up = await until('every slot is ready', async () => {
      const now = await status();
      return now.workers.every(({ desired, state }) => desired !== 'up' || state === 'ready') && now;
    });
    t.not(up.supervisor.pid, 1, 'an init is above it');
    t.equal(up.supervisor.managed_by, 'container');
    t.equal((await box.processes()).find(({ pid }) => pid === 1)!.name, init);

    // A grandchild that outlives its parent becomes the child of process 1, and then ends.
    const orphans = 20;
    await box.shell(`for i in $(seq ${orphans}); do (sleep 0.2 & echo $!) ; done`);
    await until('all orphans were reaped', async () => {
      const processes = await box.processes();
      // One `sleep` is the keeper of the pipes.
      return processes.every(({ state }) => state !== 'Z') && processes.filter(({ name: what }) => what === 'sleep').length <= 1;
    });

    const shown = await box.shell(`grep -las ${SECRET} /proc/[0-9]*/environ /proc/[0-9]*/fd/0 </dev/null || true`);
    t.same(shown.split('\n').filter(Boolean), before.length > 0 ? ['/proc/1/environ'] : [], 'only an init of the image keeps it');

    box.signal('SIGTERM');
    t.same(await box.ended, { code: 0, signal: null });
    t.ok(
      (await status()).workers.every(({ pid }) => pid === null),
      'every worker was stopped in order',
    );
    t.match(await cli(['status'], { home }), { code: 3 });
  });
}

t.test('what ends the supervisor ends the container with the same code', { skip }, async (t) => {
  for (const path of ['/usr/bin:/bin', undefined]) {
    using home = testHome();
    const program = [process.execPath, '-e', 'process.exit(78)'];
    const [file, ...args] = initCommand(program, path ?? pathWithoutInit(home));
    await using box = await pidNamespace([file, ...args], { PATH: '/usr/bin:/bin' });
    t.same(await box.ended, { code: 78, signal: null }, `below ${file}`);
  }
});

t.test('the image and the compose file keep what docs/containers.md promises', async (t) => {
  const dockerfile = readFileSync(join(projectRoot, 'Dockerfile'), 'utf8');
  const steps = dockerfile
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => /^[A-Z]+ /.test(line));
  const last = (word: string) => steps.findLast((line) => line.startsWith(`${word} `))?.slice(word.length + 1);
  const result = steps.slice(steps.findLastIndex((line) => line.startsWith('FROM ')));
  t.equal(last('USER'), 'agent', 'not root');
  t.match(last('ENTRYPOINT'), /^\["node", "\/opt\/agent-service\/dist\/bin\/agentd\.js"\]$/);
  t.match(last('HEALTHCHECK'), /CMD \["agent", "status"\]$/);
  t.match(last('VOLUME'), '/data');
  t.ok(result.some((line) => line === 'ENV AGENT_HOME=/data'));
  for (const [, from] of dockerfile.matchAll(/cp (?:-R )?([\w./ -]+?) \/opt/g))
    for (const path of from!.split(' ')) t.ok(['dist', 'node_modules'].includes(path) || existsSync(join(projectRoot, path)), path);

  const { services } = parse(readFileSync(join(projectRoot, 'compose.yaml'), 'utf8')) as {
    services: {
      agent: {
        ports: string[];
        stop_grace_period: string;
        healthcheck: { test: string[] };
        environment: Record<string, string>;
        restart: string;
      };
    };
  };
  const { agent } = services;
  t.same(agent.ports, ['127.0.0.1:9119:9119'], 'published on loopback alone');
  t.same(agent.healthcheck.test, ['CMD', 'agent', 'status']);
  t.same(Object.keys(agent.environment), ['AGENT_GATEWAY_BOOTSTRAP_STATE'], 'no secret');
  const budgetMs = stopBudgetMs(slotSpecs(openHome('/nonexistent'), {}, {}));
  t.ok(Number.parseInt(agent.stop_grace_period, 10) * 60_000 >= budgetMs, `the stop takes at most ${budgetMs} ms`);
});
