/**
 * Which file changes are asked about first: outside the working directory, and files that make something
 * run or open a door later (shell start-up, cron, systemd, SSH, git hooks, this service's own home).
 */
import { homedir, tmpdir } from 'node:os';
import { basename, relative } from 'node:path';
import type { Danger } from '../ports.ts';
import { absolutePath, isInside, realTarget } from './filePath.ts';

interface Where {
  cwd: string;
  home: string;
}

const STARTUP =
  /^\.(?:bash_?(?:rc|profile|login|logout|aliases)|profile|zsh(?:rc|env)|z(?:profile|login|logout)|kshrc|cshrc|tcshrc|login|inputrc|xinitrc|xprofile|xsessionrc)$/;

/** Sentences about a real path; empty = nothing is dangerous about changing it. */
function reasonsAbout(path: string, { cwd, home }: Where): string[] {
  const userHome = homedir();
  const inHome = isInside(userHome, path) ? relative(userHome, path) : null;
  const has = (pattern: RegExp) => pattern.test(path);
  const reasons = [
    isInside(realTarget(home), path) && 'it is in the home of the agent service and changes what the service does',
    (STARTUP.test(basename(path)) || (inHome ?? '').startsWith('.config/fish/')) && 'it runs whenever a shell starts',
    has(/(?:^|\/)(?:crontab|cron\.(?:d|daily|hourly|weekly|monthly))(?:\/|$)|\/var\/spool\/cron\//) &&
      'it makes commands run by themselves (cron)',
    has(/\/systemd\/(?:system|user)(?:\/|\.|$)|\/Library\/Launch(?:Agents|Daemons)\/|\/init\.d\/|\/\.config\/autostart\//) &&
      'it makes programs start by themselves',
    has(/(?:^|\/)\.ssh(?:\/|$)|^\/etc\/ssh\//) && 'it decides who can sign in over SSH',
    has(/(?:^|\/)\.git\/(?:hooks\/|config$)/) && 'git runs commands that stand in it',
    has(/^\/etc\/(?:sudoers|passwd|shadow|group|pam\.d)/) && 'it decides who may do what on this machine',
  ].filter((reason) => reason !== false);
  if (reasons.length > 0) return reasons;
  if (isInside(realTarget(cwd), path)) {
    // A session that works in the home directory itself still does not own its settings.
    const settings = realTarget(cwd) === realTarget(userHome) && inHome !== null && inHome.startsWith('.');
    return settings ? ['it is a settings file of the home directory'] : [];
  }
  if (isInside(realTarget(tmpdir()), path)) return [];
  return [inHome?.startsWith('.') ? 'it is a settings file of the home directory' : `it is outside the working directory ${cwd}`];
}

/** Undefined when nothing of it needs to be asked about. */
export function pathDanger(doing: 'write' | 'change' | 'delete', names: readonly string[], where: Where): Danger | undefined {
  const found = names.flatMap((name) => {
    const path = absolutePath(name, where.cwd);
    const real = realTarget(path);
    const reasons = reasonsAbout(real, where);
    return reasons.length ? [{ shown: path === real ? path : `${path} → ${real}`, real, reasons }] : [];
  });
  if (found.length === 0) return undefined;
  const reasons = found.flatMap(({ shown, reasons: why }) => why.map((reason) => (names.length > 1 ? `${shown}: ${reason}` : reason)));
  const only = found.length === 1 ? found[0]!.real : undefined;
  return {
    command: `${doing} ${found.map(({ shown }) => shown).join(', ')}`,
    reasons: [...new Set(reasons)],
    ...(only === undefined ? {} : { rule: `file:${only}` }),
  };
}
