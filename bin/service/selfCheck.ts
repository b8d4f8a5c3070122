/**
 * `agentd --check`: could this installation run at all? Asked as the user, with the environment and on the
 * Node that the service will have, before anything is installed.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isAgentError, messageOf } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { manifest } from '../../services/manifest.ts';
import { openHome, prepareHome } from '../../state/home.ts';
import { release } from '../../state/release.ts';
import { loadNative, nativeModules } from './nativeModules.ts';

/** Lowest Node that runs the product; where npm brings a pinned one, npm itself may run on an older (package.json, engines). */
export const NODE_MIN = [24, 12] as const;

/** One line per fault on stderr. Answers 0, or 78. */
export async function selfCheck(): Promise<number> {
  const faults = [...nodeFaults(), ...entryFaults(), ...homeFaults(), ...(await nativeFaults())];
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  return faults.length ? exitCodes.config : exitCodes.ok;
}

export function nodeIsNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]);
}

const nodeFaults = (): string[] =>
  nodeIsNewEnough(process.version) ? [] : [`${process.execPath} is Node ${process.version}; it takes ${NODE_MIN.join('.')} or newer`];

function entryFaults(): string[] {
  const { codeRoot, built } = release();
  return manifest
    .map(({ entry }) => join(codeRoot, `${entry}.${built ? 'js' : 'ts'}`))
    .filter((file) => !existsSync(file))
    .map((file) => `${file} is missing`);
}

function homeFaults(): string[] {
  try {
    prepareHome(openHome());
    return [];
  } catch (thrown) {
    return [`${messageOf(thrown)}${isAgentError(thrown) && thrown.fix ? ` (${thrown.fix})` : ''}`];
  }
}

async function nativeFaults(): Promise<string[]> {
  const faults = await Promise.all(nativeModules.map(async (name) => ({ name, fault: await loadNative(name) })));
  return faults.flatMap(({ name, fault }) => (fault === undefined ? [] : [`${name} does not load: ${fault}`]));
}
