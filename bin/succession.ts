/** The end of a supervisor that is to be followed by another one: a service manager starts it, or the old one does. */
import { spawn } from 'node:child_process';
import { AgentError } from '../base/errors.ts';
import { exitCodes } from '../base/exitCodes.ts';
import { sealedMark, sealVariables } from '../base/sealedVariables.ts';
import type { Home } from '../state/home.ts';
import { keepCode } from '../state/keptCode.ts';
import { nodeProgram } from '../state/nodeProgram.ts';
import { release } from '../state/release.ts';
import { splitEnvironment } from './shownEnvironment.ts';
import type { ManagedBy } from './service/managedBy.ts';

/** Checked before anything ends. Errors: RESTART_REFUSED, PACKAGE_INCOMPLETE. */
export function requireReturn(home: Home, manager: ManagedBy, inBackground: boolean): void {
  if (manager === 'container') {
    throw new AgentError('RESTART_REFUSED', 'the supervisor is the first process of its container, which would end with it', {
      fix: 'restart the container; `agent restart` restarts the workers',
    });
  }
  if (!inBackground) {
    throw new AgentError('RESTART_REFUSED', 'the supervisor runs in the foreground of a terminal, and nothing would start it again', {
      fix: 'end it there and start it again; `agent restart` restarts the workers',
    });
  }
  // What starts again is the installed release, not the copy that runs.
  keepCode(home);
}

/** The last act of the old one. Answers its exit code. */
export function startNext(home: Home, manager: ManagedBy): number {
  if (manager !== 'none') return exitCodes.restart;
  const [, entry, ...words] = process.argv;
  const installed = release().built ? process.execPath : nodeProgram();
  const { shown, sealed } = splitEnvironment(process.env);
  const stdin = sealVariables(sealed);
  const env = { ...shown, ...sealedMark };
  spawn(installed, [entry!, ...words], { cwd: home.root, detached: true, stdio: [stdin, 'ignore', 'inherit'], env }).unref();
  return exitCodes.ok;
}
