/** The unit as text, the time a stop may take, who manages us, what PATH is recorded, when a sweep may kill. */
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { homeOfUnit } from '../../bin/recordedHome.ts';
import { managedBy } from '../../bin/service/managedBy.ts';
import { recordedPath } from '../../bin/service/plan.ts';
import { nodeIsNewEnough } from '../../bin/service/selfCheck.ts';
import { stopBudgetMs } from '../../bin/service/stopBudget.ts';
import { slotSpecs } from '../../bin/slotSpecs.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import type { ServicePlan } from '../../state/servicePlan.ts';
import { isTrueStop } from '../../systemd/sweep.ts';
import { readUnit, unitDrift, unitText } from '../../systemd/unit.ts';
import { testHome } from '../harness/home.ts';

const plan: ServicePlan = {
  scope: 'user',
  node: '/opt/node/bin/node',
  entry: '/opt/agent/dist/bin/agentd.js',
  sweep: '/opt/agent/dist/bin/sweep.js',
  home: '/home/ada/.agent',
  path: '/usr/local/bin:/usr/bin',
  stopMs: 271_000,
  user: { name: 'ada', uid: 1000, gid: 1000, home: '/home/ada' },
};
const features = { notify: true, version: 252 };
const settings = (text: string) => text.split('\n').filter((line) => /^\w+=/.test(line));

t.test('lesson 6: the codes of the contract are the codes of the unit', async (t) => {
  const unit = settings(unitText(plan, features));
  for (const line of [
    'Restart=always',
    `RestartForceExitStatus=${exitCodes.restart}`,
    `RestartPreventExitStatus=${exitCodes.ok} ${exitCodes.config}`,
    `SuccessExitStatus=${exitCodes.restart}`,
    'StartLimitIntervalSec=60',
    'StartLimitBurst=60',
  ])
    t.ok(unit.includes(line), line);
});

t.test('re-adoption, one out-of-memory worker, own cgroups and the longest stop are provided for', async (t) => {
  const unit = settings(unitText(plan, features));
  for (const line of [
    'Type=notify',
    'NotifyAccess=all',
    'WatchdogSec=120',
    'KillMode=process',
    'OOMPolicy=continue',
    'Delegate=yes',
    'TimeoutStopSec=271',
    'UMask=0077',
  ])
    t.ok(unit.includes(line), line);
  t.ok(unit.some((line) => /^ExecStartPre|--replace/.test(line)) === false, 'no take-over of a running one');
});

t.test('what this systemd lacks is left out', async (t) => {
  t.notMatch(unitText(plan, features), /DelegateSubgroup/);
  t.match(unitText(plan, { ...features, version: 257 }), /^DelegateSubgroup=supervisor$/m);
  const silent = unitText(plan, { ...features, notify: false });
  t.match(silent, /^Type=exec$/m);
  t.notMatch(silent, /WatchdogSec|NotifyAccess/);
});

t.test('the system variant says whom it runs as, and waits for its mounts', async (t) => {
  const unit = settings(unitText({ ...plan, scope: 'system' }, features));
  for (const line of [
    'User=ada',
    'Group=1000',
    'Environment="HOME=/home/ada"',
    'RequiresMountsFor=/home/ada/.agent',
    'WantedBy=multi-user.target',
  ])
    t.ok(unit.includes(line), line);
});

t.test('a unit is read back as it was written, whatever the paths hold', async (t) => {
  const odd = {
    ...plan,
    home: '/home/ada/my "odd" home: 100% $HOME \\o',
    entry: "/opt/agent's $code/agentd.js",
    path: '/usr/bin:/opt/50%/bin',
  };
  t.same(readUnit(unitText(odd, features)), { home: odd.home, path: odd.path, program: [odd.node, odd.entry], user: undefined });
  t.same(unitDrift(unitText(plan, features), unitText(plan, features)), []);
});

t.test('the stop may take the longest drain of each tier, one tier after the other', async (t) => {
  const { stopMarginMs, stopMinMs } = limits.service;
  const slot = (tier: number, drainMs: number, termMs = 5_000) => ({ tier, drainMs, termMs });
  const ladder = (drainMs: number, termMs = 5_000) => drainMs + 2_000 + termMs + limits.worker.killMs;
  t.equal(stopBudgetMs([slot(2, 20_000), slot(2, 90_000), slot(1, 180_000)]), ladder(90_000) + ladder(180_000) + stopMarginMs);
  t.equal(stopBudgetMs([slot(2, 0, 600_000)]), ladder(0, 600_000) + stopMarginMs, 'a sidecar with a long grace counts');
  t.equal(stopBudgetMs([]), stopMinMs);
  using home = testHome();
  const usual = stopBudgetMs(slotSpecs(home, {}, {}));
  const longer = stopBudgetMs(slotSpecs(home, { supervisor: { workers: { agent: { drain_ms: 600_000 } } } }, {}));
  t.equal(longer - usual, 600_000 - limits.worker.drainBusyMs, 'as configured');
});

