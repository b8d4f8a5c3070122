/** Node, the launcher, the compiled modules, and whether what runs is what is installed. */
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { release } from '../../state/release.ts';
import { terminalFix } from '../../state/terminalModule.ts';
import { loadNative, nativeModules } from '../service/nativeModules.ts';
import { NODE_MIN, nodeIsNewEnough } from '../service/selfCheck.ts';
import { installationOf, reinstallHint } from '../service/reinstall.ts';
import { fail, ok, skip, warn, type Check, type Finding, type Scene } from './check.ts';

export const installationChecks: readonly Check[] = [
  { id: 'node', group: 'installation', what: 'Node.js', look: () => node() },
  { id: 'launcher', group: 'installation', what: 'the command `agent`', look: () => launcher() },
  { id: 'native', group: 'installation', what: 'compiled module', look: () => native() },
  { id: 'code', group: 'installation', what: 'running code', look: runningCode },
];

function node(): Finding {
  const path = realpathSync(process.execPath);
  if (!nodeIsNewEnough(process.version))
    return fail(
      `${path} is ${process.version}`,
      `install Node.js ${NODE_MIN.join('.')} or newer, or the package again with npm: it brings its own`,
    );
  const pinned = /\/node_modules\/node-[a-z]+-[a-z0-9]+\/bin\/node$/.test(path);
  if (pinned) return ok(`${process.version}, pinned (${path})`);
  // There is no pin for macOS: the system's Node is the right one there.
  if (process.platform === 'darwin') return ok(`${process.version} of the system (${path})`);
  return warn(`${process.version} of the system (${path}), not the one that was tested`, 'install again with npm, without --omit=optional');
}

function launcher(): Finding {
  const { root } = release();
  const own = join(root, 'bin', 'agent');
  try {
    accessSync(own, constants.X_OK);
  } catch {
    return fail(`${own} is missing or cannot be executed`, existsSync(own) ? `chmod +x ${own}` : reinstallHint());
  }
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map((dir) => join(dir || '.', 'agent'))
    .find((path) => existsSync(path));
  if (!found) return warn('no `agent` is on the PATH', `mkdir -p ~/.local/bin && ln -s ${own} ~/.local/bin/agent`);
  if (realpathSync(found) !== realpathSync(own))
    return warn(`${found} on the PATH is another installation than ${own}`, `remove one of the two`);
  return ok(found);
}

async function native(): Promise<Finding[]> {
  return Promise.all(
    nativeModules.map(async (name) => {
      const fault = await loadNative(name);
      if (fault === undefined) return { ...ok('loads'), of: name };
      // Everything but the terminals of the page works without it.
      if (name === 'node-pty') return warn(`${fault}: the page opens no terminals`, terminalFix(), { of: name });
      return fail(fault, rebuildHint(name), { of: name });
    }),
  );
}

/** A checkout need not be installed anew for one module. */
function rebuildHint(name: string): string {
  const { root, built } = release();
  if (installationOf({ root, built }) !== 'checkout') return reinstallHint();
  return `cd ${root} && npm rebuild ${name}`;
}

/** After an update of the files, what runs is still the old. */
function runningCode({ snapshot }: Scene): Finding {
  const { version, code } = release();
  if (!snapshot?.live) return skip('nothing runs');
  const { supervisor, workers } = snapshot.status;
  const old = workers.filter((row) => row.pid !== null && row.code !== null && row.code !== code).map(({ slot }) => slot);
  if (supervisor.code !== code)
    return warn(
      `installed is ${version} (${code}), the supervisor runs ${supervisor.version} (${supervisor.code})`,
      'agent restart supervisor; agent restart',
    );
  if (old.length) return warn(`of an older version: ${old.join(', ')}`, old.map((slot) => `agent restart ${slot}`).join('; '));
  return ok(`${version} (${code}), the installed one`);
}
