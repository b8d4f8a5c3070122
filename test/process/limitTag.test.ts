/** Process trees that clear their environment and leave their group are found by the limit they inherit. */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { hexId } from '../../base/ids.ts';
import { limitOf, limitOfFamily, limitOfTag, tagCommand } from '../../state/limitTag.ts';
import { killTag, processesOfFamily, processesOfTag } from '../../state/marks.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

const VARIABLE = 'AGENT_TEST_TAG';

/** Starts a daemon that forgets everything it was given but a file for its pid. */
async function daemonOf(tag: string, home: ReturnType<typeof testHome>): Promise<number> {
  const file = join(home.root, hexId(8));
  const shell = `env -i setsid -f /bin/sh -c 'echo $$ > ${file}.new; mv ${file}.new ${file}; exec sleep 300'`;
  const command = tagCommand(tag, '/bin/sh', ['-c', shell]);
  execFileSync(command.file, command.args, { env: { PATH: process.env.PATH, [VARIABLE]: tag }, stdio: 'ignore', timeout: 60_000 });
  const pid = await until('the daemon runs', () => {
    try {
      return Number(readFileSync(file, 'utf8'));
    } catch {
      return false;
    }
  });
  t.teardown(() => startTimeOf(pid) !== undefined && process.kill(pid, 'SIGKILL'));
  return pid;
}

t.test('a daemon that cleared its environment is found by tag and by family, and ends with its tree alone', async (t) => {
  using home = testHome();
  const family = hexId(8);
  const [first, second] = [`${family}.1`, `${family}.2`];
  const daemon = await daemonOf(first, home);
  const other = await daemonOf(second, home);
  t.notMatch(readFileSync(`/proc/${daemon}/environ`, 'utf8'), first, 'its environment says nothing');
  t.same(
    processesOfTag(VARIABLE, first).map(({ pid }) => pid),
    [daemon],
  );
  t.same(new Set(processesOfFamily(VARIABLE, family).map(({ pid }) => pid)), new Set([daemon, other]));
  t.equal(await killTag(VARIABLE, first), true);
  t.same(
    [daemon, other].map((pid) => startTimeOf(pid) !== undefined),
    [false, true],
  );
  t.equal(await killTag(VARIABLE, second), true);
  t.equal(startTimeOf(other), undefined);
});

t.test('a tagged program that runs tagged programs itself gives them limits of their own', async (t) => {
  const nested = `import { limitOf, tagCommand } from ${JSON.stringify(join(projectRoot, 'state/limitTag.ts'))};
    import { execFileSync } from 'node:child_process';
    const { file, args } = tagCommand('b.1', 'sh', ['-c', 'grep realtime.timeout /proc/self/limits']);
    console.log(String(limitOf('self')), /(\\d+)/.exec(execFileSync(file, args, { encoding: 'utf8' }))[1]);`;
  const { file, args } = tagCommand('a.1', process.execPath, ['--input-type=module', '-e', nested]);
  const [outer, inner] = execFileSync(file, args, { encoding: 'utf8', timeout: 60_000 }).trim().split(' ').map(BigInt) as [bigint, bigint];
  t.same(
    [limitOfTag('a.1')(outer), limitOfTag('b.1')(inner), limitOfFamily('b')(inner), limitOfTag('a.1')(inner), inner < outer],
    [true, true, true, false, true],
  );
  t.equal(limitOf('self'), undefined, 'the service itself has none');
});

t.test('the pid, the arguments and the exit code of a tagged command are its own', async (t) => {
  const { file, args } = tagCommand('a.1', 'sh', ['-c', 'echo $$ "$0" "$1"; exit 7', '--flag', 'two words']);
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  const code = await new Promise((resolve) => child.once('close', resolve));
  t.same([text, code], [`${child.pid} --flag two words\n`, 7]);
});