t.test('a sweep kills only when nothing is started again', async (t) => {
  const table: { given: [Parameters<typeof isTrueStop>[0], boolean | undefined]; want: boolean; name: string }[] = [
    { name: 'systemctl stop', given: [{ SERVICE_RESULT: 'success', EXIT_CODE: 'exited', EXIT_STATUS: '75' }, true], want: true },
    {
      name: 'a stop that ran out of time',
      given: [{ SERVICE_RESULT: 'timeout', EXIT_CODE: 'killed', EXIT_STATUS: 'KILL' }, true],
      want: true,
    },
    {
      name: 'the same, and systemd does not answer',
      given: [{ SERVICE_RESULT: 'timeout', EXIT_CODE: 'killed', EXIT_STATUS: 'KILL' }, undefined],
      want: true,
    },
    { name: 'agent down', given: [{ SERVICE_RESULT: 'success', EXIT_CODE: 'exited', EXIT_STATUS: '0' }, false], want: true },
    { name: 'a configuration error', given: [{ SERVICE_RESULT: 'exit-code', EXIT_CODE: 'exited', EXIT_STATUS: '78' }, false], want: true },
    { name: 'SIGKILL', given: [{ SERVICE_RESULT: 'signal', EXIT_CODE: 'killed', EXIT_STATUS: 'KILL' }, false], want: false },
    {
      name: 'SIGKILL, and systemd does not answer',
      given: [{ SERVICE_RESULT: 'signal', EXIT_CODE: 'killed', EXIT_STATUS: 'KILL' }, undefined],
      want: false,
    },
    { name: 'the watchdog', given: [{ SERVICE_RESULT: 'watchdog', EXIT_CODE: 'killed', EXIT_STATUS: 'ABRT' }, false], want: false },
    {
      name: 'a start that ran out of time',
      given: [{ SERVICE_RESULT: 'timeout', EXIT_CODE: 'killed', EXIT_STATUS: 'TERM' }, false],
      want: false,
    },
    { name: 'restart me', given: [{ SERVICE_RESULT: 'success', EXIT_CODE: 'exited', EXIT_STATUS: '75' }, false], want: false },
    { name: 'a crash', given: [{ SERVICE_RESULT: 'exit-code', EXIT_CODE: 'exited', EXIT_STATUS: '1' }, false], want: false },
  ];
  for (const { name, given, want } of table) t.equal(isTrueStop(...given), want, name);
});

t.test('who manages us is what the manager told this very process', async (t) => {
  const self = { pid: 100, ppid: 50 };
  t.equal(managedBy({ INVOCATION_ID: 'a', SYSTEMD_EXEC_PID: '100' }, self), 'systemd');
  t.equal(managedBy({ INVOCATION_ID: 'a', SYSTEMD_EXEC_PID: '7' }, self), 'none', 'a shell in a terminal that is a unit');
  t.equal(managedBy({ XPC_SERVICE_NAME: 'ai.agent' }, self), 'launchd');
  t.equal(managedBy({ XPC_SERVICE_NAME: '0' }, self), 'none');
  t.equal(managedBy({ container: 'docker' }, { pid: 11, ppid: 1 }), 'container');
});

t.test('the recorded PATH keeps what stays and ends with what every system has', async (t) => {
  using home = testHome();
  const dir = join(dirname(home.root), 'tools');
  mkdirSync(join(dir, '.local', 'bin'), { recursive: true });
  const path = recordedPath(`relative:/usr/bin:/usr/bin/:/nonexistent:/x/node_modules/.bin:/root/.npm/_npx/1/node_modules/.bin:/tmp`, {
    home: dir,
  });
  const parts = path.split(':');
  t.equal(parts[0], '/usr/bin');
  t.equal(parts.at(-1), join(dir, '.local', 'bin'));
  t.equal(new Set(parts).size, parts.length, 'nothing twice');
  t.notOk(parts.some((part) => /node_modules|nonexistent|relative|^\/tmp$/.test(part)));
});

t.test('the oldest Node that runs the product is told from its elders', async (t) => {
  for (const version of ['v24.12.0', 'v24.21.0', 'v26.0.0']) t.ok(nodeIsNewEnough(version), version);
  for (const version of ['v24.11.9', 'v22.20.0', 'v20.1.0']) t.notOk(nodeIsNewEnough(version), version);
});

t.test('the home of a system service is used by the user it runs as and by root, and by no one else', async (t) => {
  const unit = readUnit(unitText({ ...plan, scope: 'system' }, features));
  t.equal(homeOfUnit(unit, ['ada']), plan.home);
  t.equal(homeOfUnit(unit, ['root', 'ada']), plan.home);
  t.equal(homeOfUnit(unit, ['bob']), undefined);
  t.equal(homeOfUnit(unit, ['root', undefined]), plan.home);
  t.equal(homeOfUnit({ ...unit, user: undefined }, ['bob']), undefined);
});

t.test('the bootstrap state of the gateway is recorded in the unit, and read back', async (t) => {
  const text = unitText({ ...plan, bootstrap: 'running' }, features);
  t.match(text, /^Environment="AGENT_GATEWAY_BOOTSTRAP_STATE=running"$/m);
  t.equal(readUnit(text).bootstrap, 'running');
  t.equal(readUnit(unitText(plan, features)).bootstrap, undefined);
});
