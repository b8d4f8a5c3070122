/**
 * Installing the property list and driving `launchctl`. Its answers are not trusted: a transient error is
 * tried again with a growing pause, and the job counts as loaded when launchd shows its process (lessons 5).
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { runCommand, type CommandResult } from '../base/runCommand.ts';
import { sleep } from '../base/time.ts';
import { writeFileAtomic } from '../state/atomicFile.ts';
import type { ServiceManager, ServiceScope, ServiceState, ServiceUser, Tell } from '../state/servicePlan.ts';
import { LABEL, plistText, readPlist } from './plist.ts';

/** What launchctl ends with (reference, launchd). */
const codes = {
  /** ESRCH, "Could not find service", "Domain does not support specified action": not loaded, or not there. */
  notLoaded: new Set([3, 113, 125]),
  /** EIO: an old registration that goes away, or a domain that takes nothing. */
  stale: 5,
  /** EINPROGRESS: the old job is still on its way out. */
  leaving: 36,
} as const;

export function openLaunchd(scope: ServiceScope, user: ServiceUser): ServiceManager {
  const file = plistPath(scope, user);
  const launchctl = (...args: string[]) => runCommand(['launchctl', ...args]);
  const domains = scope === 'system' ? ['system'] : [`gui/${user.uid}`, `user/${user.uid}`];

  /** Where the job is registered now, with what launchd says about it. */
  async function loaded(): Promise<{ domain: string; facts: string } | undefined> {
    for (const domain of domains) {
      const { code, stdout } = await launchctl('print', `${domain}/${LABEL}`);
      if (code === 0) return { domain, facts: stdout };
    }
    return undefined;
  }

  async function bootout(domain: string, tell: Tell): Promise<void> {
    const result = await launchctl('bootout', `${domain}/${LABEL}`);
    const fine = result.code === 0 || result.code === codes.leaving || codes.notLoaded.has(result.code ?? -1);
    if (!fine) throw failed(result);
    tell({ did: 'ran', what: result.command.join(' ') });
    await seen('the old job is gone', async () => (await launchctl('print', `${domain}/${LABEL}`)).code !== 0, stopMsOf(file));
  }

  /** In the first domain that takes it; each try ends with a look. */
  async function bootstrap(tell: Tell): Promise<void> {
    let last: CommandResult | undefined;
    for (let tries = 0, pauseMs: number = limits.service.retryMs; tries < limits.service.triesMax; tries++, pauseMs *= 2) {
      if (tries > 0) await sleep(pauseMs);
      for (const domain of domains) {
        last = await launchctl('bootstrap', domain, file);
        if (last.code === 0 || (await loaded()))
          return tell({ did: 'ran', what: last.command.join(' '), ...(tries ? { detail: `at try ${tries + 1}` } : {}) });
        if (last.code === codes.stale) await launchctl('bootout', `${domain}/${LABEL}`);
      }
    }
    throw failed(last!);
  }

  return {
    kind: 'launchd',
    scope,
    file,
    unusable: async () => {
      const { code, stderr } = await launchctl('version');
      return code === 0
        ? undefined
        : { missing: `launchctl does not answer (${stderr.trim()})`, fix: 'run `agent up`; it needs no service manager' };
    },
    text: plistText,
    commands: () => [`launchctl enable ${domains[0]}/${LABEL}`, `launchctl bootstrap ${domains[0]} ${file}`],

    async register(plan, tell) {
      const text = await plistText(plan);
      const before = readText(file);
      if (before === text) tell({ did: 'kept', what: file, detail: 'it is as it should be' });
      else {
        mkdirSync(dirname(file), { recursive: true });
        writeFileAtomic(file, text, { mode: 0o644 });
        tell({ did: 'wrote', what: file, detail: before === undefined ? 'new' : 'it had changed' });
        const old = await loaded();
        if (old) await bootout(old.domain, tell);
      }
      // A job that was disabled once stays so, over uninstall and install.
      const enable = await launchctl('enable', `${domains[0]}/${LABEL}`);
      if (enable.code === 0) tell({ did: 'ran', what: enable.command.join(' ') });
    },

    async start(tell) {
      if (!(await loaded())) await bootstrap(tell);
      else if (pidOf((await loaded())?.facts) !== null) return tell({ did: 'kept', what: `${LABEL} runs` });
      else {
        const { domain } = (await loaded())!;
        const kick = await launchctl('kickstart', `${domain}/${LABEL}`);
        if (kick.code !== 0) throw failed(kick);
        tell({ did: 'ran', what: kick.command.join(' ') });
      }
      await seen('launchd shows its process', async () => pidOf((await loaded())?.facts) !== null, limits.service.verifyMs);
    },

    async remove(tell) {
      const job = await loaded();
      if (job) await bootout(job.domain, tell);
      if (readText(file) === undefined) return tell({ did: 'kept', what: `${file} is not there` });
      rmSync(file, { force: true });
      tell({ did: 'removed', what: file });
    },

    async state(wanted): Promise<ServiceState> {
      const text = readText(file);
      const job = await loaded();
      const pid = pidOf(job?.facts);
      return {
        installed: text !== undefined,
        file,
        enabled: text !== undefined,
        active: pid !== null,
        state: job ? (/^\s*state = (.+)$/m.exec(job.facts)?.[1] ?? 'loaded') : 'not loaded',
        pid,
        restarts: null,
        linger: null,
        home: text === undefined ? null : ((await readPlist(text))?.home ?? null),
        drift: text === undefined || wanted === undefined ? [] : plistDrift(text, wanted),
      };
    },
  };
}

export const plistPath = (scope: ServiceScope, { home }: Pick<ServiceUser, 'home'>): string =>
  scope === 'system' ? `/Library/LaunchDaemons/${LABEL}.plist` : join(home, 'Library', 'LaunchAgents', `${LABEL}.plist`);

/** A job that is merely registered has none. */
const pidOf = (facts: string | undefined): number | null => Number(/^\s*pid = (\d+)$/m.exec(facts ?? '')?.[1]) || null;

function plistDrift(installed: string, wanted: string): string[] {
  const [there, here] = [installed.split('\n'), wanted.split('\n')];
  return [
    ...there.filter((line) => !here.includes(line)).map((line) => `- ${line.trim()}`),
    ...here.filter((line) => !there.includes(line)).map((line) => `+ ${line.trim()}`),
  ];
}

async function seen(what: string, look: () => Promise<boolean>, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!(await look())) {
    if (performance.now() > deadlineMs)
      throw new AgentError('SERVICE_FAILED', `launchd: not within ${limitMs / 1_000} s: ${what}`, {
        fix: `\`launchctl print gui/$(id -u)/${LABEL}\` says more`,
      });
    await sleep(limits.service.retryMs);
  }
}

const failed = ({ command, code, stderr }: CommandResult): AgentError =>
  new AgentError('SERVICE_FAILED', `\`${command.join(' ')}\` ended with ${code ?? 'no code'}${stderr.trim() ? `: ${stderr.trim()}` : ''}`, {
    fix: 'run it again; `agent up` runs the service without launchd meanwhile',
  });

/** A job on its way out may take its whole stop budget. */
const stopMsOf = (file: string): number =>
  1_000 * Number(/<key>ExitTimeOut<\/key>\s*<integer>(\d+)<\/integer>/.exec(readText(file) ?? '')?.[1] ?? limits.service.stopMinMs / 1_000);

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
