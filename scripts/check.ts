/**
 * `npm run check`: format, lint, types, what may import what, what nobody uses, and documents that are
 * made from the code. Two at a time, the slow ones first; prints what failed, then a table.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const tool = (name: string): string => join(root, 'node_modules', '.bin', name);

/** A second check looks at what changed. */
const incremental = (name: string): string[] => [
  '--incremental',
  '--tsBuildInfoFile',
  join(root, 'node_modules', '.cache', `${name}.tsbuildinfo`),
];

interface Step {
  name: string;
  command: string[];
  /** How to put it right. */
  fix: string;
}

const steps: Step[] = [
  { name: 'lint', command: [tool('oxlint'), '--type-aware'], fix: 'npx oxlint --type-aware --fix' },
  { name: 'types', command: [tool('tsc'), '-p', '.', ...incremental('types')], fix: 'see above' },
  { name: 'types of the page', command: [tool('tsc'), '-p', 'web', ...incremental('page')], fix: 'see above' },
  { name: 'architecture', command: [process.execPath, 'test/architecture.test.ts'], fix: 'docs: CONTRIBUTING.md, "What may import what"' },
  { name: 'unused', command: [tool('knip'), '--no-progress'], fix: 'remove it, or name it in knip.json' },
  { name: 'documents', command: [process.execPath, 'scripts/commandsDoc.ts', '--check'], fix: 'node scripts/commandsDoc.ts --write' },
  {
    name: 'slash commands',
    command: [process.execPath, 'scripts/slashCommandsDoc.ts', '--check'],
    fix: 'node scripts/slashCommandsDoc.ts --write',
  },
  { name: 'format', command: [tool('oxfmt'), '--check', '.'], fix: 'npm run format' },
];

interface Result extends Step {
  ok: boolean;
  ms: number;
  output: string;
}

const CONCURRENT = 2;
/** The slowest takes 15 s on two cores the first time; on a machine with a load of 25 it took two minutes. */
const STEP_MS = 300_000;

const startedAt = performance.now();
const waiting = [...steps];
const results: Result[] = [];
await Promise.all(
  Array.from({ length: CONCURRENT }, async () => {
    for (let step = waiting.shift(); step; step = waiting.shift()) results.push(await run(step));
  }),
);
report(results);

function run(step: Step): Promise<Result> {
  return new Promise((resolve) => {
    const stepStartedAt = performance.now();
    const [file, ...args] = step.command as [string, ...string[]];
    const child = spawn(file, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1' },
      timeout: STEP_MS,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', (thrown) => (output += thrown.message));
    child.on('close', (code) => resolve({ ...step, ok: code === 0, ms: performance.now() - stepStartedAt, output }));
  });
}

function report(all: Result[]): void {
  const failed = all.filter(({ ok }) => !ok);
  for (const { name, output } of failed) process.stdout.write(`--- ${name} ---\n${output.trimEnd()}\n\n`);
  for (const { name, ok, ms, fix } of all.toSorted(
    (a, b) => steps.findIndex((s) => s.name === a.name) - steps.findIndex((s) => s.name === b.name),
  )) {
    process.stdout.write(
      `${ok ? 'ok    ' : 'FAILED'}  ${name.padEnd(18)} ${(ms / 1_000).toFixed(1).padStart(5)} s${ok ? '' : `  ${fix}`}\n`,
    );
  }
  process.stdout.write(
    `${all.length - failed.length} of ${all.length} checks passed in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n`,
  );
  process.exitCode = failed.length ? 1 : 0;
}
