/** A temporary AGENT_HOME that is gone after the test, and a free loopback port. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ListenOptions, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openHome, prepareHome, type Home } from '../../state/home.ts';
import { homeIdOf, KEEPER, killOnce, processesOfHome, slotOfMark } from '../../state/marks.ts';

export interface TestHome extends Home, Disposable {
  write(relative: string, content: string): string;
}

export function testHome(files: Record<string, string> = {}): TestHome {
  const home = openHome(join(mkdtempSync(join(tmpdir(), 'agent-test-')), 'home'));
  prepareHome(home);
  const write = (relative: string, content: string) => {
    const path = join(home.root, relative);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  for (const [name, content] of Object.entries(files)) write(name, content);
  return Object.assign(home, {
    write,
    [Symbol.dispose]: () => {
      // Of a supervisor that the test killed.
      killOnce(processesOfHome(homeIdOf(home.root)).filter(({ value }) => slotOfMark(value) === KEEPER));
      rmSync(dirname(home.root), { recursive: true, force: true });
    },
  });
}

/** Below what systems give to connections and to listeners that ask for any port, and above what needs rights. */
const PORTS = { first: 20_000, count: 12_000 };

/**
 * A TCP port of 127.0.0.1 at which nobody listens, for this process until its end: no other test is given it, and no
 * system gives it to anybody by itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    if (!(await claimed(port))) continue;
    const server = createServer();
    if (!(await listening(server, { port, host: '127.0.0.1' }))) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** By a name that the kernel forgets with this process. Other systems have no such names: there, chance has to do. */
async function claimed(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const claim = createServer().unref();
  return listening(claim, { path: `\0agent-test-port-${port}` });
}

function listening(server: Server, where: ListenOptions): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(where, () => resolve(true));
  });
}
