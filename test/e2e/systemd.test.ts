/** The service under a real systemd, as a user has it and as a machine has it. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { agentWords, startSystemd, whyNoSystemd, type Ran, type Systemd } from '../harness/systemd.ts';
import { until } from '../harness/until.ts';

t.setTimeout(280_000);

const reason = whyNoSystemd();
const skip = reason !== undefined && !process.env.CI ? reason : false;
const UNIT = 'agent-service.service';

interface Variant {
  systemd: Systemd;
  /** `agent …` as the one who installs it. */
  agent(...args: string[]): Promise<Ran>;
  systemctl(...args: string[]): Promise<string>;
  status(): Promise<Status>;
  property(name: string): Promise<string>;
  unitFile: string;
  cgroup(): Promise<string>;
}

const pids = ({ workers }: Status): [string, number][] =>
  workers.flatMap(({ slot, pid, state }) => (pid !== null && state === 'ready' ? [[slot, pid] as [string, number]] : []));

/** As it is shown: the exit code is not 0 while a slot is on its way. */
async function statusOf({ agent }: Pick<Variant, 'agent'>): Promise<Status> {
  return JSON.parse((await agent('status', '--json')).stdout) as Status;
}

async function settled(variant: Variant, what: string, wanted: (status: Status) => boolean = () => true): Promise<Status> {
  return until(what, async () => {
    const status = await variant.status();
    return status.workers.every(({ desired, state }) => desired !== 'up' || state === 'ready') && wanted(status) && status;
  });
}

