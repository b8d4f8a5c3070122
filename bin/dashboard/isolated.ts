/**
 * `agent dashboard --isolated`: a dashboard of one profile alone, as this very process, beside the one of the
 * machine. The service gives it its agents; it ends with the terminal it was started in.
 */
import { pathToFileURL } from 'node:url';
import { existsSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { loginCode } from '../../ipc/contracts/dashboard.ts';
import { report } from '../../ipc/contracts/peer.ts';
import { dial } from '../../ipc/dial.ts';
import { loadConfig } from '../../state/config/load.ts';
import { DEFAULT_PROFILE, prepareHome, readToken, type Home } from '../../state/home.ts';
import type { Input } from '../command.ts';
import { settleProcess } from '../init.ts';
import { ensureSupervisor } from '../launch.ts';
import { openBrowser } from '../openBrowser.ts';
import { keptEntry } from '../runningCode.ts';
import { addressOf } from '../startService.ts';
import { note, print, printJson } from '../terminal.ts';
import { startInstalled } from '../service/startInstalled.ts';
import { sayOpened } from './open.ts';

export async function isolated(home: Home, input: Input): Promise<number> {
  settleProcess();
  prepareHome(home);
  const { profile } = input;
  const slot = `dashboard@${profile}`;
  const agent = profile === DEFAULT_PROFILE ? 'agent' : `agent@${profile}`;
  if (existsSync(home.run.socket(slot))) await refuseSecond(home, slot);
  // Held open: a service that was started for this leaves some minutes after its last client.
  const service = (await startInstalled(home)) ?? (await ensureSupervisor(home, { only: [agent] }));
  const { host, port, insecure } = addressOf(input);
  const paths = home.profile(profile);
  Object.assign(process.env, {
    AGENT_SLOT: slot,
    AGENT_PROFILE: profile,
    // The usual port is the machine's own; without a word about it, any free one.
    AGENT_DASHBOARD_PORT: String(port ?? (profile === DEFAULT_PROFILE ? 0 : (loadConfig(home, paths).config.dashboard?.port ?? 0))),
    ...(host === undefined ? {} : { AGENT_DASHBOARD_HOST: host }),
    ...(insecure ? { AGENT_DASHBOARD_INSECURE: '1' } : {}),
  });
  delete process.env.AGENT_SLOT_NONCE;
  // It ends the process by itself, with the exit codes of a worker.
  void import(pathToFileURL(keptEntry(home, 'services/dashboard/main')).href);
  await announce(home, slot, input);
  await service.link.closed;
  note('agent: the service ended; chats go on when it is back (`agent up`)');
  return new Promise<never>(() => {});
}

async function refuseSecond(home: Home, slot: string): Promise<void> {
  const other = await dial(home.run.socket(slot), { token: readToken(home) ?? '', slot: 'cli' }).catch(() => undefined);
  if (!other) return;
  const { facts, pid } = await other.call(report, {});
  other.close();
  throw new AgentError('ALREADY_RUNNING', `a dashboard of this profile alone already runs (process ${pid})`, {
    fix: `it is at ${String(facts.address)}`,
  });
}

async function announce(home: Home, slot: string, input: Input): Promise<void> {
  using link = await dial(home.run.socket(slot), { token: readToken(home) ?? '', slot: 'cli', startingMs: limits.worker.startupMs });
  const { facts } = await link.call(report, {});
  const address = String(facts.address);
  const addressWithCode = async () => {
    const { code } = await link.call(loginCode, {});
    return code === null ? address : `${address}#code=${code}`;
  };
  const shown = await addressWithCode();
  const opened = input.options.open !== false && !input.json && (await openBrowser(await addressWithCode()));
  if (input.json) return printJson({ dashboard: shown, profile: input.profile, isolated: true, pid: process.pid });
  print(`Dashboard of ${input.profile} alone: ${shown}`);
  if (input.options.open !== false) sayOpened(opened, address);
  note('Ctrl-C ends it; the service goes on.');
}
