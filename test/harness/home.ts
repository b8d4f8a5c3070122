/** A temporary AGENT_HOME that is gone after the test, and a free loopback port. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openHome, prepareHome, type Home } from '../../state/home.ts';

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
    [Symbol.dispose]: () => rmSync(dirname(home.root), { recursive: true, force: true }),
  });
}

/** A TCP port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