/** What both variants promise, in the order in which a user would meet it. */
async function promises(t: Test, variant: Variant): Promise<void> {
  const { systemd, agent, systemctl, property, unitFile } = variant;

  await t.test('systemd finds nothing to say about the unit', async (t) => {
    const { stdout, stderr } = await systemd.run(['systemd-analyze', 'verify', unitFile]);
    t.same(
      `${stdout}${stderr}`.split('\n').filter((line) => line.includes(UNIT)),
      [],
    );
    t.match(await systemctl('status', '--no-pager', UNIT), /Status: "3 of 3 slots ready"/);
  });

  await t.test('a supervisor killed with SIGKILL is started again and takes its workers over', async (t) => {
    const before = await settled(variant, 'every slot is ready');
    await systemd.kill(before.supervisor.pid, 'SIGKILL');
    const after = await settled(variant, 'the next supervisor is there', ({ supervisor }) => supervisor.pid !== before.supervisor.pid);
    t.same(pids(after), pids(before), 'no worker was started again');
    t.equal(after.supervisor.adopted, 3);
    t.ok(after.workers.filter(({ pid }) => pid !== null).every(({ adopted }) => adopted));
    t.equal(await property('NRestarts'), '1');
    t.equal(after.supervisor.managed_by, 'systemd');
  });

  await t.test('the cgroup is the own one of the service, to make sub-groups in', async (t) => {
    const group = join(await variant.cgroup(), 'own');
    t.match(await systemd.run(['setpriv', '--reuid=ada', '--regid=ada', '--init-groups', 'sh', '-c', `mkdir ${group} && rmdir ${group}`]), {
      code: 0,
    });
  });

  await t.test('lesson 4: a killed worker is started again by the supervisor, and systemd does nothing', async (t) => {
    const [restarts, main] = [await property('NRestarts'), await property('MainPID')];
    const before = await settled(variant, 'ready for a second', ({ workers }) =>
      workers.every(({ since, state }) => state !== 'ready' || Date.now() - Date.parse(since) > 1_000),
    );
    const [, pid] = pids(before).find(([slot]) => slot === 'cron')!;
    await systemd.kill(pid, 'SIGKILL');
    await settled(variant, 'cron is back', (status) => pids(status).some(([slot, now]) => slot === 'cron' && now !== pid));
    t.same([await property('NRestarts'), await property('MainPID')], [restarts, main]);
  });

  await t.test('lesson 6: whoever sends SIGTERM to the supervisor does not end the service; `agent down` does', async (t) => {
    const before = await settled(variant, 'every slot is ready');
    await systemd.kill(before.supervisor.pid, 'SIGTERM');
    await settled(variant, 'it is back', ({ supervisor }) => supervisor.pid !== before.supervisor.pid);
    t.match(await agent('down'), { code: 0 });
    await until('the unit is down', async () => (await property('ActiveState')) === 'inactive');
    t.equal(await property('Result'), 'success');
    t.match(await agent('up'), { code: 0 });
    t.match(await settled(variant, 'it is up'), { supervisor: { managed_by: 'systemd' } });
    t.equal(await property('ActiveState'), 'active');
  });

  await t.test('a stop leaves nothing of its cgroup, also not what has left its session and ignores SIGTERM', async (t) => {
    const cgroup = await variant.cgroup();
    const stubborn = `trap "" TERM; echo $$ > /tmp/stray; while :; do sleep 1; done`;
    const asAda = 'setpriv --reuid=ada --regid=ada --init-groups';
    await systemd.must(['sh', '-c', `echo $$ > ${cgroup}/cgroup.procs; exec ${asAda} setsid --fork sh -c '${stubborn}' > /dev/null 2>&1`]);
    const pid = await until('the stray is there', async () => Number(await systemd.must(['cat', '/tmp/stray'])));
    const before = await settled(variant, 'every slot is ready');
    await systemctl('stop', UNIT);
    t.not((await systemd.run(['test', '-d', `/proc/${pid}`])).code, 0, 'the stray is gone');
    for (const [slot, worker] of pids(before)) t.not((await systemd.run(['test', '-d', `/proc/${worker}`])).code, 0, slot);
    t.equal(await property('ActiveState'), 'inactive');
    t.match(await agent('up'), { code: 0 }, 'and it starts again');
  });

  await t.test('lesson 6: a unit that somebody changed is found, named line by line, and repaired', async (t) => {
    await systemd.must(['sed', '-i', 's/^Restart=.*/Restart=on-failure/; /^RestartForceExitStatus/d', unitFile]);
    const drifted = await agent('service', 'status', ...scopeOf(variant), '--json');
    t.equal(drifted.code, 1);
    t.same((JSON.parse(drifted.stdout) as { drift: string[] }).drift, [
      '- Restart=on-failure',
      '+ Restart=always',
      '+ RestartForceExitStatus=75',
    ]);
    t.match(await agent('service', 'doctor', ...scopeOf(variant)), { code: 1, stdout: /RestartForceExitStatus/ });
    t.match(await agent('service', 'doctor', '--fix', ...scopeOf(variant)), { code: 0 });
    t.match(await agent('service', 'status', ...scopeOf(variant)), { code: 0, stdout: /up to date +yes/ });
  });
}

const scopeOf = ({ unitFile }: Variant): string[] => (unitFile.startsWith('/etc/') ? ['--system'] : []);

