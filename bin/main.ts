/**
 * `agent`: looks at the words, loads the one module that the verb needs, and leaves with the exit code
 * of contract §4. Anything heavier than reading words belongs into `commands/`.
 */
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { AgentError } from '../base/errors.ts';
import { commandTable, type TableEntry } from './commandTable.ts';
import { activeProfile } from '../state/activeProfile.ts';
import { openHome, requireProfile } from '../state/home.ts';
import { adoptRecordedHome } from './recordedHome.ts';
import { missingSubcommand, parseInput, resolve } from './parse.ts';
import { unknownName } from './suggest.ts';
import { exitCodeOf, print, printError } from './terminal.ts';

// Everything has been written by now: nothing is cut off by leaving at once.
process.exit(await main(process.argv.slice(2)));

async function main(words: string[]): Promise<number> {
  const { verb, rest, profile } = splitGlobals(words);
  try {
    adoptRecordedHome();
    if (profile === '') throw new AgentError('USAGE', '-p needs the name of a profile', { fix: '`agent profile list` shows the names' });
    if (verb === undefined || verb === 'help') return await help(verb === 'help' ? rest : []);
    if (verb === '--version' || verb === '-V') return await version();
    const entry = await find(verb);
    if (!entry.hot) cacheCompiledCode();
    const resolved = resolve((await entry.load()).command, rest);
    if (resolved.help) return await showHelp(resolved);
    const { run } = resolved.command;
    if (!run) throw missingSubcommand(resolved);
    const input = await parseInput(resolved, { profile: profile ?? activeProfile(openHome()), hot: entry.hot ?? false });
    if (input.profile !== 'default') requireProfile(openHome(), input.profile);
    return await run(input);
  } catch (thrown) {
    printError(thrown, words.includes('--json'));
    return exitCodeOf(thrown);
  }
}

/** The verb, and what stands before it: `-p`, `--json`, `--help`, `--version`. */
function splitGlobals(words: string[]): { verb: string | undefined; rest: string[]; profile: string | undefined } {
  let profile: string | undefined;
  const early: string[] = [];
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at]!;
    if (word === '-p' || word === '--profile') profile = words[++at] ?? '';
    else if (word.startsWith('--profile=')) profile = word.slice('--profile='.length);
    else if (word === '--json') early.push(word);
    else break;
  }
  const verb = words[at];
  // `agent -z "…"`, `agent -c`, `agent -r <id>` are the chat.
  if (verb !== undefined && isChatFlag(verb)) return { verb: 'chat', rest: [...early, ...words.slice(at)], profile };
  const asksHelp = verb === '--help' || verb === '-h';
  return { verb: asksHelp ? undefined : verb, rest: [...early, ...words.slice(at + 1)], profile };
}

function isChatFlag(word: string): boolean {
  return /^(?:-[zcrqi]|--(?:oneshot|continue|resume|query|interactive|tui|cli|safe-mode)(?:=.*)?)$/.test(word);
}

async function find(verb: string): Promise<TableEntry> {
  const entry = commandTable.find(({ name }) => name === verb);
  if (entry) return entry;
  throw unknownName(
    'command',
    verb,
    commandTable.map(({ name }) => name),
  );
}

/** Compiled code is kept in the home, if there is one: a fifth off the start of everything that speaks to the service. */
function cacheCompiledCode(): void {
  const { cache } = openHome();
  if (existsSync(cache)) enableCompileCache(join(cache, 'compile'));
}

async function help([verb, ...rest]: string[]): Promise<number> {
  if (verb !== undefined) return showHelp(resolve((await (await find(verb)).load()).command, rest));
  const { overview } = await import('./help.ts');
  print(overview(commandTable));
  return 0;
}

async function showHelp({ command, path }: ReturnType<typeof resolve>): Promise<number> {
  const { commandHelp } = await import('./help.ts');
  print(commandHelp(command, path));
  return 0;
}

async function version(): Promise<number> {
  const { release } = await import('../state/release.ts');
  const { version: number, code } = release();
  print(`agent ${number} (${code}, node ${process.version})`);
  return 0;
}
