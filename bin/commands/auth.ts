/** `agent auth …`: signing in at model providers. The agent worker runs the flow and keeps the tokens; the dashboard asks the same. */
import { createInterface } from 'node:readline';
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { painter } from '../../base/paint.ts';
import { sleep } from '../../base/time.ts';
import {
  signInCancel,
  signInPoll,
  signInProviders,
  signInStart,
  signInSubmit,
  signOut,
  type SignInProvider,
  type SignInStarted,
} from '../../ipc/contracts/rpcSignIn.ts';
import type { Link } from '../../ipc/link.ts';
import { jsonOption, type Argument, type Command, type Input } from '../command.ts';
import { note, out, print, printJson, table } from '../terminal.ts';
import { withAgent } from '../withAgent.ts';

const provider: Argument = { name: 'provider', summary: 'its name under providers in config.yaml' };

export const command: Command = {
  name: 'auth',
  summary: 'Sign in at model providers',
  details: 'For providers with a sign-in instead of a key: providers.<name>.oauth in config.yaml.',
  examples: [{ line: 'agent auth login work-llm', does: 'prints an address or a code, and waits' }],
  commands: [
    {
      name: 'login',
      summary: 'Sign in; waits until it is done',
      arguments: [provider],
      options: [jsonOption],
      examples: [{ line: 'agent auth login work-llm', does: 'on another machine: paste the address where the browser ended' }],
      run: (input) => withAgent(input, (link) => login(link, input)),
    },
    {
      name: 'status',
      summary: 'Show which providers offer a sign-in, and whether one serves',
      arguments: [{ ...provider, optional: true }],
      options: [jsonOption],
      examples: [{ line: 'agent auth status --json', does: 'with the end of each token' }],
      run: (input) => withAgent(input, (link) => status(link, input)),
    },
    {
      name: 'logout',
      summary: 'Sign out: forgets the tokens',
      arguments: [provider],
      options: [jsonOption],
      examples: [{ line: 'agent auth logout work-llm', does: 'the provider asks for a sign-in again' }],
      run: (input) => withAgent(input, (link) => logout(link, input)),
    },
  ],
};

const POLL_MS = 1_000;

async function login(link: Link, input: Input): Promise<number> {
  const id = input.args[0]!;
  const started = await link.call(signInStart, { provider: id });
  show(started, id);
  const leaving = new AbortController();
  const leave = () => leaving.abort(new AgentError('CANCELLED', `signing in at ${id} was given up`, { fix: `agent auth login ${id}` }));
  process.once('SIGINT', leave);
  const lines = started.flow === 'pkce' && process.stdin.isTTY ? createInterface({ input: process.stdin }) : undefined;
  lines?.on('line', (line) => void submit(link, started.flow_id, line));
  lines?.on('SIGINT', leave);
  try {
    await untilDone(link, started, leaving.signal);
  } catch (thrown) {
    await link.call(signInCancel, { flow_id: started.flow_id }).catch(() => {});
    throw thrown;
  } finally {
    lines?.close();
    process.off('SIGINT', leave);
  }
  if (input.json) printJson({ provider: id, status: 'approved' });
  else print(`Signed in at ${id}.`);
  return exitCodes.ok;
}

function show(started: SignInStarted, id: string): void {
  if (started.flow === 'device_code') {
    note(`Open ${started.verification_url} on any device and enter this code:\n\n    ${started.user_code}\n`);
    if (started.verification_url_complete) note(`Or open ${started.verification_url_complete}\n`);
    note('Waiting…');
    return;
  }
  note(`Open this address in a browser to sign in at ${id}:\n\n${started.auth_url}\n`);
  note('Waiting… When the browser runs on another machine and ends at an address that does not open, paste that address here.');
}

async function submit(link: Link, flow_id: string, line: string): Promise<void> {
  const code = line.trim();
  if (code === '') return;
  const { ok, message } = await link.call(signInSubmit, { flow_id, code });
  if (!ok && message) note(`agent: ${message}`);
}

async function untilDone(link: Link, { flow_id, expires_in }: SignInStarted, signal: AbortSignal): Promise<void> {
  const deadlineMs = Date.now() + (expires_in + 60) * 1_000;
  let said: string | null = null;
  while (Date.now() < deadlineMs) {
    await sleep(POLL_MS, signal);
    const { status: now, error_message } = await link.call(signInPoll, { flow_id });
    if (now === 'approved') return;
    if (now !== 'pending') {
      throw new AgentError('PROVIDER_SIGN_IN_FAILED', `the sign-in ended: ${now}${error_message ? ` (${error_message})` : ''}`, {
        fix: 'begin again',
      });
    }
    if (error_message !== null && error_message !== said) note(`agent: ${error_message}; it is tried again`);
    said = error_message;
  }
  throw new AgentError('TIMEOUT', 'nobody finished the sign-in in time', { fix: 'begin again' });
}

async function status(link: Link, input: Input): Promise<number> {
  const [wanted] = input.args;
  const { providers } = await link.call(signInProviders, {});
  const shown = providers.filter(({ id }) => wanted === undefined || id === wanted);
  if (wanted !== undefined && shown.length === 0) {
    throw new AgentError('NOT_FOUND', `provider ${wanted} offers no sign-in`, { fix: 'agent auth status lists those that do' });
  }
  if (input.json) printJson({ providers: shown });
  else if (shown.length === 0) note('agent: no provider in config.yaml offers a sign-in — docs/models.md, Signing in');
  else print(table(shown.map(rowText)));
  // For scripts: a named provider that is not signed in is a failure.
  return wanted !== undefined && !shown[0]!.status.logged_in ? exitCodes.failed : exitCodes.ok;
}

function rowText({ id, flow, status: { logged_in, expires_at, error }, cli_command }: SignInProvider): string[] {
  const paint = painter(out);
  const state = logged_in ? paint('green', 'signed in') : paint('yellow', error ?? 'not signed in');
  const more = logged_in
    ? expires_at
      ? `token until ${new Date(expires_at).toLocaleString('sv-SE')}, renewed by itself`
      : ''
    : cli_command;
  return [id, flow.replace('_', ' '), state, paint('dim', more)];
}

async function logout(link: Link, input: Input): Promise<number> {
  const id = input.args[0]!;
  await link.call(signOut, { provider: id });
  if (input.json) printJson({ provider: id, status: 'signed_out' });
  else print(`Signed out of ${id}.`);
  return exitCodes.ok;
}
