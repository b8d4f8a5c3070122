/** What the supervisor says to systemd, heard at a real datagram socket; and nothing at all without one. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { openNotifier } from '../../systemd/notify.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';

const skip = !process.env.CI && !existsSync('/usr/bin/systemd-notify') ? 'missing Debian package: systemd' : false;

/** Listens as systemd does. Node has no datagram sockets: Python has. */
const LISTENER = `
import array, os, socket, sys
sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
sock.bind(sys.argv[1])
print('bound', flush=True)
while True:
    data, sent, _, _ = sock.recvmsg(4096, socket.CMSG_SPACE(64))
    # BARRIER=1 comes with a descriptor: whoever closes it has heard everything before.
    for _, _, numbers in sent: os.close(array.array('i', numbers)[0])
    print(data.decode().strip().replace('\\n', ' | '), flush=True)
`;

async function listen(path: string): Promise<{ said: string[]; child: ChildProcess }> {
  const child = spawn('python3', ['-c', LISTENER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const said: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
  await until('the socket is bound', () => said.includes('bound'));
  return { said, child };
}

t.test('readiness, one line of status, the beat of the main loop, and the stop arrive', { skip }, async (t) => {
  using home = testHome();
  const path = join(dirname(home.root), 'notify');
  const { said, child } = await listen(path);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    NOTIFY_SOCKET: path,
    WATCHDOG_USEC: '400000',
    WATCHDOG_PID: String(process.pid),
  };
  using notifier = openNotifier(env, () => '3 of 3 slots ready')!;
  t.same(Object.keys(env), ['PATH'], 'no child can speak in our name');
  notifier.ready('2 of 3\nslots ready');
  await until('it is ready', () => said.some((line) => /READY=1 \| STATUS=2 of 3 slots ready/.test(line)));
  await until('it beats', () => said.filter((line) => /WATCHDOG=1 \| STATUS=3 of 3 slots ready/.test(line)).length >= 2);
  notifier.stopping('draining');
  await until('it stops', () => said.some((line) => /STOPPING=1 \| STATUS=draining/.test(line)));
});

t.test('without systemd nothing is said, and a watchdog of somebody else is none of ours', async (t) => {
  t.equal(
    openNotifier({ WATCHDOG_USEC: '1000' }, () => ''),
    undefined,
  );
  t.equal(
    openNotifier({}, () => ''),
    undefined,
  );
  using quiet = openNotifier(
    { NOTIFY_SOCKET: '/nonexistent', WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' },
    () => t.fail('it beats') as never,
  )!;
  t.ok(quiet);
});
