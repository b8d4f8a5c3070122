/** The network of a sandboxed session: only listed hosts, through the proxy; one loopback for all its commands. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { sandboxStage, stageUsers } from '../harness/sandboxStage.ts';

t.setTimeout(120_000);

async function site(t: Test, answer: string): Promise<{ port: number; hosts: string[]; server: Server }> {
  const hosts: string[] = [];
  const server = createServer((request, response) => {
    hosts.push(request.headers.host ?? '');
    response.end(answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => (server.closeAllConnections(), server.close()));
  return { port: (server.address() as { port: number }).port, hosts, server };
}

for (const user of stageUsers) {
  t.test(`commands reach a listed host and no other one (user: ${user})`, async (t) => {
    await using stage = await sandboxStage(user);
    const listed = await site(t, 'listed');
    const other = await site(t, 'other');
    const url = `http://127.0.0.1:${listed.port}`;
    const status = `curl -s -o /dev/null -m 10 -w '%{http_code}\\n'`;
    const proxied = '-x http://127.0.0.1:3128 --noproxy ""';
    const [plain, tunnel, refused, refusedTunnel, named, direct, forged] = await stage.run(
      [
        `curl -s -m 10 ${proxied} ${url}/`,
        `curl -s -m 10 -p ${proxied} ${url}/`,
        `${status} ${proxied} http://127.0.0.1:${other.port}/`,
        `curl -s -m 10 -p ${proxied} http://127.0.0.1:${other.port}/; echo "exit $?"`,
        `${status} ${proxied} http://localhost:${listed.port}/`,
        `curl -s -m 10 --noproxy '*' ${url}/; echo "exit $?"`,
        `curl -s -m 10 ${proxied} -H 'Host: elsewhere.example' ${url}/`,
      ],
      { level: 'workspace', network: 'allowlist', hosts: [`127.0.0.1:${listed.port}`] },
    );
    t.equal(plain!.data.output, 'listed');
    t.equal(tunnel!.data.output, 'listed');
    t.equal(refused!.data.output, '403\n');
    t.equal(refusedTunnel!.data.output, 'exit 56\n');
    t.equal(named!.data.output, '403\n', 'a name is not the address that is listed');
    t.equal(direct!.data.output, 'exit 7\n', 'there is no other way than the proxy');
    t.equal(forged!.data.output, 'listed');
    t.same(new Set(listed.hosts), new Set([`127.0.0.1:${listed.port}`]), 'the host that was checked is the one that is asked');
    t.same(other.hosts, []);
  });

  t.test(`a listed name that leads to this machine is refused (user: ${user})`, async (t) => {
    await using stage = await sandboxStage(user);
    const here = await site(t, 'here');
    // The system resolves every name below localhost to this machine.
    const rules = [`name.localhost:${here.port}`];
    const line = `curl -s -o /dev/null -m 10 -w '%{http_code}\\n' -x http://127.0.0.1:3128 --noproxy "" http://name.localhost:${here.port}/`;
    const [result] = await stage.run([line], { level: 'workspace', network: 'allowlist', hosts: rules });
    t.equal(result!.data.output, '403\n');
    t.same(here.hosts, []);
  });
}
