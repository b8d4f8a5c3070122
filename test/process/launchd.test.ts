/** The property list through two parsers, and the installer against a launchctl that lies as the real one does. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'plist';
import t, { type Test } from 'tap';
import { openLaunchd } from '../../launchd/installer.ts';
import { LABEL, plistText, readPlist } from '../../launchd/plist.ts';
import type { ServicePlan, ServiceStep } from '../../state/servicePlan.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { projectRoot } from '../harness/worker.ts';

const planOf = (home: string, scope: ServicePlan['scope'] = 'user'): ServicePlan => ({
  scope,
  node: '/opt/node/bin/node',
  entry: '/opt/agent & co/dist/bin/agentd.js',
  sweep: '/opt/agent & co/dist/bin/sweep.js',
  home: join(home, '.agent'),
  path: '/usr/local/bin:/usr/bin',
  stopMs: 271_000,
  user: { name: 'ada', uid: 501, gid: 20, home },
});

t.test('the property list carries the contract of the unit, for an agent and for a daemon', async (t) => {
  const agent = parse(await plistText(planOf('/Users/ada'))) as Record<string, unknown>;
  t.same(agent, {
    Label: LABEL,
    ProgramArguments: ['/opt/node/bin/node', '/opt/agent & co/dist/bin/agentd.js'],
    WorkingDirectory: '/Users/ada/.agent',
    EnvironmentVariables: {
      AGENT_HOME: '/Users/ada/.agent',
      PATH: '/usr/local/bin:/usr/bin',
      NODE_COMPILE_CACHE: '/Users/ada/.agent/cache/compile',
    },
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 1,
    AbandonProcessGroup: true,
    ExitTimeOut: 271,
    ProcessType: 'Interactive',
    Umask: 0o077,
    StandardOutPath: '/Users/ada/.agent/logs/launchd.log',
    StandardErrorPath: '/Users/ada/.agent/logs/launchd.log',
  });
  const daemon = parse(await plistText(planOf('/Users/ada', 'system'))) as Record<string, unknown>;
  t.match(daemon, { UserName: 'ada', EnvironmentVariables: { HOME: '/Users/ada', USER: 'ada', LOGNAME: 'ada' } });
});

t.test('another parser reads the same', async (t) => {
  const text = await plistText(planOf('/Users/ada'));
  const script = 'import sys, plistlib, json; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';
  const python = ['/usr/bin/python3', '/usr/local/bin/python3'].find((file) => existsSync(file)) ?? 'python3';
  const read = JSON.parse(execFileSync(python, ['-c', script], { input: text, encoding: 'utf8' })) as unknown;
  t.same(read, parse(text));
  t.same(await readPlist(text), {
    home: '/Users/ada/.agent',
    path: '/usr/local/bin:/usr/bin',
    program: ['/opt/node/bin/node', '/opt/agent & co/dist/bin/agentd.js'],
    user: undefined,
  });
  t.equal(await readPlist('no property list'), undefined);
});

/** A Mac of that user, as far as launchctl shows it. */
function mac(t: Test, home: TestHome, domains = 'gui/501 user/501') {
  const dir = join(dirname(home.root), 'launchctl');
  const bin = join(dir, 'bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(join(projectRoot, 'test/fakes/launchctl'), join(bin, 'launchctl'));
  const before = { ...process.env };
  Object.assign(process.env, { PATH: `${bin}:${process.env.PATH}`, LAUNCHCTL_DIR: dir, LAUNCHCTL_DOMAINS: domains });
  t.teardown(() => Object.assign(process.env, { PATH: before.PATH }));
  const plan = planOf(dirname(home.root));
  const steps: ServiceStep[] = [];
  const manager = openLaunchd('user', plan.user);
  return {
    plan,
    manager,
    steps,
    tell: (step: ServiceStep) => void steps.push(step),
    answers: (...lines: string[]) => writeFileSync(join(dir, 'answers'), lines.map((line) => `${line}\n`).join('')),
    calls: () => readFileSync(join(dir, 'calls'), 'utf8').trim().split('\n'),
    forget: () => writeFileSync(join(dir, 'calls'), ''),
  };
}

t.test('it installs, sees the process, changes nothing the second time, and is gone after uninstall', async (t) => {
  using home = testHome();
  const { manager, plan, tell, steps, calls, forget } = mac(t, home);
  await manager.register(plan, tell);
  await manager.start(tell);
  t.same(
    steps.map(({ did }) => did),
    ['wrote', 'ran', 'ran'],
  );
  t.same(await manager.state(await manager.text(plan)), {
    installed: true,
    file: manager.file,
    enabled: true,
    active: true,
    state: 'running',
    pid: 4711,
    restarts: null,
    linger: null,
    home: plan.home,
    drift: [],
  });
  forget();
  await manager.register(plan, tell);
  await manager.start(tell);
  t.notOk(
    calls().some((call) => /^boot/.test(call)),
    'the running job is left alone',
  );
  await manager.register({ ...plan, path: '/usr/bin' }, tell);
  t.ok(calls().includes(`bootout gui/501/${LABEL}`), 'a changed one is registered anew');
  await manager.start(tell);
  await manager.remove(tell);
  t.notOk(existsSync(manager.file));
  t.match(await manager.state(), { installed: false, active: false, pid: null });
});

t.test('lesson 5: a transient error of launchctl is tried again, and the job is seen before anything is called done', async (t) => {
  using home = testHome();
  const { manager, plan, tell, steps, answers } = mac(t, home);
  await manager.register(plan, tell);
  answers('bootstrap 5', 'bootstrap 5', 'bootstrap 5');
  await manager.start(tell);
  t.match(steps.at(-1), { did: 'ran', what: /^launchctl bootstrap/, detail: /at try \d/ });
  t.match(await manager.state(), { active: true, pid: 4711 });
});

t.test('lesson 5: an error that stays is said, with what launchctl said', async (t) => {
  using home = testHome();
  const { manager, plan, tell, answers } = mac(t, home);
  await manager.register(plan, tell);
  answers(...Array.from({ length: 40 }, () => 'bootstrap 5'));
  await t.rejects(manager.start(tell), { code: 'SERVICE_FAILED', message: /launchctl bootstrap .* ended with 5/ });
});

t.test('where the graphical domain takes nothing, as over ssh, the domain of the user does', async (t) => {
  using home = testHome();
  const { manager, plan, tell, steps } = mac(t, home, 'user/501');
  await manager.register(plan, tell);
  await manager.start(tell);
  t.match(steps.at(-1), { what: `launchctl bootstrap user/501 ${manager.file}` });
});
