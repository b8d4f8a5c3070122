/**
 * Changes `.env` one variable at a time: everything else in the file stays as it is, comments and order too. Whatever is
 * written is read back the way workers read it before it replaces the file; what cannot be kept exactly is refused.
 */
import { parseEnv } from 'node:util';
import { readRegularText, unreadableWhy } from '../base/regularFile.ts';
import { AgentError, errnoOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { writeFileAtomic } from './atomicFile.ts';
import { withFileLock } from './lock.ts';

export const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** They decide what processes are before `.env` is read: there they would be without effect, or a trap. */
const NEVER_HERE = /^(?:AGENT_HOME|AGENT_PROFILE|AGENT_SLOT.*|PATH|HOME|SHELL|NODE_OPTIONS|NODE_PATH|LD_.*|DYLD_.*|BASH_ENV|ENV|IFS)$/;

/** Errors: ENV_INVALID, DISK_FULL, HOME_UNUSABLE, LOCK_HELD. Answers whether it stood there before. */
export async function setEnvValue(path: string, name: string, value: string): Promise<{ replaced: boolean }> {
  requireName(name);
  if (NEVER_HERE.test(name)) {
    throw refused(`${name} is read before .env is, so it has no effect there`, 'set it where the service is started');
  }
  if (value === '') throw refused(`${name} has no value`, `to remove it: agent env unset ${name}`);
  if (Buffer.byteLength(value) > limits.env.valueMaxBytes) {
    throw refused(`the value of ${name} is larger than ${limits.env.valueMaxBytes} bytes`, 'keep it in a file and name the file');
  }
  const written = quoted(name, value);
  return withFileLock(path, () => {
    const text = readText(path);
    const last = entriesOf(text).findLast((entry) => entry.name === name);
    const line = `${name}=${written}\n`;
    const after = last
      ? text.slice(0, last.start) + line + text.slice(last.end)
      : `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}`;
    save(path, after, { ...parseEnv(text), [name]: value });
    return { replaced: last !== undefined };
  });
}

/** Errors: ENV_INVALID, DISK_FULL, HOME_UNUSABLE, LOCK_HELD. Answers whether it was there. */
export async function unsetEnvValue(path: string, name: string): Promise<{ removed: boolean }> {
  requireName(name);
  return withFileLock(path, () => {
    const text = readText(path);
    const found = entriesOf(text).filter((entry) => entry.name === name);
    if (found.length === 0) return { removed: false };
    const after = found.toReversed().reduce((left, { start, end }) => left.slice(0, start) + left.slice(end), text);
    const { [name]: _gone, ...others } = parseEnv(text);
    save(path, after, others);
    return { removed: true };
  });
}

/** Name and value of all that stands in the file. Errors: HOME_UNUSABLE. */
export const readEnvVariables = (path: string): NodeJS.Dict<string> => parseEnv(readText(path));

function save(path: string, text: string, wanted: NodeJS.Dict<string>): void {
  if (Buffer.byteLength(text) > limits.env.fileMaxBytes) {
    throw refused(`${path} would be larger than ${limits.env.fileMaxBytes} bytes`, 'remove what is no longer needed');
  }
  const read = parseEnv(text);
  const names = new Set([...Object.keys(read), ...Object.keys(wanted)]);
  for (const name of names) {
    if (read[name] === wanted[name]) continue;
    throw refused(`${name} cannot be written without changing what is read back`, `edit ${path} by hand`);
  }
  writeFileAtomic(path, text);
}

interface Entry {
  name: string;
  start: number;
  /** Behind its line break. */
  end: number;
}

/** As `parseEnv` takes it apart: a quoted value may go over several lines, what follows the quote is a comment. */
const ENTRY = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`|)[^\n]*(?:\n|$)/gm;

function entriesOf(text: string): Entry[] {
  return [...text.matchAll(ENTRY)].map((match) => ({ name: match[1]!, start: match.index, end: match.index + match[0].length }));
}

/** Numbers of the lines that set nothing and are no comment: such a file is damaged, or was written by hand in another form. */
export function badLines(path: string): number[] {
  const rest = readText(path).replace(ENTRY, (entry) => entry.replaceAll(/[^\n]/g, ''));
  return rest.split('\n').flatMap((line, index) => (/^\s*(?:#|$)/.test(line) ? [] : [index + 1]));
}

/** No quote can be escaped in this format: the first that does not occur in the value is taken. */
function quoted(name: string, value: string): string {
  // eslint-disable-next-line no-control-regex -- what a text file cannot hold
  if (/[\0\r]/.test(value))
    throw refused(`the value of ${name} holds a character that .env cannot hold`, 'use line feeds alone between lines');
  if (/^[\w./:@%+,=~-]+$/.test(value)) return value;
  if (!value.includes("'")) return `'${value}'`;
  if (!value.includes('`')) return `\`${value}\``;
  if (!value.includes('"') && !value.includes('\\n')) return `"${value}"`;
  throw refused(`the value of ${name} holds all three kinds of quotes, which .env cannot say`, 'use another value');
}

function readText(path: string): string {
  try {
    return readRegularText(path);
  } catch (cause) {
    if (errnoOf(cause) === 'ENOENT') return '';
    throw new AgentError('HOME_UNUSABLE', `cannot read ${path} (${unreadableWhy(cause)})`, {
      cause,
      fix: `chmod 600 ${path} and own it`,
    });
  }
}

function requireName(name: string): void {
  if (ENV_NAME.test(name)) return;
  throw refused(`"${name.slice(0, 60)}" is not the name of a variable`, 'letters, digits and _, not beginning with a digit, at most 128');
}

const refused = (message: string, fix: string): AgentError => new AgentError('ENV_INVALID', message, { fix });
