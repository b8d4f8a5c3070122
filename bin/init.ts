/**
 * Process 1 of a container inherits every orphan and has to reap it, which Node cannot: it waits only for
 * its own children. So the supervisor puts an init above itself, in the same process, and is its child.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Inits that run one program, hand signals on and reap, with what stands before the program. */
const inits: Readonly<Record<string, readonly string[]>> = {
  tini: ['--'],
  'docker-init': ['--'],
  catatonit: ['--'],
  'dumb-init': ['--single-child', '--'],
};

/** Every shell reaps whatever ends while it waits. The last `wait` gives the code that a signal's wait did not. */
const SHELL_INIT = `
"$@" & child=$!
for name in TERM INT HUP QUIT USR1 USR2; do trap "kill -$name $child 2>/dev/null" $name; done
while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
wait $child 2>/dev/null; last=$?
[ $last -ne 127 ] && code=$last
exit $code
`;

/** Does nothing unless this is process 1; otherwise it comes back only where the system cannot replace a process. */
export function runUnderInit(): void {
  if (process.pid !== 1 || typeof process.execve !== 'function') return;
  const [file, ...args] = initCommand([process.execPath, ...process.execArgv, ...process.argv.slice(1)], process.env.PATH ?? '');
  try {
    process.execve(file, [file, ...args], process.env);
  } catch {
    // then it runs without, and `agent doctor` says so
  }
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
