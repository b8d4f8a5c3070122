/** `agent dashboard`: service up, address printed, browser opened once, logged in. */
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { startSlot, status as statusMethod, type Status } from '../../ipc/contracts/supervisor.ts';
import { DEFAULT_PROFILE, openHome, type Home } from '../../state/home.ts';
import { hasFlag, type Input } from '../command.ts';
import { withSupervisor } from '../connect.ts';
import { openBrowser } from '../openBrowser.ts';
import { withProgress } from '../progress.ts';
import { addressOf, loginAddress, sayKept, startService } from '../startService.ts';
import { causeOf, withoutToken } from '../statusView.ts';
import { note, print, printJson } from '../terminal.ts';

export async function open(input: Input): Promise<number> {
  const home = openHome();
  if (hasFlag(input, 'isolated')) return (await import('./isolated.ts')).isolated(home, input);
  const options = addressOf(input);
  const { status, started } = await startService(home, options);
  const running = await requireDashboard(home, status);
  // A code is good once: the browser gets one of its own, so that the printed address still works.
  const addressWithCode = async () => atProfile((await loginAddress(home, running))!, input.profile);
  const address = await addressWithCode();
  const opened = input.options.open !== false && !input.json && (await openBrowser(await addressWithCode()));
  if (input.json) printJson({ already_running: !started, dashboard: address, profile: input.profile });
  else {
    print(`Dashboard: ${address}`);
    if (input.options.open !== false) sayOpened(opened, withoutToken(running.supervisor.dashboard!));
  }
  if (!started) sayKept(options, status);
  return exitCodes.ok;
}

/** It was stopped by hand, or is parked: whoever asks for it wants it now. Errors: START_FAILED with its reason. */
async function requireDashboard(home: Home, status: Status): Promise<Status> {
  const row = status.workers.find(({ slot }) => slot === 'dashboard');
  if (row?.state === 'ready' && status.supervisor.dashboard) return status;
  return withSupervisor(home, async (link) => {
    await withProgress('starting the dashboard', () =>
      link.call(startSlot, { slot: 'dashboard', drain: true, actor: 'cli', cause: 'agent dashboard' }),
    );
    const now = await link.call(statusMethod, {});
    const again = now.workers.find(({ slot }) => slot === 'dashboard');
    if (again?.state === 'ready' && now.supervisor.dashboard) return now;
    throw new AgentError('START_FAILED', `the dashboard does not start${again ? `: ${causeOf(again) ?? again.state}` : ''}`, {
      fix: '`agent why dashboard` has the reason',
    });
  });
}

export function atProfile(address: string, profile: string): string {
  if (profile === DEFAULT_PROFILE) return address;
  const url = new URL(address);
  url.searchParams.set('profile', profile);
  return url.href;
}

export function sayOpened(opened: boolean, address: string): void {
  if (opened) return note('Opened in the browser.');
  const { port, hostname } = new URL(address);
  const tunnel = /^(?:127\.|localhost|\[::1\])/.test(hostname)
    ? `; from another machine, first: ssh -L ${port}:127.0.0.1:${port} <this machine>`
    : '';
  note(`No browser could be opened here: open the address above${tunnel}`);
}
