/**
 * The sandbox of this worker: what it found on the machine, and for each session its policy, its folder for temporary
 * files and its network. Where a level is set and there is no sandbox, it says why; commands are asked about then.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { bubblewrapArgs } from '../../../agent/sandbox/bubblewrap.ts';
import { sandboxPolicy, type SandboxPolicy } from '../../../agent/sandbox/policy.ts';
import { seatbeltProfile } from '../../../agent/sandbox/seatbelt.ts';
import { findSandbox, type SandboxSupport } from '../../../agent/sandbox/support.ts';
import type { CommandSandbox, ConfinedCommand } from '../../../agent/tools/command.ts';
import { absolutePath, realTarget } from '../../../agent/tools/filePath.ts';
import { AgentError } from '../../../base/errors.ts';
import { digest } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/log.ts';
import { startTimeOf } from '../../../state/processIdentity.ts';
import type { WorkerContext } from '../../worker.ts';
import type { Config } from '../../../state/config/schema.ts';
import { createProxy } from './proxy.ts';
import { PROXY_PORT, startNetwork, type Bubblewrap, type SessionNetwork } from './network.ts';

export interface SandboxParts {
  settings(): Config['sandbox'];
  log: Pick<Logger, 'info' | 'warn'>;
  /** Folders of the service: never shown. */
  serviceFolders: readonly string[];
  /** Below them, but shown. */
  shownFolders: readonly string[];
  /** Holds a folder for each session; emptied at the end. */
  tempRoot: string;
  /** Default: found by a trial run. */
  find?: () => Promise<SandboxSupport>;
  userHome?: string;
}

export interface SessionSandbox extends CommandSandbox {
  policy(): SandboxPolicy;
}

export interface Sandbox extends AsyncDisposable {
  /** Undefined: the level is `none`. */
  forSession(session: { id: string; cwd: string }): SessionSandbox | undefined;
  /** Set when a level is set and this machine has no sandbox: why, and what to do. Call `ready` first. */
  missing(): { problem: string; fix: string } | undefined;
  /** What the user has to know of this session, once: one sentence each. */
  notices(session: { id: string; cwd: string }): string[];
  /** Resolves when the machine was looked at; at once while the level is `none`. */
  ready(): Promise<void>;
}

interface HeldNetwork {
  starting: Promise<SessionNetwork>;
  commands: number;
  idle: NodeJS.Timeout | undefined;
}

const { processesMax, cpuSeconds, fileMaxBytes, networkIdleMs } = limits.sandbox;

/** With the settings and folders of this worker. */
export function workerSandbox(context: WorkerContext): Sandbox {
  const tempRoots = join(context.paths.dir, 'cache', 'sandbox');
  removeLeft(tempRoots);
  return createSandbox({
    settings: () => context.config().config.sandbox,
    log: context.log,
    serviceFolders: [context.home.root, context.home.run.dir],
    shownFolders: ['skills', 'attachments', join('cache', 'tool-output')].map((name) => join(context.paths.dir, name)),
    tempRoot: join(tempRoots, String(process.pid)),
  });
}

/** Temporary files of workers that were killed. A worker that hands over may still use its own. */
function removeLeft(tempRoots: string): void {
  if (!existsSync(tempRoots)) return;
  for (const pid of readdirSync(tempRoots)) {
    if (Number(pid) === process.pid || startTimeOf(Number(pid)) === undefined)
      void rm(join(tempRoots, pid), { recursive: true, force: true }).catch(() => {});
  }
}

