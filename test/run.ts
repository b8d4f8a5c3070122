/**
 * `npm test [file …]`: prepares what the tests need, runs tap with two files at a time, prints one line
 * per file and every failure in full, and ends with `N passed, N failed`. Leaves with tap's exit code.
 * A test here is a titled `t.test` of a file; a file without one, or one that died, counts as one.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { holdServices } from './harness/debianPackage.ts';

const root = join(import.meta.dirname, '..');

/** Debian packages and the program that shows that one is there. */
const packages = {
  chromium: '/usr/bin/chromium',
  ngircd: '/usr/sbin/ngircd',
  tmux: '/usr/bin/tmux',
  zsh: '/usr/bin/zsh',
  tini: '/usr/bin/tini',
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

const tapProgram = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs');

const say = (text: string): void => void process.stdout.write(`${text}\n`);

process.chdir(root);
installPackages();
buildPage();
buildTap();
process.exit(await runTap(process.argv.slice(2)));

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

/** tap builds itself for the plugins of .taprc, but the run that notices fails: so it is built before the first run after an install. */
function buildTap(): void {
  const wanted = readFileSync('.taprc', 'utf8');
  const stamp = join(root, 'node_modules', '.cache', 'tap-plugins');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const { status, stdout, stderr } = spawnSync(process.execPath, [tapProgram, 'build'], { encoding: 'utf8', timeout: INSTALL_MS });
  if (status !== 0) throw new Error(`tap could not be built for its plugins:\n${stdout}${stderr}`);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

async function runTap(files: string[]): Promise<number> {
  const tap = spawn(process.execPath, [tapProgram, 'run', '-R', 'tap', '--jobs=2', ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tap.kill(signal));
  const ended = new Promise<number>((resolve) => tap.on('close', (code) => resolve(code ?? 1)));
  const total: Tally = { passed: 0, failed: 0, skipped: 0 };
  let lines: string[] = [];
  let open = false;
  for await (const line of createInterface({ input: tap.stdout })) {
    // A file is complete with its own result and the block that follows it.
    if (open && !line.startsWith(' ')) {
      report(lines, total);
      lines = [];
      open = false;
    }
    lines.push(line);
    if (/^(?:not )?ok /.test(line)) open = true;
  }
  report(lines, total);
  const code = await ended;
  if (code !== 0 && total.failed === 0) total.failed = 1;
  say(`${total.passed} passed, ${total.failed} failed${total.skipped ? `, ${total.skipped} skipped` : ''}`);
  return code;
}

interface Point {
  ok: boolean;
  title: string;
  skip: string | undefined;
  ms: number;
}

function report(lines: string[], total: Tally): void {
  const fileLine = lines.find((line) => /^(?:not )?ok /.test(line));
  if (!fileLine) return;
  const file = readPoint(fileLine)!;
  const points = lines.flatMap((line) => (/^ {4}(?:not )?ok /.test(line) ? [readPoint(line.slice(4))!] : []));
  const count = (wanted: (point: Point) => boolean) => points.filter(wanted).length;
  const skipped = count(({ skip }) => skip !== undefined);
  const failed = Math.max(
    count(({ ok }) => !ok),
    file.ok ? 0 : 1,
  );
  total.passed += count(({ ok, skip }) => ok && skip === undefined) + (points.length === 0 && file.ok ? 1 : 0);
  total.failed += failed;
  total.skipped += skipped;
  say(
    `${file.ok ? 'ok  ' : 'FAIL'}  ${file.title}  ${points.length} test${points.length === 1 ? '' : 's'}${skipped ? `, ${skipped} skipped` : ''}, ${(file.ms / 1_000).toFixed(1)} s`,
  );
  for (const { title, skip } of points) if (skip !== undefined) say(`      skipped: ${title} (${skip || 'no reason given'})`);
  if (!file.ok) say(failures(lines));
}

function readPoint(line: string): Point | undefined {
  const match = /^(not )?ok \d+(?: - (.*?))?(?: # (.*))?$/.exec(line.replace(/ \{$/, ''));
  if (!match) return undefined;
  const [, not, title = '', directive = ''] = match;
  const skip = /^(?:SKIP|TODO)\b\s*(.*)$/i.exec(directive)?.[1];
  return { ok: not === undefined, title, skip, ms: Number(/time=([\d.]+)ms/.exec(directive)?.[1] ?? 0) };
}

/** Each failed line with the diagnostics below it; of a test that only fails through its asserts, the title alone. */
function failures(lines: string[]): string {
  const told: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    if (!/^\s*not ok /.test(line)) continue;
    told.push(line.replace(/ # time=.*$/, ''));
    const indent = /^\s*/.exec(line)![0].length;
    const isAssert = indent >= 8;
    const block: string[] = [];
    for (let j = i + 1; j < lines.length && lines[j]!.startsWith(' '.repeat(indent + 2)); j++) block.push(lines[j]!);
    const wanted = isAssert ? block : indent === 0 ? block.filter((text) => /exitCode|signal|timeout|reason/i.test(text)) : [];
    told.push(...wanted);
  }
  return told.map((line) => `      ${line}`).join('\n');
}
