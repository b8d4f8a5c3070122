/** `agent logs`: reads the files directly, so it works with everything down. */
import { existsSync, readdirSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { parseDurationMs } from '../../base/time.ts';
import { painter } from '../../base/paint.ts';
import { manifest } from '../../services/manifest.ts';
import { openHome, type Home } from '../../state/home.ts';
import { rotatedFiles } from '../../state/logFiles.ts';
import { levels, logNames, type Level } from '../../base/closedWords.ts';
import { logPath } from '../../state/logs.ts';
import { hasFlag, textOption, type Command, type Input } from '../command.ts';
import { endOf, follow } from '../logs/follow.ts';
import { jsonLine, parseLine, passes, renderLine, type LogFilter } from '../logs/line.ts';
import { linesBackwards, tail } from '../logs/tail.ts';
import { readSnapshot } from '../snapshot.ts';
import { unknownName } from '../suggest.ts';
import { note, out, print } from '../terminal.ts';

const LINES_DEFAULT = 50;
const LINES_MAX = 1_000_000;

export const command: Command = {
  name: 'logs',
  summary: 'Read and follow the logs',
  details: `Names: ${logNames.join(', ')}. \`agent\` is the default, \`gui\` is the dashboard, \`errors\` holds warnings and worse of all; a program under services: of config.yaml has a log of its own name. With --json each line is printed as it stands in the file.`,
  arguments: [{ name: 'name', summary: 'which log', optional: true, complete: 'log' }],
  options: [
    { flags: '-n, --lines <count>', summary: `how many of the last lines (default ${LINES_DEFAULT}; with --since all)` },
    { flags: '-f, --follow', summary: 'go on printing what is written, over rotations, until ctrl-C' },
    { flags: '--level <level>', summary: 'this severe or worse', choices: levels, complete: 'level' },
    { flags: '--since <age>', summary: 'not older than this (90s, 10m, 2h, 1d) or than an ISO instant' },
    { flags: '--component <name>', summary: 'only this part of the program' },
    { flags: '--session <id>', summary: 'only this conversation (the beginning of an id will do)' },
    { flags: '--json', summary: 'one JSON object a line' },
  ],
  examples: [
    { line: 'agent logs', does: 'the last 50 lines of the agent worker' },
    { line: 'agent logs gateway -f --level warn', does: 'follow what goes wrong on the chat platforms' },
    { line: 'agent logs errors --since 10m', does: 'warnings and errors of everything, last ten minutes' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const name = input.args[0] ?? logNames[0];
  const home = openHome();
  const paths = name === 'supervisor' ? home : home.profile(input.profile);
  const names = knownLogs(home, paths.logs);
  if (!names.includes(name)) throw unknownName('log', name, names);
  const path = logPath(paths, name);
  const filter = filterOf(input, path);
  const paint = painter(out);
  const show = (raw: string) => {
    const line = parseLine(raw);
    if (passes(line, filter)) print(input.json ? jsonLine(line) : renderLine(line, paint));
  };

  const following = hasFlag(input, 'follow');
  const start = following ? endOf(path) : undefined;
  const lines = tail(path, {
    count: lineCount(input),
    keep: (raw) => passes(parseLine(raw), filter),
    enough: (raw) => filter.sinceMs !== undefined && Date.parse(parseLine(raw).record?.time ?? '') < filter.sinceMs,
    until: start,
  });
  lines.forEach(show);
  if (!following) {
    if (lines.length === 0)
      note(
        rotatedFiles(path).length ? `agent: no line of ${path} fits` : `agent: ${path} does not exist yet — nothing has been logged there`,
      );
    return 0;
  }
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  await follow(path, start, show, stop.signal);
  return 0;
}

/** Those of the service, and those of programs of the user: what they have left there, or may still print. */
function knownLogs(home: Home, dir: string): string[] {
  const found = existsSync(dir) ? readdirSync(dir).filter((file) => file.endsWith('.log')) : [];
  const programs = readSnapshot(home)?.status.workers.filter(({ kind }) => kind === 'sidecar') ?? [];
  return [
    ...new Set([...logNames, ...[...found.map((file) => file.slice(0, -'.log'.length)), ...programs.map(({ slot }) => slot)].toSorted()]),
  ];
}

function lineCount(input: Input): number {
  const text = textOption(input, 'lines');
  if (text === undefined) return textOption(input, 'since') === undefined ? LINES_DEFAULT : LINES_MAX;
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0 || count > LINES_MAX) {
    throw new AgentError('USAGE', `-n takes a whole number from 0 to ${LINES_MAX}, not "${text}"`, {
      fix: 'for example: agent logs -n 200',
    });
  }
  return count;
}

function filterOf(input: Input, path: string): LogFilter {
  const level = textOption(input, 'level');
  const component = textOption(input, 'component');
  if (component !== undefined) requireComponent(component, path);
  const session = textOption(input, 'session');
  const since = textOption(input, 'since');
  return {
    ...(level === undefined ? {} : { level: level as Level }),
    ...(component === undefined ? {} : { component }),
    ...(session === undefined ? {} : { session }),
    ...(since === undefined ? {} : { sinceMs: instantOf(since) }),
  };
}

function instantOf(text: string): number {
  const ageMs = parseDurationMs(text);
  const atMs = ageMs === undefined ? Date.parse(text) : Date.now() - ageMs;
  if (Number.isNaN(atMs))
    throw new AgentError('USAGE', `"${text}" is neither an age nor an instant`, { fix: 'write 90s, 10m, 2h, 1d or 2026-01-31T12:00:00Z' });
  return atMs;
}

/** Valid are the workers' own names and whatever has written to this log. */
function requireComponent(component: string, path: string): void {
  const known = new Set([...manifest.map(({ slot }) => slot), 'supervisor', 'desktop', 'log']);
  if (known.has(component)) return;
  for (const file of rotatedFiles(path)) {
    for (const raw of linesBackwards(file)) {
      const seen = parseLine(raw).record?.component;
      if (seen === component) return;
      if (seen) known.add(seen);
    }
  }
  throw unknownName('component', component, [...known].toSorted());
}