export function createSandbox(parts: SandboxParts): Sandbox {
  const { settings, log, serviceFolders, shownFolders, tempRoot, find = findSandbox, userHome = homedir() } = parts;
  const networks = new Map<string, HeldNetwork>();
  const told = new Set<string>();
  let finding: Promise<SandboxSupport> | undefined;
  let support: SandboxSupport | undefined;
  const level = () => settings()?.level ?? 'none';
  const isOn = () => level() !== 'none';

  const found = async (): Promise<SandboxSupport> => (support = await (finding ??= find()));

  function hold(sessionId: string, bubblewrap: Bubblewrap): HeldNetwork {
    const held = networks.get(sessionId);
    if (held) return held;
    const fresh: HeldNetwork = { starting: startNetwork(bubblewrap, proxyOf(sessionId)), commands: 0, idle: undefined };
    networks.set(sessionId, fresh);
    return fresh;
  }

  function proxyOf(sessionId: string) {
    if (settings()?.network !== 'allowlist') return undefined;
    return createProxy({
      hosts: () => (settings()?.network === 'allowlist' ? (settings()?.hosts ?? []) : []),
      onUse: ({ host, port, refused, sentBytes, receivedBytes }) =>
        log.info(refused ? 'the sandbox refused a connection' : 'a sandboxed command used the network', {
          session_id: sessionId,
          host,
          port,
          ...(refused ? { reason: refused } : { sent_bytes: sentBytes, received_bytes: receivedBytes }),
        }),
    });
  }

  /** Of the session, counted as used until `release`. A dead one is replaced. */
  async function enter(sessionId: string, bubblewrap: Bubblewrap): Promise<{ network: SessionNetwork; release(): void }> {
    const held = hold(sessionId, bubblewrap);
    clearTimeout(held.idle);
    held.commands++;
    const release = () => {
      if (--held.commands > 0 || networks.get(sessionId) !== held) return;
      held.idle = setTimeout(() => void forget(sessionId, held), networkIdleMs).unref();
    };
    try {
      const network = await held.starting;
      if (network.isAlive) return { network, release };
    } catch (thrown) {
      release();
      if (networks.get(sessionId) === held) networks.delete(sessionId);
      throw thrown;
    }
    release();
    await forget(sessionId, held);
    return enter(sessionId, bubblewrap);
  }

  async function forget(sessionId: string, held: HeldNetwork): Promise<void> {
    clearTimeout(held.idle);
    if (networks.get(sessionId) === held) networks.delete(sessionId);
    await held.starting.then((network) => network[Symbol.asyncDispose]()).catch(() => {});
  }

  function forSession({ id, cwd }: { id: string; cwd: string }): SessionSandbox | undefined {
    const chosen = level();
    if (chosen === 'none') return undefined;
    const temp = join(tempRoot, digest(id, 16));
    const { writable = [], readable = [] } = settings() ?? {};
    const policy = () => {
      mkdirSync(temp, { recursive: true, mode: 0o700 });
      return sandboxPolicy({ level: chosen, writable, readable }, { cwd, userHome, serviceFolders, shownFolders, temp });
    };
    return {
      temp,
      policy,
      async confine({ file, args, cwd: named }, env): Promise<ConfinedCommand> {
        const rules = policy();
        const host = checkedDirectory(named, rules);
        const machine = await found();
        if (machine.kind === 'none') return { file, args, cwd: host, env, limits: {}, release() {} };
        if (machine.kind === 'seatbelt') {
          const profile = seatbeltProfile(rules);
          return {
            file: machine.program,
            args: ['-p', profile, file, ...args],
            cwd: host,
            env: { ...env, TMPDIR: temp },
            limits: {},
            release() {},
          };
        }
        const { network, release } = await enter(id, machine);
        const [program, ...entering] = network.enter;
        return {
          file: program!,
          args: [...entering, machine.bwrap, ...bubblewrapArgs(rules, { file, args, cwd: rules.shownPath(host) })],
          cwd: '/',
          env: insideEnv(env, rules, settings()?.network === 'allowlist'),
          limits: { nproc: processesMax, cpu: cpuSeconds, fsize: fileMaxBytes, core: 0 },
          release,
        };
      },
    };
  }

  return {
    forSession,
    notices({ id, cwd }) {
      const notice = forSession({ id, cwd })?.policy().notice;
      const missing =
        support?.kind === 'none' && isOn()
          ? `Commands run without a sandbox and are asked about: ${support.problem}; ${support.fix}`
          : undefined;
      if (told.size > TOLD_MAX) told.clear();
      return [notice, missing].flatMap((text) => (text === undefined || told.has(id + text) ? [] : (told.add(id + text), [text])));
    },
    missing: () => (isOn() && support?.kind === 'none' ? support : undefined),
    async ready() {
      if (isOn()) await found();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...networks].map(([id, held]) => forget(id, held)));
      rmSync(tempRoot, { recursive: true, force: true });
    },
  };
}

/** Notices that are remembered as shown. */
const TOLD_MAX = 1_000;

/** Where it is on this machine. Errors: NOT_FOUND, TOOL_REFUSED. */
function checkedDirectory(cwd: string, policy: SandboxPolicy): string {
  const host = realTarget(policy.hostPath(absolutePath(cwd, '/')));
  if (!policy.mayRead(host) && !policy.mounts.some(({ path }) => path === host)) {
    throw new AgentError('TOOL_REFUSED', `the working directory ${cwd} is not visible in the sandbox`, {
      fix: 'use the directory of the session, or ask the user to list the folder in sandbox.readable or sandbox.writable',
    });
  }
  if (!statSync(host, { throwIfNoEntry: false })?.isDirectory()) {
    throw new AgentError('NOT_FOUND', `the working directory ${cwd} does not exist`, { fix: 'give another workdir' });
  }
  return host;
}

const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];
const OF_THE_MACHINE = new Set([
  ...PROXY_VARIABLES,
  'ALL_PROXY',
  'all_proxy',
  'NO_PROXY',
  'no_proxy',
  'XDG_RUNTIME_DIR',
  'SSH_AUTH_SOCK',
  'DBUS_SESSION_BUS_ADDRESS',
]);

/** Without addresses and sockets of the machine; with those of the sandbox. */
function insideEnv(env: Record<string, string>, { userHome }: SandboxPolicy, hasProxy: boolean): Record<string, string> {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !OF_THE_MACHINE.has(name)));
  const proxy = `http://127.0.0.1:${PROXY_PORT}`;
  return {
    ...kept,
    HOME: userHome,
    TMPDIR: '/tmp',
    ...(hasProxy
      ? {
          ...Object.fromEntries(PROXY_VARIABLES.map((name) => [name, proxy])),
          NO_PROXY: 'localhost,127.0.0.1,::1',
          no_proxy: 'localhost,127.0.0.1,::1',
          NODE_USE_ENV_PROXY: '1',
        }
      : {}),
  };
}
