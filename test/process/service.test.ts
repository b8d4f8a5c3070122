/** `agent service` where there is no manager, and the codes and checks that managers rely on. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { cutOwnOutput } from '../../bin/service/ownOutput.ts';
import { limits } from '../../base/limits.ts';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { cli, cliEnv, errorOf, finished, run, type CliResult } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { testHome } from '../harness/home.ts';
import { whyNoNamespaces } from '../harness/pidNamespace.ts';
import { projectRoot } from '../harness/worker.ts';

const reason = whyNoNamespaces();
const skip = reason !== undefined && !process.env.CI ? reason : false;
const main = join(projectRoot, 'bin', 'main.ts');

/** Runs a command on a machine that has never heard of systemd: /run is empty. */
const withoutSystemd = (args: string[], home: { root: string }): Promise<CliResult> =>
  run('/usr/bin/unshare', ['--mount', 'sh', '-c', 'mount -t tmpfs tmpfs /run && exec "$@"', 'sh', process.execPath, main, ...args], {
    home,
  });

/** The supervisor's own entry. */
const agentd = (args: string[], options: { home: { root: string }; env?: Record<string, string> }): Promise<CliResult> =>
  finished(
    spawn(process.execPath, [join(projectRoot, 'bin', 'agentd.ts'), ...args], { env: cliEnv(options), stdio: ['ignore', 'pipe', 'pipe'] }),
  );

t.test(
  'lesson 39: without systemd it says what is missing, and the same commands work on a supervisor that stands alone',
  { skip },
  async (t) => {
    await using service = cliService({ 'config.yaml': 'dashboard: { port: 0 }\n' });
    const tried = await withoutSystemd(['service', 'install'], service.home);
    t.match(tried, {
      code: 1,
      stderr: /cannot be installed as a service: (this is a container without systemd|process 1 is .*, not systemd|this WSL)/,
      stdout: /^Started without a service manager \(supervisor \d+\): it outlives this terminal/,
    });
    const { supervisor } = JSON.parse((await service.agent('status', '--json')).stdout) as Status;
    t.match(tried.stdout, `supervisor ${supervisor.pid}`);
    t.match(
      await withoutSystemd(['gateway', 'install', '--json'], service.home),
      { code: 1, stdout: /"installed":false.*"started":false/ },
      'the same service',
    );
    t.match(errorOf(await withoutSystemd(['service', 'status', '--json'], service.home)), { code: 'SERVICE_UNUSABLE' });
    t.match(errorOf(await withoutSystemd(['service', 'uninstall', '--json'], service.home)), { code: 'SERVICE_UNUSABLE' });
    t.match(await service.agent('down'), { code: 0 });
  },
);

t.test('--dry-run prints the file and the commands, and writes nothing', async (t) => {
  using home = testHome();
  const before = readdirSync(home.root, { recursive: true, encoding: 'utf8' }).toSorted();
  const { code, stdout } = await cli(['service', 'install', '--dry-run'], { home });
  t.equal(code, 0);
  t.match(stdout, process.platform === 'darwin' ? /<key>ProgramArguments/ : /^ExecStart=\/.*\/node .*agentd\.ts$/m);
  t.match(stdout, `AGENT_HOME=${home.root}`);
  t.same(readdirSync(home.root, { recursive: true, encoding: 'utf8' }).toSorted(), before);
});

t.test('the supervisor leaves with 78 when a restart cannot help', async (t) => {
  using home = testHome();
  const file = join(dirname(home.root), 'a-file');
  writeFileSync(file, '');
  t.match(await agentd([], { home: { root: file } }), { code: 78, stderr: /cannot use .*a-file: it is not a directory/ });
  await using service = cliService({ 'config.yaml': 'dashboard: { port: 0 }\n' });
  t.match(await service.agent('up'), { code: 0 });
  t.match(await agentd([], { home: service.home }), { code: 78, stderr: /a supervisor \(process \d+\) already runs/ });
  // launchd starts everything again but success.
  t.match(await agentd([], { home: service.home, env: { XPC_SERVICE_NAME: 'ai.agent.agent-service' } }), { code: 0 });
});

t.test('so does `agent up --foreground`, whose restarts a container decides on; a file stands where profiles/ belongs', async (t) => {
  using home = testHome();
  home.write('profiles', 'x');
  const { code, stdout, stderr } = await cli(['up', '--foreground', '--json'], { home });
  t.same({ code, stdout }, { code: 78, stdout: '' });
  t.match(JSON.parse(stderr), { error: { code: 'HOME_UNUSABLE', message: /profiles: it is not a directory/, fix: /^move it away: mv / } });
  const background = await cli(['up', '--json'], { home });
  t.equal(background.code, 1);
  t.match(JSON.parse(background.stderr), {
    error: { code: 'START_FAILED', message: /profiles: it is not a directory/, fix: /^move it away: mv / },
  });
});

t.test('the entry can be asked whether it would run', async (t) => {
  using home = testHome();
  t.match(await agentd(['--check'], { home }), { code: 0, stderr: '' });
  const file = join(dirname(home.root), 'a-file');
  writeFileSync(file, '');
  t.match(await agentd(['--check'], { home: { root: file } }), { code: 78, stderr: /cannot use/ });
});

t.test('the file that launchd opens for our output is emptied when it has grown too large', async (t) => {
  using home = testHome();
  const file = home.write('launchd.log', 'a line\n');
  const fd = openSync(file, 'r+');
  t.teardown(() => closeSync(fd));
  cutOwnOutput(fd);
  t.equal(statSync(file).size, 7, 'a small one stays');
  truncateSync(file, limits.logs.fileMaxBytes + 1);
  cutOwnOutput(fd);
  t.equal(statSync(file).size, 0);
  cutOwnOutput(1_000_000);
  t.ok(existsSync(file), 'a descriptor that is closed is none of its business');
});
