/**
 * Which file changes are asked about first: outside the working directory, and files that make something
 * run or open a door later (shell start-up, cron, systemd, SSH, git hooks, this service's own home). What
 * is never written is not asked about either.
 */
import { homedir, tmpdir } from 'node:os';
import { basename, relative } from 'node:path';
import type { Danger } from '../ports.ts';
import { hostPath, type FileHost } from './fileAccess.ts';
import { absolutePath, isInside, realTarget } from './filePath.ts';

type Where = Pick<FileHost, 'cwd' | 'home' | 'isSecret' | 'isStore' | 'sandbox'>;

const STARTUP =
  /^\.(?:bash_?(?:rc|profile|login|logout|aliases)|profile|zsh(?:rc|env)|z(?:profile|login|logout)|kshrc|cshrc|tcshrc|login|inputrc|xinitrc|xprofile|xsessionrc)$/;

/** Sentences about a real path; empty = nothing is dangerous about changing it. */
function reasonsAbout(path: string, { cwd, home }: Pick<Where, 'cwd' | 'home'>): string[] {
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
  return [inHome?.startsWith('.') ? 'it is a settings file of the home directory' : outside(cwd)];
}

const outside = (cwd: string): string => `it is outside the working directory ${cwd}`;

/** Why the service alone touches it; undefined = it may be asked about. */
function neverWritten(path: string, { isSecret, isStore }: Where): string | undefined {
  if (isSecret(path)) return `${path} holds secrets of the service`;
  if (isStore(path)) return `${path} belongs to the running service, which alone writes it`;
  return undefined;
}

/** Undefined when nothing of it needs to be asked about. */
export function pathDanger(doing: 'write' | 'change' | 'delete', names: readonly string[], where: Where): Danger | undefined {
  const found = names.flatMap((name) => {
    const path = absolutePath(name, where.cwd);
    const real = realTarget(hostPath(name, where));
    if (where.sandbox?.isTemporary(real)) return [];
    const never = neverWritten(real, where);
    // The tool refuses it; there is nothing to ask.
    if (!never && where.sandbox && !where.sandbox.mayWrite(real)) return [];
    const reasons = never ? [never] : reasonsAbout(real, where);
    return reasons.length ? [{ shown: path === real ? path : `${path} → ${real}`, real, reasons, blocked: never !== undefined }] : [];
  });
  if (found.length === 0) return undefined;
  const command = `${doing} ${found.map(({ shown }) => shown).join(', ')}`;
  const never = found.filter(({ blocked }) => blocked).flatMap(({ reasons: why }) => why);
  if (never.length > 0) return { command, reasons: never, blocked: true };
  const reasons = found.flatMap(({ shown, reasons: why }) => why.map((reason) => (names.length > 1 ? `${shown}: ${reason}` : reason)));
  const only = found.length === 1 ? found[0] : undefined;
  const lasting = doing !== 'delete' && only?.reasons.length === 1 && only.reasons[0] === outside(where.cwd);
  return {
    command,
    reasons: [...new Set(reasons)],
    ...(only === undefined ? {} : { rule: `file:${only.real}`, lasting }),
  };
}
