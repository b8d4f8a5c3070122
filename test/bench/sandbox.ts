/**
 * `npm run bench -- sandbox`: what the sandbox adds to the start of a command, paired: bare and sandboxed by turns.
 * `--rounds N`, `--json`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startCommand, type CommandHost } from '../../agent/tools/command.ts';
import { createSandbox } from '../../services/agent/sandbox/sandbox.ts';
import { tagCommand } from '../../state/limitTag.ts';
import { projectRoot } from '../harness/worker.ts';
import { machine, shown, spread } from './measure.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string' }, quick: { type: 'boolean' }, json: { type: 'boolean' } } });
const rounds = Number(values.rounds ?? (values.quick ? 50 : 300));
const place = mkdtempSync(join(projectRoot, 'node_modules', '.cache', 'bench-sandbox-'));

try {
  await using sandbox = createSandbox({
    settings: () => ({ level: 'workspace' }),
    log: { info() {}, warn() {} },
    serviceFolders: [],
    shownFolders: [],
    tempRoot: join(place, 'temp'),
  });
  await sandbox.ready();
  const missing = sandbox.missing();
  if (missing) throw new Error(`${missing.problem}: ${missing.fix}`);
  const bare: CommandHost = {
    env: () => ({ PATH: '/usr/bin:/bin' }),
    trees: {
      mark: () => ({ value: 'b.1', env: {}, command: (file, args, limits) => tagCommand('b.1', file, args, limits) }),
      kill: async () => true,
    },
  };
  const confined = { ...bare, sandbox: sandbox.forSession({ id: 'ses_bench', cwd: place }) };
  const run = async (host: CommandHost): Promise<number> => {
    const startedAt = performance.now();
    const command = await startCommand({ file: '/bin/true', args: [], cwd: place, name: 'bench' }, host);
    await command.ended;
    return performance.now() - startedAt;
  };
  for (let warm = 0; warm < 5; warm++) await run(warm % 2 ? bare : confined);
  const pairs: { bare: number; sandboxed: number }[] = [];
  for (let count = 0; count < rounds; count++) pairs.push({ bare: await run(bare), sandboxed: await run(confined) });
  const figures = {
    bare: spread(pairs.map((pair) => pair.bare)),
    sandboxed: spread(pairs.map((pair) => pair.sandboxed)),
    added: spread(pairs.map((pair) => pair.sandboxed - pair.bare)),
  };
  const line = Object.entries(figures).map(([name, of]) => `${name} ${shown(of)} ms`);
  const text = values.json
    ? JSON.stringify({ machine: machine(), rounds, ...figures })
    : `start of a command, ${rounds} pairs: ${line.join(', ')}`;
  process.stdout.write(`${text}\n`);
} finally {
  rmSync(place, { recursive: true, force: true });
}