t.test('for one user, with linger', { skip }, async (t) => {
  await using systemd = await startSystemd();
  const { uid, home } = await systemd.addUser('ada');
  const env = { XDG_RUNTIME_DIR: `/run/user/${uid}` };
  const agent = (...args: string[]) => systemd.run(agentWords(...args), { user: 'ada' });
  const systemctl = (...args: string[]) => systemd.must(['systemctl', '--user', ...args], { user: 'ada', env });
  const variant: Variant = {
    systemd,
    agent,
    systemctl,
    status: () => statusOf({ agent }),
    property: async (name) => (await systemctl('show', `--property=${name}`, '--value', UNIT)).trim(),
    unitFile: join(home, '.config/systemd/user', UNIT),
    cgroup: async () => `/sys/fs/cgroup${(await systemctl('show', '--property=ControlGroup', '--value', UNIT)).trim()}`,
  };

  await t.test('it installs from a shell that has no bus, starts, and doing it again changes nothing', async (t) => {
    const first = await agent('service', 'install');
    t.match(first, { code: 0, stdout: /^The service runs \(supervisor \d+\) on \/home\/ada\/\.agent, as ada, and starts at boot\.$/m });
    for (const told of ['wrote', 'loginctl enable-linger ada', 'daemon-reload', `enable ${UNIT}`, `start ${UNIT}`])
      t.match(first.stderr, told);
    const again = await agent('service', 'install', '--json');
    const { steps } = JSON.parse(again.stdout) as { steps: { did: string; what: string }[] };
    t.same(
      steps.filter(({ did, what }) => did !== 'kept' && !what.endsWith('daemon-reload')),
      [],
    );
  });

  await promises(t, variant);

  await t.test('after a boot it runs without any login, and what was stopped stays stopped', async (t) => {
    const before = await settled(variant, 'every slot is ready');
    t.match(await agent('start', 'gateway'), { code: 0 });
    t.match(await agent('stop', 'gateway'), { code: 0 });
    await systemd.must(['systemctl', 'restart', `user@${uid}.service`]);
    const after = await settled(variant, 'it came up by itself', ({ supervisor }) => supervisor.pid !== before.supervisor.pid);
    t.equal(after.supervisor.managed_by, 'systemd');
    t.equal(after.workers.find(({ slot }) => slot === 'gateway')!.state, 'down');
  });

  await t.test('the service is removed, the data stay', async (t) => {
    t.match(await agent('service', 'uninstall'), { code: 0, stdout: /removed; \/home\/ada\/\.agent stays/ });
    t.not((await systemd.run(['test', '-e', variant.unitFile])).code, 0);
    t.equal((await systemd.run(['test', '-s', join(home, '.agent/state.db')])).code, 0);
    t.equal((await agent('status')).code, 3);
    t.match(await agent('service', 'uninstall'), { code: 0, stdout: /was not installed/ });
  });

  await t.test('a home with a name full of signs that mean something to systemd', async (t) => {
    const odd = `${home}/my "odd" home: 100% $HOME \\o`;
    const there = (...args: string[]) => systemd.run(agentWords(...args), { user: 'ada', env: { AGENT_HOME: odd } });
    t.match(await there('service', 'install'), { code: 0 });
    t.match(JSON.parse((await there('status', '--json')).stdout), { supervisor: { home: odd, managed_by: 'systemd' } });
    t.match(await there('service', 'uninstall'), { code: 0 });
  });

  await t.test('what could never boot is refused, with the reason', async (t) => {
    const into = (path: string) => systemd.run(agentWords('service', 'install', '--json'), { user: 'ada', env: { AGENT_HOME: path } });
    t.match((await into('/tmp/home')).stderr, /SERVICE_REFUSED.*temporary/);
    t.match((await into('/root/home')).stderr, /HOME_UNUSABLE.*cannot use \/root\/home/);
    t.match(await agent('service', 'install', '--system'), { code: 1, stderr: /installed by root — sudo agent service install --system/ });
  });

  await t.test('lesson 39: without a bus of the user it says what is missing and runs all the same, with the same commands', async (t) => {
    await systemd.addUser('bob');
    const bob = (...args: string[]) => systemd.run(agentWords(...args), { user: 'bob' });
    // A machine whose user managers cannot be had, as WSL without dbus-user-session.
    await systemd.must(['systemctl', 'mask', '--runtime', 'user@.service']);
    const tried = await bob('service', 'install');
    t.match(tried, { code: 1, stderr: /cannot be installed as a service: the user manager of bob/, stdout: /outlives this terminal/ });
    t.match(await bob('status'), { stdout: /supervisor \d+/ });
    t.match(await bob('down'), { code: 0 });
  });
});

