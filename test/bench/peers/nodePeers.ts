/** The supervisors that run on Node: ours as it is packaged, pm2, and the floor. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { status as statusMethod } from '../../../ipc/contracts/supervisor.ts';
import { dial } from '../../../ipc/dial.ts';
import { openHome, prepareHome, readToken, type Home } from '../../../state/home.ts';
import { BASE_ENV, endWith, filesOf, foreground, pidFrom, runQuietly, type Peer } from './peer.ts';

/**
 * The whole product from its package, programs as `services:` of config.yaml. `--only` keeps its own
 * workers down; everything else of it runs: control socket, watchers, samples, snapshot, records, redaction.
 */
export function ours(packageRoot: string): Peer {
  const homeOf = (folder: string): Home => openHome(join(folder, 'home'));
  const environment = (home: Home) => ({ ...BASE_ENV, HOME: home.root, AGENT_HOME: home.root });
  return {
    name: 'agent',
    version: (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }).version,
    prepare(folder, workers) {
      const home = homeOf(folder);
      mkdirSync(home.root, { recursive: true, mode: 0o700 });
      prepareHome(home);
      const services = Object.fromEntries(workers.map(({ name, command: [command, ...args] }) => [name, { command, args }]));
      writeFileSync(home.config, JSON.stringify({ services }), { mode: 0o600 });
      writeFileSync(join(folder, 'names'), workers.map(({ name }) => name).join(','));
    },
    async start(folder) {
      const home = homeOf(folder);
      const env = environment(home);
      const names = readFileSync(join(folder, 'names'), 'utf8');
      const child = foreground([process.execPath, join(packageRoot, 'dist/bin/agentd.js'), '--only', names], {
        ...env,
        NODE_COMPILE_CACHE: join(packageRoot, '.compile'),
      });
      return {
        pid: child.pid!,
        env,
        status: [join(packageRoot, 'bin/agent'), 'status', '--json'],
        logs: (name) => filesOf(home.logs, (file) => file === `${name}.log` || file.startsWith(`${name}.log.`)),
        stop: () => endWith(child, 'SIGTERM'),
      };
    },
  };
}

/** Time until our control socket answers. */
export async function controlAnswers(folder: string): Promise<void> {
  const home = openHome(join(folder, 'home'));
  using control = await dial(home.run.supervisorSocket, { token: readToken(home) ?? '', slot: 'bench', startingMs: 10_000 });
  await control.call(statusMethod, {});
}

export function bareNode(): Peer {
  return {
    name: 'floor',
    version: process.version,
    prepare(folder, workers) {
      mkdirSync(join(folder, 'out'), { recursive: true });
      writeFileSync(join(folder, 'list.json'), JSON.stringify(workers.map(({ command }) => command)));
      writeFileSync(join(folder, 'names.json'), JSON.stringify(workers.map(({ name }) => name)));
    },
    async start(folder) {
      const script = join(import.meta.dirname, 'bareNode.cjs');
      const child = foreground([process.execPath, script, join(folder, 'list.json'), join(folder, 'out')], BASE_ENV);
      const names = JSON.parse(readFileSync(join(folder, 'names.json'), 'utf8')) as string[];
      return {
        pid: child.pid!,
        env: BASE_ENV,
        status: [process.execPath, '-e', '0'],
        logs: (name) => [join(folder, 'out', `${names.indexOf(name)}.log`)],
        stop: () => endWith(child, 'SIGTERM'),
      };
    },
  };
}

/** `missing`: why it could not be installed. */
export function pm2(program: string, missing?: string): Peer {
  const environment = (folder: string) => ({ ...BASE_ENV, HOME: folder, PM2_HOME: join(folder, 'pm2'), PM2_DISABLE_VERSION_CHECK: 'true' });
  return {
    name: 'pm2',
    version: '7.0.4',
    ...(missing ? { missing } : {}),
    prepare(folder, workers) {
      mkdirSync(join(folder, 'pm2'), { recursive: true });
      const apps = workers.map(({ name, command: [script, ...args] }) => ({
        name,
        script,
        args,
        interpreter: 'none',
        out_file: join(folder, `${name}.log`),
        error_file: join(folder, `${name}.err`),
        pmx: false,
        vizion: false,
      }));
      writeFileSync(join(folder, 'apps.json'), JSON.stringify({ apps }));
    },
    async start(folder) {
      const env = environment(folder);
      await runQuietly([process.execPath, program, 'start', join(folder, 'apps.json')], env);
      return {
        pid: await pidFrom(join(folder, 'pm2/pm2.pid')),
        env,
        status: [process.execPath, program, 'jlist'],
        logs: (name) => filesOf(folder, (file) => file.startsWith(name) && file.endsWith('.log')),
        stop: async () => void (await runQuietly([process.execPath, program, 'kill'], env)),
      };
    },
  };
}
