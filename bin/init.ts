/**
 * A process of the service that someone else started replaces itself once, under the same number: without the
 * variables that other processes must not read, and in a container below an init. Process 1 inherits every orphan and
 * has to reap it, which Node cannot: it waits only for its own children.
 */
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { sealedMark, sealVariables, unsealVariables } from '../base/sealedVariables.ts';
import { splitEnvironment } from './shownEnvironment.ts';

/** Inits that run one program, hand signals on and reap, with what stands before the program. */
const inits: Readonly<Record<string, readonly string[]>> = {
  tini: ['--'],
  'docker-init': ['--'],
  catatonit: ['--'],
  'dumb-init': ['--single-child', '--'],
};

/** Every shell reaps whatever ends while it waits. The last `wait` gives the code that a signal's wait did not. */
const SHELL_INIT = `
exec 3<&0 </dev/null
"$@" <&3 3<&- & child=$!
exec 3<&-
for name in TERM INT HUP QUIT USR1 USR2; do trap "kill -$name $child 2>/dev/null" $name; done
while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
wait $child 2>/dev/null; last=$?
[ $last -ne 127 ] && code=$last
exit $code
`;

/** Comes back when there is nothing to replace, in the replaced process, and where the system cannot replace one. */
export function settleProcess(): void {
  if (unsealVariables() || typeof process.execve !== 'function') return;
  const { shown, sealed } = splitEnvironment(process.env);
  const isFirst = process.pid === 1;
  if (!isFirst && Object.keys(sealed).length === 0) return;
  const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)] as const;
  const [file, ...args] = isFirst ? initCommand(program, process.env.PATH ?? '') : program;
  try {
    // Only 0, 1 and 2 outlive the replacement; the lowest free descriptor is the one that is opened.
    closeSync(0);
    if (sealVariables(sealed) === 0) process.execve(file, [file, ...args], { ...shown, ...sealedMark });
  } catch {
    // Then it runs as it is: without an init, which `agent doctor` reports.
  }
  if (existsSync('/dev/null')) openSync('/dev/null', 'r');
}

/** The whole command line of an init with `program` below it: one found in `path`, else the shell. */
export function initCommand(program: readonly string[], path: string): [string, ...string[]] {
  for (const [name, words] of Object.entries(inits)) {
    const file = path
      .split(':')
      .map((dir) => join(dir || '/nonexistent', name))
      .find((candidate) => existsSync(candidate));
    if (file) return [file, ...words, ...program];
  }
  return ['/bin/sh', '-c', SHELL_INIT, 'agent-init', ...program];
}