t.test('for the machine, running as a user', { skip }, async (t) => {
  await using systemd = await startSystemd();
  const { home } = await systemd.addUser('ada');
  await systemd.must(['rm', '-rf', '/root/.agent']);
  // Root's own shell, as after `sudo -i`: HOME is /root, and nothing says AGENT_HOME.
  const agent = (...args: string[]) => systemd.run(agentWords(...args));
  const systemctl = (...args: string[]) => systemd.must(['systemctl', ...args]);
  const variant: Variant = {
    systemd,
    agent,
    systemctl,
    status: () => statusOf({ agent }),
    property: async (name) => (await systemctl('show', `--property=${name}`, '--value', UNIT)).trim(),
    unitFile: `/etc/systemd/system/${UNIT}`,
    cgroup: async () => `/sys/fs/cgroup${(await systemctl('show', '--property=ControlGroup', '--value', UNIT)).trim()}`,
  };

  await t.test('it installs for the one who called sudo', async (t) => {
    const installed = await systemd.run(agentWords('service', 'install', '--system'), { env: { SUDO_USER: 'ada' } });
    t.match(installed, { code: 0, stdout: /on \/home\/ada\/\.agent, as ada, and starts at boot/ });
    t.equal(await variant.property('User'), 'ada');
    const { supervisor } = await settled(variant, 'every slot is ready');
    t.equal((await systemd.must(['stat', '-c', '%U', `/proc/${supervisor.pid}`])).trim(), 'ada');
  });

  await t.test('lesson 28: the home stands in the unit, and commands of root find it there', async (t) => {
    const unit = await systemd.must(['cat', variant.unitFile]);
    t.match(unit, `Environment="AGENT_HOME=${home}/.agent"`);
    t.equal((await variant.status()).supervisor.home, `${home}/.agent`);
    t.not((await systemd.run(['test', '-e', '/root/.agent'])).code, 0, 'nothing was made in the home of root');
  });

  await promises(t, variant);

  await t.test('a configuration that no restart can change parks the unit instead of starting it again and again', async (t) => {
    await systemctl('stop', UNIT);
    await systemd.must(['chown', '-R', 'root', `${home}/.agent`]);
    t.not((await systemd.run(['systemctl', 'start', UNIT])).code, 0);
    t.same([await variant.property('ExecMainStatus'), await variant.property('ActiveState')], ['78', 'failed']);
    await systemd.must(['chown', '-R', 'ada', `${home}/.agent`]);
    await systemctl('start', UNIT);
  });

  await t.test('a supervisor that stands still is replaced by the watchdog, and its workers go on', async (t) => {
    const dropIn = `${variant.unitFile}.d/fast.conf`;
    await systemd.must([
      'sh',
      '-c',
      `mkdir -p ${variant.unitFile}.d && printf '[Service]\\nWatchdogSec=6\\nTimeoutAbortSec=2\\n' > ${dropIn}`,
    ]);
    await systemctl('daemon-reload');
    await systemctl('restart', UNIT);
    const before = await settled(variant, 'every slot is ready');
    await systemd.kill(before.supervisor.pid, 'SIGSTOP');
    const after = await settled(variant, 'the next supervisor is there', ({ supervisor }) => supervisor.pid !== before.supervisor.pid);
    t.same(pids(after), pids(before), 'no worker was started again');
    await systemd.must(['rm', '-r', `${variant.unitFile}.d`]);
    await systemctl('daemon-reload');
  });

  await t.test('lesson 13: one unit serves all profiles and lets the machine go down', async (t) => {
    await systemd.must([
      'sh',
      '-c',
      `mkdir -p ${home}/.agent/profiles/work && echo hi > ${home}/.agent/profiles/work/SOUL.md && chown -R ada ${home}/.agent`,
    ]);
    t.match(await agent('service', 'install', '--system'), { code: 0 });
    const units = await systemd.must([
      'sh',
      '-c',
      'ls /etc/systemd/system /home/ada/.config/systemd/user 2>/dev/null | grep -c "^agent" || true',
    ]);
    t.equal(units.trim(), '1');
    await settled(variant, 'every slot is ready');
    const startedAt = performance.now();
    await systemd.shutDown();
    t.ok(performance.now() - startedAt < 30_000, `the machine was off after ${Math.round(performance.now() - startedAt)} ms`);
  });
});
