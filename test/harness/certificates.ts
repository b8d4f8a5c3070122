/** Certificates for TLS on loopback, made by openssl in a temporary folder: an authority, a server, a client. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificates extends Disposable {
  /** Path of a file in the folder: `ca.pem`, `server.pem`, `server.key`, `client.pem`, `client.key`, `locked.key`, `both.pem`. */
  path(name: string): string;
  read(name: string): Buffer;
}

/** Of `locked.key`. */
export const PASSWORD = 'correct horse battery';

export function makeCertificates(): Certificates {
  const dir = mkdtempSync(join(tmpdir(), 'agent-tls-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] });
  const path = (name: string) => join(dir, name);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...key, '-days', '2', '-subj', '/CN=test authority', '-keyout', 'ca.key', '-out', 'ca.pem');
  for (const [name, extension] of [
    ['server', 'subjectAltName=IP:127.0.0.1'],
    ['client', 'extendedKeyUsage=clientAuth'],
  ] as const) {
    writeFileSync(path(`${name}.ext`), extension);
    openssl('req', '-new', ...key, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`);
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`, '-out', `${name}.pem`];
    openssl('x509', '-req', '-in', `${name}.csr`, ...signed);
  }
  openssl('pkey', '-in', 'client.key', '-aes256', '-passout', `pass:${PASSWORD}`, '-out', 'locked.key');
  const read = (name: string) => readFileSync(path(name));
  writeFileSync(path('both.pem'), Buffer.concat([read('client.pem'), read('client.key')]));
  return { path, read, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}
