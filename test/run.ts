/**
 * `npm test [file or folder …]`: prepares what the tests need, runs two files at a time, prints one line per file and
 * every failure in full, and ends with what failed and `N passed, N failed`. Leaves with 0 when nothing did.
 * A few files that failed among the others run once more, alone: who passes then is named as unstable, with its failure
 * above, and is not counted as failed.
 * A test here is a titled `t.test` of a file; a file without one, or one that died, counts as one.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { holdServices } from './harness/debianPackage.ts';
import { runFile, type FileRun } from './harness/testFile.ts';
import { failures, pointsOf } from './harness/testReport.ts';

const root = join(import.meta.dirname, '..');

/** Debian packages and the program that shows that one is there. */
const packages = {
  chromium: '/usr/bin/chromium',
  ngircd: '/usr/sbin/ngircd',
  tmux: '/usr/bin/tmux',
  zsh: '/usr/bin/zsh',
  tini: '/usr/bin/tini',
  strace: '/usr/bin/strace',
  bubblewrap: '/usr/bin/bwrap',
  // Run by tests in the foreground alone.
  nginx: '/usr/sbin/nginx',
  caddy: '/usr/bin/caddy',
  apache2: '/usr/sbin/apache2',
  haproxy: '/usr/sbin/haproxy',
  // A real systemd for the tests of the service: nothing of it is started on this machine.
  systemd: '/lib/systemd/systemd',
  dbus: '/usr/bin/dbus-daemon',
  'dbus-user-session': '/usr/lib/systemd/user/dbus.socket',
  'libpam-systemd': '/usr/share/doc/libpam-systemd',
};
const INSTALL_MS = 300_000;
/** Files at a time. */
const JOBS = 2;
/** Of more than these that failed none gets a second run: it is not the company that they failed of. */
const SECOND_RUNS_MAX = 3;

const tapProgram = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs');

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const callerDir = process.cwd();
process.chdir(root);
installPackages();
buildPage();
buildTap();
process.exit(await runAll(filesOf(process.argv.slice(2))));

function installPackages(): void {
  const missing = Object.entries(packages).flatMap(([name, program]) => (existsSync(program) ? [] : [name]));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    return say(`Missing Debian packages: ${missing.join(', ')}. Install them: sudo apt-get install ${missing.join(' ')}`);
  }
  say(`Installing Debian packages for the tests: ${missing.join(', ')}`);
  const apt = (...args: string[]) =>
    spawnSync('/usr/bin/apt-get', args, {
      encoding: 'utf8',
      timeout: INSTALL_MS,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  using _held = holdServices();
  apt('update');
  const { status, stderr } = apt('install', '-y', '--no-install-recommends', ...missing);
  if (status !== 0) say(`They could not all be installed (tests that need them will say so): ${stderr.trim().split('\n').at(-1)}`);
}

/** The page that the browser tests open; a no-op when it is fresh. */
function buildPage(): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/build.ts', '--page-if-needed'], { encoding: 'utf8' });
  if (stdout) process.stdout.write(stdout);
  if (status !== 0) say(`The page could not be built; browser tests will fail:\n${stderr}`);
}

/** tap is built for the plugins of .taprc, once after an install. */
function buildTap(): void {
  const wanted = readFileSync('.taprc', 'utf8');
  const stamp = join(root, 'node_modules', '.cache', 'tap-plugins');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const { status, stdout, stderr } = spawnSync(process.execPath, [tapProgram, 'build'], { encoding: 'utf8', timeout: INSTALL_MS });
  if (status !== 0) throw new Error(`tap could not be built for its plugins:\n${stdout}${stderr}`);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}

