/** Who is at the other end of a connection of this machine. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import { isOtherUser } from '../../state/peerUser.ts';

const uid = process.getuid!();
const other = uid + 1_000;
const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const row = (local: string, remote: string, state: string, owner: number) =>
  `   1: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${String(owner).padStart(5)}        0 77 1 0\n`;
/** 0x239F is 9119, 0x9C40 is 40000. */
const ports = { theirs: 40_000, ours: 9_119 };
const loopback6 = '0000000000000000FFFF00000100007F';

t.test('another user is told from this one and from root, by the end that asks', async (t) => {
  const cases = [
    { name: 'this user', given: row('0100007F:9C40', '0100007F:239F', '01', uid), want: false },
    { name: 'root', given: row('0100007F:9C40', '0100007F:239F', '01', 0), want: false },
    { name: 'another user', given: row('0100007F:9C40', '0100007F:239F', '01', other), want: true },
    { name: 'another user, half closed', given: row('0100007F:9C40', '0100007F:239F', '05', other), want: true },
    { name: 'another user, by an address of IPv6', given: row(`${loopback6}:9C40`, `${loopback6}:239F`, '01', other), want: true },
    {
      name: 'another user beside a connection of ours with the same ports',
      given: row('0200007F:9C40', '0100007F:239F', '01', uid) + row('0100007F:9C40', '0100007F:239F', '01', other),
      want: true,
    },
    { name: 'our own end is not theirs', given: row('0100007F:239F', '0100007F:9C40', '01', other), want: false },
    { name: 'a listener of another user', given: row('0100007F:9C40', '00000000:239F', '0A', other), want: false },
    { name: 'nothing known', given: '', want: false },
  ];
  for (const { name, given, want } of cases)
    t.equal(
      isOtherUser(ports, () => [head + given, '']),
      want,
      name,
    );
});

t.test('a connection of our own is not that of another user, as the system tells it', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ours = (server.address() as AddressInfo).port;
  const client = connect(ours, '127.0.0.1');
  await once(client, 'connect');
  t.equal(isOtherUser({ theirs: client.localPort!, ours }), false);
  client.destroy();
  server.close();
});
