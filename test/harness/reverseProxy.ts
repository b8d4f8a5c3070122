/**
 * Real reverse proxies of Debian, each with the block of docs/reverse-proxy.md: only the port, the certificate
 * and the address of the dashboard are put in. What stands around it keeps them in the foreground and in one folder.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { groupAlive } from '../../state/processIdentity.ts';
import { requirePackage } from './debianPackage.ts';
import { until } from './until.ts';
import { projectRoot } from './worker.ts';

/** The name that the page uses. */
export const PROXY_NAME = 'agent.example.org';

export type ProxyKind = 'nginx' | 'caddy' | 'apache' | 'haproxy';

export interface Certificate extends Disposable {
  /** PEM. */
  ca: string;
  chain: string;
  key: string;
  /** Both in one file, as HAProxy wants them. */
  both: string;
}

export interface ReverseProxy extends AsyncDisposable {
  /** What it said. */
  output(): string;
}

export interface ProxyOptions {
  /** Where it takes https. */
  port: number;
  /** The port of the dashboard. */
  upstream: number;
  certificate: Certificate;
}

/** Self-signed, for the name of the page. */
export function makeCertificate(): Certificate {
  const dir = mkdtempSync(join(tmpdir(), 'agent-cert-'));
  const [chain, key, both] = ['chain.pem', 'key.pem', 'both.pem'].map((name) => join(dir, name)) as [string, string, string];
  const subject = ['-subj', `/CN=${PROXY_NAME}`, '-addext', `subjectAltName=DNS:${PROXY_NAME}`];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('/usr/bin/openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', chain], { stdio: 'pipe' });
  const ca = readFileSync(chain, 'utf8');
  writeFileSync(both, `${ca}${readFileSync(key, 'utf8')}`);
  return { ca, chain, key, both, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

interface Program {
  package: string;
  path: string;
  /** Exact texts of the block, each of which must be there, and what stands in their place. */
  puts(options: ProxyOptions): [string, string][];
  /** The whole file: the block, and what a system-wide configuration brings elsewhere. */
  whole(block: string, dir: string): string;
  args(file: string, dir: string): string[];
}

const LETSENCRYPT = `/etc/letsencrypt/live/${PROXY_NAME}`;

const programs: Record<ProxyKind, Program> = {
  nginx: {
    package: 'nginx',
    path: '/usr/sbin/nginx',
    puts: ({ port, upstream, certificate }) => [
      ['listen 443', `listen 127.0.0.1:${port}`],
      [`${LETSENCRYPT}/fullchain.pem`, certificate.chain],
      [`${LETSENCRYPT}/privkey.pem`, certificate.key],
      ['127.0.0.1:9119', `127.0.0.1:${upstream}`],
    ],
    whole(block, dir) {
      const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${dir}/${kind};`).join('\n');
      const user = process.getuid?.() === 0 ? 'user root;' : '';
      return `daemon off;\npid ${dir}/pid;\nworker_processes 1;\n${user}\nevents {}\nhttp {\naccess_log off;\n${temp}\n${block}\n}\n`;
    },
    args: (file, dir) => ['-p', dir, '-e', 'stderr', '-c', file],
  },
  caddy: {
    package: 'caddy',
    path: '/usr/bin/caddy',
    puts: ({ port, upstream, certificate }) => [
      [`${PROXY_NAME} {`, `${PROXY_NAME}:${port} {\n\tbind 127.0.0.1\n\ttls ${certificate.chain} ${certificate.key}`],
      ['127.0.0.1:9119', `127.0.0.1:${upstream}`],
    ],
    whole: (block) => `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${block}`,
    args: (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
  },
  apache: {
    package: 'apache2',
    path: '/usr/sbin/apache2',
    puts: ({ port, upstream, certificate }) => [
      ['*:443', `127.0.0.1:${port}`],
      [`${LETSENCRYPT}/fullchain.pem`, certificate.chain],
      [`${LETSENCRYPT}/privkey.pem`, certificate.key],
      ['127.0.0.1:9119', `127.0.0.1:${upstream}`],
    ],
    whole(block, dir) {
      const modules = ['mpm_event', 'authz_core', 'socache_shmcb', 'ssl', 'proxy', 'proxy_http'];
      const load = modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n');
      const user = process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : '';
      const listen = /<VirtualHost (127\.0\.0\.1:\d+)>/.exec(block)![1];
      const own = `ServerRoot ${dir}\nDefaultRuntimeDir ${dir}\nPidFile ${dir}/pid\nErrorLog ${dir}/output\nServerName localhost\nListen ${listen}`;
      return `${load}\n${user}\n${own}\n${block}\n`;
    },
    args: (file) => ['-f', file, '-DFOREGROUND'],
  },
  haproxy: {
    package: 'haproxy',
    path: '/usr/sbin/haproxy',
    puts: ({ port, upstream, certificate }) => [
      ['bind :443', `bind 127.0.0.1:${port}`],
      [`/etc/haproxy/${PROXY_NAME}.pem`, certificate.both],
      ['127.0.0.1:9119', `127.0.0.1:${upstream}`],
    ],
    whole: (block) => `global\n    maxconn 500\n${block}\n`,
    args: (file) => ['-db', '-f', file],
  },
};

/** Starts it; resolves when it answers. Throws with what it said, or with the package that is missing. */
export async function startReverseProxy(kind: ProxyKind, options: ProxyOptions): Promise<ReverseProxy> {
  const program = programs[kind];
  const path = await requirePackage(program.package, program.path);
  const block = filled(documented(kind), program.puts(options));
  const dir = mkdtempSync(join(tmpdir(), `agent-${kind}-`));
  const file = join(dir, 'config');
  mkdirSync(join(dir, 'home'));
  writeFileSync(file, program.whole(block, dir));
  const said = join(dir, 'output');
  const stderr = openSync(said, 'a');
  const child = spawn(path, program.args(file, dir), {
    cwd: dir,
    detached: true,
    stdio: ['ignore', 'ignore', stderr],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: join(dir, 'home') },
  });
  closeSync(stderr);
  const ended = once(child, 'exit');
  const proxy: ReverseProxy = {
    output: () => readFileSync(said, 'utf8'),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        process.kill(-child.pid!, 'SIGKILL');
        await ended;
      }
      await until(`the group of ${kind} is gone`, () => !groupAlive(child.pid!));
      rmSync(dir, { recursive: true, force: true });
    },
  };
  try {
    const serves = await until(`${kind} takes https`, async () => child.exitCode !== null || ((await handshakes(options)) ? 'yes' : false));
    if (serves !== 'yes') throw new Error(`${kind} ended with ${child.exitCode}`);
  } catch (cause) {
    const output = proxy.output();
    await proxy[Symbol.asyncDispose]();
    throw new Error(`${kind} did not start:\n${output}`, { cause });
  }
  return proxy;
}

/** The block of the page for this program. */
function documented(kind: ProxyKind): string {
  const page = readFileSync(join(projectRoot, 'docs', 'reverse-proxy.md'), 'utf8');
  const block = new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1];
  if (!block) throw new Error(`docs/reverse-proxy.md has no block for ${kind}`);
  return block;
}

function filled(block: string, puts: [string, string][]): string {
  return puts.reduce((text, [from, to]) => {
    if (text.split(from).length !== 2) throw new Error(`the block of docs/reverse-proxy.md does not have "${from}" once:\n${block}`);
    return text.replace(from, () => to);
  }, block);
}

function handshakes({ port, certificate: { ca } }: ProxyOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername: PROXY_NAME, ca });
    const answer = (yes: boolean) => {
      socket.destroy();
      resolve(yes);
    };
    socket.once('secureConnect', () => answer(true)).once('error', () => answer(false));
  });
}
