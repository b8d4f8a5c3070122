/**
 * Installing a server of the catalogue: fetch its package into npm's cache, so that its first start is quick and a
 * failure is seen now, then write it into config.yaml. npm runs in a process group of its own, with a small environment.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { filterEnv } from '../base/envFilter.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { formatDuration } from '../base/time.ts';
import { addFromCatalog, catalogEntry, checkCatalogValues, packageSpec, readMcpServers, serverExists } from '../state/config/mcpServers.ts';
import type { ProfilePaths } from '../state/home.ts';
import { commonEnv } from '../services/manifest.ts';

interface Install {
  name: string;
  /** Fields that are no secrets. */
  values: Readonly<Record<string, string>>;
  enabled: boolean;
  /** Hears a line for each step. */
  say(line: string): void;
}

/** Errors: NOT_FOUND, INVALID_PARAMS, MCP_FAILED with npm's words; then nothing is written. */
export async function installServer(profile: ProfilePaths, { name, values, enabled, say }: Install): Promise<void> {
  const entry = catalogEntry(name);
  const secret = entry.fields.find((field) => field.secret && field.name in values);
  if (secret) {
    throw new AgentError('USAGE', `${secret.name} is a secret: other users of this machine can read arguments`, {
      fix: `put ${secret.name}=… into ${profile.env}`,
    });
  }
  const { others } = checkCatalogValues(profile, entry, values);
  if (name in readMcpServers(profile)) throw serverExists(name);
  if (entry.package) {
    say(`Fetching ${packageSpec(entry)} …`);
    await fetchPackage(packageSpec(entry), profile.dir, say);
  }
  await addFromCatalog(profile, entry, others, enabled);
  say(`${entry.title} is in ${profile.config}.`);
}

/** Fills the cache that `npx -y <spec>` starts from. Errors: MCP_FAILED. */
async function fetchPackage(spec: string, cwd: string, say: (line: string) => void): Promise<void> {
  const failed = (why: string, fix: string, cause?: unknown) =>
    new AgentError('MCP_FAILED', `${spec} could not be installed: ${why}`, { fix, cause });
  const child = spawn('npm', ['exec', '--yes', '--no-fund', '--no-audit', `--package=${spec}`, '--call', 'true'], {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...filterEnv(process.env, commonEnv), npm_config_update_notifier: 'false' },
  });
  const last: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      if (line.trim() === '') return;
      last.push(line);
      last.splice(0, last.length - LINES_KEPT);
      say(line);
    });
  }
  const group = child.pid;
  const end = () => {
    try {
      if (group !== undefined) process.kill(-group, 'SIGKILL');
    } catch {
      // it is gone
    }
  };
  // Ended from outside, it takes npm along: that stands in a group of its own.
  const onSignal = (signal: NodeJS.Signals) => {
    end();
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of ENDINGS) process.once(signal, onSignal);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    end();
  }, limits.mcp.installMs);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    if (late) throw failed(`it took longer than ${formatDuration(limits.mcp.installMs)}`, 'try again; what has been fetched is kept');
    if (code !== 0) throw failed(last.join(' / ') || `npm ended with ${code}`, 'check the network and the registry of npm');
  } catch (thrown) {
    if (thrown instanceof AgentError) throw thrown;
    throw failed(messageOf(thrown), 'npm comes with Node: put it on the PATH of the service', thrown);
  } finally {
    clearTimeout(timer);
    for (const signal of ENDINGS) process.off(signal, onSignal);
    end();
  }
}

const ENDINGS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Of what npm said, for the error. */
const LINES_KEPT = 4;
