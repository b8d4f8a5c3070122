/** `agent dashboard signout`: a new secret for the session cookies; the old ones are worth nothing then. */
import { rmSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { loadConfig } from '../../state/config/load.ts';
import { signInSettings } from '../../state/config/signIn.ts';
import { readSecrets } from '../../state/env.ts';
import { openHome } from '../../state/home.ts';
import type { Input } from '../command.ts';
import { print, printJson } from '../terminal.ts';
import { restartDashboard } from './running.ts';

export async function signout(input: Input): Promise<number> {
  const home = openHome();
  if (signInSettings(loadConfig(home).config, readSecrets(home.env)).secret !== undefined) {
    throw new AgentError('USAGE', 'the secret of the sessions is one that you set, so only you can change it', {
      fix: 'change AGENT_DASHBOARD_BASIC_AUTH_SECRET, then `agent restart dashboard`',
    });
  }
  rmSync(home.run.dashboardSignIn, { force: true });
  const restarted = await restartDashboard(home, 'agent dashboard signout');
  if (input.json) printJson({ signed_out: true, restarted });
  else print('Every session of the dashboard is over; people sign in again.');
  return exitCodes.ok;
}
