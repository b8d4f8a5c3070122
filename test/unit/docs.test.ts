/** The pages of the documentation against the product: links, commands, settings, routes, variables, codes. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t from 'tap';
import { errorTable } from '../../base/errors.ts';
import type { Command } from '../../bin/command.ts';
import { commandTable } from '../../bin/commandTable.ts';
import { parseFlags } from '../../bin/flags.ts';
import { globalOptions } from '../../bin/parse.ts';
import { httpRoutes } from '../../ipc/contracts/http/table.ts';
import { configForm } from '../../state/config/fields.ts';
import { projectRoot } from '../harness/worker.ts';

interface Page {
  /** Below the root. */
  file: string;
  text: string;
}

const pages = [
  ...readdirSync(projectRoot).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(projectRoot, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
].map((file): Page => ({ file, text: readFileSync(join(projectRoot, file), 'utf8') }));
/** Decisions speak of their day; BENCHMARKS of commands that measure. */
const current = pages.filter(({ file }) => !file.startsWith('docs/adr/'));

/** Has dots and begins like a section of config.yaml, and is none of its keys. */
const FILE_OR_HOST = /\.(?:log|lock\*?|org)$/;
/** Written like a file of the sources: a folder of the home, and folders that stand for any. */
const NO_SOURCE = /^(?:scripts\/blueprints\/|services\/[xy])$/;

t.test('the pages are really read', async (t) => {
  t.ok(pages.length > 50, `${pages.length} pages`);
});

t.test('every link leads to a file and a heading that are there, every picture is shown somewhere', async (t) => {
  const faults: string[] = [];
  const shown = new Set<string>();
  for (const { file, text } of pages) {
    for (const [, target] of withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue;
      const [path, anchor] = target!.split('#') as [string, string?];
      const full = path ? join(projectRoot, dirname(file), path) : join(projectRoot, file);
      if (!existsSync(full)) faults.push(`${file}: ${target} is not there`);
      else if (anchor && !headings(readFileSync(full, 'utf8')).has(anchor)) faults.push(`${file}: ${target} has no such heading`);
      shown.add(relative(projectRoot, full));
    }
  }
  t.same(faults, []);
  t.same(
    readdirSync(join(projectRoot, 'docs', 'images')).filter((name) => !shown.has(join('docs', 'images', name))),
    [],
  );
});

t.test('every page and every decision is reached from README.md or ARCHITECTURE.md', async (t) => {
  const linked = new Set(
    pages.flatMap(({ file, text }) =>
      [...text.matchAll(/\]\(([^)\s#]+)/g)].map(([, target]) => relative(projectRoot, join(projectRoot, dirname(file), target!))),
    ),
  );
  t.same(
    pages.map(({ file }) => file).filter((file) => file.startsWith('docs/') && !linked.has(file)),
    [],
  );
  const index = pages.find(({ file }) => file === 'ARCHITECTURE.md')!.text;
  t.same(
    pages.map(({ file }) => file).filter((file) => file.startsWith('docs/adr/') && !index.includes(file)),
    [],
    'not in the table of decisions',
  );
});

t.test('every command that a page shows exists, with the options it is given', async (t) => {
  const verbs = await Promise.all(commandTable.map(async ({ load }) => (await load()).command));
  const lines = current.flatMap(({ file, text }) => commandLines(text).map((words) => ({ file, words })));
  t.ok(lines.length > 400, `${lines.length} command lines`);
  t.same([...new Set(lines.flatMap(({ file, words }) => faultsOf(words, verbs).map((fault) => `${file}: ${fault}`)))], []);
});

t.test('every command that an error advises exists, with the options it is given', async (t) => {
  const verbs = await Promise.all(commandTable.map(async ({ load }) => (await load()).command));
  const advice = ['agent', 'base', 'bin', 'chat', 'ipc', 'launchd', 'services', 'state', 'supervisor', 'systemd'].flatMap((folder) =>
    readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => advicesIn(readFileSync(join(projectRoot, folder, name), 'utf8'))),
  );
  const lines = advice.flatMap((text) => commandLines(text.startsWith('agent ') ? `\`${text.split(/[;,:] /)[0]}\`` : text));
  t.ok(lines.length > 60, `${lines.length} commands`);
  t.same([...new Set(lines.flatMap((words) => faultsOf(words, verbs)))], []);
});

t.test('no number stands for two error codes', async (t) => {
  const numbers = Map.groupBy(Object.entries(errorTable), ([, { rpc }]) => rpc);
  t.same(
    [...numbers.values()].filter((rows) => rows.length > 1).map((rows) => rows.map(([code]) => code)),
    [],
  );
});

t.test('every setting of config.yaml is on a page, and every setting that a page names exists', async (t) => {
  const keys = Object.keys(configForm().fields);
  const sections = new Set(keys.map((key) => key.split('.')[0]));
  const words = current.map(({ text }) => text).join('\n');
  const listed = new Set(
    current.flatMap(({ text }) => [...text.matchAll(/^\| (`[a-z_.<>`, ]+) \|/gm)].flatMap(([, cell]) => keysOf(cell!))),
  );
  t.same(
    keys.filter((key) => !listed.has(key) && !words.includes(`\`${key}\``)),
    [],
    'told nowhere',
  );
  const named = [...words.matchAll(/`([a-z_]+(?:\.[a-z_<>*]+)+)`/g)]
    .map(([, key]) => key!)
    .filter((key) => sections.has(key.split('.')[0]) && !FILE_OR_HOST.test(key));
  t.ok(named.length > 100);
  t.same([...new Set(named.filter((key) => !isKey(key, keys)))], [], 'not in the schema');
});

t.test('every route, error code and source file that a page names exists', async (t) => {
  const routes = new Set(httpRoutes.map(({ method, path }) => `${method} ${path}`));
  const codes = new Set<string>(Object.keys(errorTable));
  const faults: string[] = [];
  for (const { file, text } of current) {
    for (const [, methods, path] of text.matchAll(/`((?:(?:GET|POST|PUT|PATCH|DELETE)\|?)+) (\/api\/[a-z/{}<>_:.-]+)/g)) {
      for (const method of methods!.split('|')) {
        const route = `${method} ${path!.replaceAll(/[{<](\w+)[}>]/g, ':$1')}`;
        if (!routes.has(route)) faults.push(`${file}: no route ${route}`);
      }
    }
    for (const [, code] of text.matchAll(/`([A-Z]{2,}(?:_[A-Z]+)+)`/g)) {
      if (!codes.has(code!) && /_(?:FAILED|INVALID|HELD|FULL|GONE|CUT|MISMATCH|CORRUPT|UNUSABLE|EXHAUSTED|OVERFLOW|IN_USE)$/.test(code!))
        faults.push(`${file}: no code ${code}`);
    }
    for (const [, path] of text.matchAll(/`((?:base|ipc|state|supervisor|services|agent|chat|web|bin|test|scripts|docs)\/[\w./-]+)`/g)) {
      if (!NO_SOURCE.test(path!) && !existsSync(join(projectRoot, path!))) faults.push(`${file}: no file ${path}`);
    }
  }
  t.same(faults, []);
});

/** The texts of `fix` in a source. */
function advicesIn(source: string): string[] {
  return [...source.matchAll(/\bfix: (['`"])((?:\\.|(?!\1)[^\\\n])*)\1/g)].map(([, , text]) =>
    text!.replaceAll('\\`', '`').replaceAll(/\$\{[^}]*\}/g, '<x>'),
  );
}

/** Text without code blocks and inline code. */
function withoutCode(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '').replaceAll(/`[^`\n]+`/g, '');
}

/** Anchors of a page, as GitHub and its like make them. */
function headings(text: string): Set<string> {
  const lines = text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '').matchAll(/^#{1,6} (.+)$/gm);
  return new Set(
    [...lines].map(([, title]) =>
      title!
        .toLowerCase()
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}

/** Words of each `agent …` in blocks of a shell and in inline code. */
function commandLines(text: string): string[][] {
  const blocks = [...text.matchAll(/^ *```(?:sh)?\n([\s\S]*?)^ *```/gm)].flatMap(([, block]) => typed(block!));
  const inline = [...text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);
  return [...blocks, ...inline].flatMap((line) =>
    line
      .replace(/^\$ /, '')
      .replace(/\\\|/g, ' | ')
      .split(/ (?:\||&&|;|#|>>?|2>) |\s{2,}|\$\(|<\(/)
      .map(
        (part) =>
          /^(?:(?:[A-Z_]+=\S+|sudo|npx|exec|docker compose exec agent|ssh \w+|pass show \w+) )*agent (.+?)\)?$/.exec(part.trim())?.[1],
      )
      .filter((part) => part !== undefined)
      .map((part) => part.match(/"[^"]*"|'[^']*'|\S+/g) ?? []),
  );
}

/** Lines of a block that are typed: in a picture none, beside output those behind a prompt. */
function typed(block: string): string[] {
  const lines = block.split('\n');
  if (/[─│►]/.test(block)) return [];
  return lines.some((line) => line.startsWith('$ ')) ? lines.filter((line) => line.startsWith('$ ')) : lines;
}

/** What of these words the command line would refuse. */
function faultsOf(words: string[], verbs: Command[]): string[] {
  const given = [...words];
  const shown = `agent ${words.join(' ')}`;
  if (given[0] === '-p') given.splice(0, 2);
  if (/^-[zcqr]$/.test(given[0] ?? '')) given.unshift('chat');
  const verb = given.shift();
  if (verb === undefined || /^[…<[-]/.test(verb)) return [];
  let found = verb.split('|').map((name) => verbs.find((command) => command.name === name));
  if (found.includes(undefined)) return [`no command: ${shown}`];
  let command = found[0]!;
  while (given[0] !== undefined && command.commands) {
    found = given[0].split('|').map((name) => command.commands!.find((child) => child.name === name));
    if (found.includes(undefined)) {
      if (!command.arguments && !/^[…<[-]/.test(given[0])) return [`no sub-command: ${shown}`];
      break;
    }
    command = found[0]!;
    given.shift();
  }
  const end = command.restOption ? given.indexOf(command.restOption) : -1;
  const flags = [...(command.options ?? []), ...globalOptions].map((option) => parseFlags(option.flags));
  return given
    .slice(0, end < 0 ? undefined : end)
    .map((word) => word.replaceAll(/[[\],]/g, ''))
    .filter((word) => /^-{1,2}[a-zA-Z]/.test(word))
    .map((word) => word.split('=')[0]!)
    .filter((word) => !flags.some(({ short, long, negated }) => word === `-${short}` || word === `--${negated ? 'no-' : ''}${long}`))
    .map((word) => `no option ${word}: ${shown}`);
}

/** The keys of a cell: `a.b`, `c` means a.b and a.c. */
function keysOf(cell: string): string[] {
  const [first, ...rest] = [...cell.matchAll(/`([^`]+)`/g)].map(([, key]) => key!);
  if (first === undefined) return [];
  const section = first.split('.').slice(0, -1).join('.');
  const all = [first, ...rest.map((key) => (key.includes('.') || !section ? key : `${section}.${key}`)), ...rest];
  return all.map((key) => key.replace(/\.<[^>]+>.*/, ''));
}

/** `platforms.irc` lies in a field with names of its own, `dashboard.oauth` is the beginning of fields. */
function isKey(key: string, keys: readonly string[]): boolean {
  return keys.some((known) => known === key || key.startsWith(`${known}.`) || known.startsWith(`${key}.`) || key.endsWith('.*'));
}