/** Files as they are named, folders with all below them; without either, everything. */
function filesOf(named: string[]): string[] {
  const below = (folder: string) =>
    globSync(`${folder}/**/*.test.ts`, { exclude: (name) => /(?:^|\/)(?:fixtures|node_modules)$/.test(String(name)) });
  const wanted = named.map((name) => relative(root, resolve(callerDir, name)));
  const missing = wanted.filter((path) => !existsSync(path));
  if (missing.length > 0) {
    say(`There is no ${missing.join(', ')}.`);
    process.exit(2);
  }
  return (wanted.length === 0 ? below('test') : wanted.flatMap((path) => (statSync(path).isDirectory() ? below(path) : [path]))).toSorted();
}

interface Total {
  passed: number;
  failed: number;
  skipped: number;
}

async function runAll(files: string[]): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  const reports: Report[] = [];
  const waiting = [...files];
  const lane = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      reports.push(report(await runFile(file, { stop: stop.signal })));
      if (stop.signal.aborted) return;
    }
  };
  await Promise.all(Array.from({ length: JOBS }, lane));
  const unstable: string[] = [];
  const red = reports.filter(({ bad }) => bad.length > 0);
  if (files.length > 1 && red.length <= SECOND_RUNS_MAX) {
    for (const first of red) {
      if (stop.signal.aborted) break;
      say(`${first.file} runs once more, alone.`);
      const second = report(await runFile(first.file, { stop: stop.signal }));
      if (second.bad.length === 0) unstable.push(...first.bad);
      reports[reports.indexOf(first)] = second;
    }
  }
  // Again at the end: the first of them may stand far above.
  for (const line of unstable) say(`UNSTABLE  ${line} (failed beside another file, passed alone)`);
  for (const line of reports.flatMap(({ bad }) => bad)) say(`FAILED  ${line}`);
  const total: Total = { passed: 0, failed: 0, skipped: 0 };
  for (const { counts } of reports) for (const key of ['passed', 'failed', 'skipped'] as const) total[key] += counts[key];
  say(`${total.passed} passed, ${total.failed} failed${total.skipped ? `, ${total.skipped} skipped` : ''}`);
  return total.failed === 0 ? 0 : 1;
}

interface Report {
  file: string;
  /** A line for each failure. */
  bad: string[];
  counts: Total;
}

/** Prints what came of a file. */
function report(run: FileRun): Report {
  const points = pointsOf(run.tap);
  const bad = points.filter(({ ok }) => !ok).map(({ title }) => `${run.file}: ${title}`);
  const ok = run.code === 0 && bad.length === 0;
  if (!ok && bad.length === 0) bad.push(`${run.file}: ${endOf(run)}`);
  const skipped = points.filter(({ skip }) => skip !== undefined);
  const passed = points.filter((point) => point.ok && point.skip === undefined).length + (points.length === 0 && ok ? 1 : 0);
  const counted = `${points.length} test${points.length === 1 ? '' : 's'}${skipped.length ? `, ${skipped.length} skipped` : ''}`;
  say(`${ok ? 'ok  ' : 'FAIL'}  ${run.file}  ${counted}, ${(run.ms / 1_000).toFixed(1)} s`);
  for (const { title, skip } of skipped) say(`      skipped: ${title} (${skip || 'no reason given'})`);
  for (const line of run.leftRunning) say(`      left running, ended now: ${line}`);
  if (run.leftFiles.length > 0) say(`      left behind, removed now: ${run.leftFiles.slice(0, 5).join(', ')}`);
  if (!ok) {
    const told = [...failures(run.tap), ...(run.code === 0 || run.code === 1 ? [] : [endOf(run)])];
    if (run.stderr !== '') told.push('stderr:', ...run.stderr.trimEnd().split('\n').slice(-40));
    for (const line of told) say(`      ${line}`);
  }
  return { file: run.file, bad, counts: { passed, failed: bad.length, skipped: skipped.length } };
}

function endOf({ code, signal, overdue, ms }: FileRun): string {
  const how = signal ? `ended by ${signal}` : `ended with ${code}`;
  return overdue ? `did not end within ${Math.round(ms / 1_000)} s and was ended with all it had started (${how})` : how;
}
