/** A registry of npm on loopback that holds one package, made of given files: what `npm exec` fetches from in a test. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestRegistry extends AsyncDisposable {
  /** For `.npmrc`. */
  address: string;
  /** Tarballs that were fetched. */
  fetched: string[];
}

export async function startRegistry(name: string, version: string, bin: string, program: string): Promise<TestRegistry> {
  const tarball = pack({ name, version, bin: { [bin]: 'server.js' } }, program);
  const fetched: string[] = [];
  const server = createServer((request, reply) => {
    const path = decodeURIComponent(request.url!);
    if (path.endsWith('.tgz')) {
      fetched.push(path);
      return reply.writeHead(200, { 'Content-Type': 'application/octet-stream' }).end(tarball);
    }
    if (path !== `/${name}`) return reply.writeHead(404, { 'Content-Type': 'application/json' }).end('{"error":"not_found"}');
    const dist = {
      tarball: `${address}${name}/-/package-${version}.tgz`,
      integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
    };
    const found = { name, 'dist-tags': { latest: version }, versions: { [version]: { name, version, bin: { [bin]: 'server.js' }, dist } } };
    return reply.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(found));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
  return {
    address,
    fetched,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function pack(manifest: object, program: string): Buffer {
  const dir = mkdtempSync(join(tmpdir(), 'agent-pack-'));
  try {
    mkdirSync(join(dir, 'package'));
    writeFileSync(join(dir, 'package', 'package.json'), JSON.stringify({ ...manifest, type: 'module' }));
    writeFileSync(join(dir, 'package', 'server.js'), `#!/usr/bin/env node\n${program}`, { mode: 0o755 });
    execFileSync('tar', ['-czf', join(dir, 'out.tgz'), '-C', dir, 'package']);
    return readFileSync(join(dir, 'out.tgz'));
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** A server of the smallest kind; `tools` as `tools/list` answers them. */
export const serverProgram = (tools: readonly object[]): string => `
import { createInterface } from 'node:readline';
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = method === 'initialize'
    ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'packed', version: '1' } }
    : method === 'tools/list' ? { tools: ${JSON.stringify(tools)} } : {};
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});
`;
