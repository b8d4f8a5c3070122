/** `agent prompt-size`: what every prompt costs before anybody has said a word. */
import { resolve } from 'node:path';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import { promptSize } from '../../ipc/contracts/rpcSessions.ts';
import type { ResultOf } from '../../ipc/method.ts';
import { withAgent } from '../withAgent.ts';
import { jsonOption, textOption, type Command, type Input } from '../command.ts';
import { out, print, printJson, table, visibleWidth } from '../terminal.ts';

export const command: Command = {
  name: 'prompt-size',
  summary: 'Measure the fixed part of every prompt',
  details:
    'Instructions, memory, skills index, context files and the schemas of tools, in bytes and estimated tokens. ' +
    'With no service running it starts the agent worker in the background, as `agent chat` does.',
  options: [
    { flags: '--platform <name>', summary: 'cli (default), tui, desktop, api, cron, or a chat platform' },
    { flags: '--cwd <dir>', summary: 'with the context files of this directory (default: the current one)', complete: 'file' },
    jsonOption,
  ],
  examples: [
    { line: 'agent prompt-size', does: 'of a terminal chat' },
    { line: 'agent prompt-size --platform irc', does: 'of a chat on IRC, with the tools it has there' },
    { line: 'agent prompt-size --cwd . --json', does: 'with the context files of this project, as JSON' },
  ],
  run,
};

async function run(input: Input): Promise<number> {
  const platform = textOption(input, 'platform');
  // A chat on a platform has no directory of its own; one in a terminal starts where it is called.
  const cwd = textOption(input, 'cwd') ?? (platform === undefined ? '.' : undefined);
  const size = await withAgent(input, (link) =>
    link.call(promptSize, { ...(platform ? { platform } : {}), ...(cwd === undefined ? {} : { cwd: resolve(cwd) }) }),
  );
  if (input.json) printJson(size);
  else print(sizeTables(size));
  return exitCodes.ok;
}

function sizeTables({ platform, categories, total_bytes, total_tokens, tools, context_files }: ResultOf<typeof promptSize>): string {
  const paint = painter(out);
  const head = (...titles: string[]) => titles.map((title) => paint('dim', title));
  const sizes = ({ bytes, tokens }: { bytes: number; tokens: number }) => [number(bytes), `~${number(tokens)}`];
  const parts = categories.map((category) => [...sizes(category), category.label]);
  const total = [number(total_bytes), `~${number(total_tokens)}`, paint('bold', `Total on ${platform}`)];
  const sections = [rightTable([head('BYTES', 'TOKENS', 'PART'), ...parts, total])];
  if (tools.length > 0) sections.push(rightTable([head('BYTES', 'TOKENS', 'TOOL'), ...tools.map((tool) => [...sizes(tool), tool.name])]));
  if (context_files.length > 0) {
    const files = context_files.map(({ path, chars, est_tokens, status }) => [number(chars), `~${number(est_tokens)}`, status, path]);
    sections.push(rightTable([head('CHARS', 'TOKENS', 'STATUS', 'FILE'), ...files]));
  }
  return sections.join('\n\n');
}

/** The first two columns are numbers. */
function rightTable(rows: string[][]): string {
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => visibleWidth(row[column]!))));
  return table(rows.map((row) => row.map((cell, column) => (column < 2 ? ' '.repeat(widths[column]! - visibleWidth(cell)) + cell : cell))));
}

const number = (value: number): string => String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
