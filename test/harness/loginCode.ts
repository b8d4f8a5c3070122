/** Login codes of the dashboards that a test has started, found by their port. */
import { loginCode } from '../../ipc/contracts/dashboard.ts';
import { dial } from '../../ipc/dial.ts';
import { readToken, type Home } from '../../state/home.ts';

const homes = new Map<number, Home>();

/** Called by whatever starts a dashboard, so that a browser of the same test can prove itself there. */
export const rememberDashboard = (port: number, home: Home): void => void homes.set(port, home);

/** A code good once; null where users sign in, or for a dashboard that this test has not started. */
export async function codeFor(port: number): Promise<string | null> {
  const home = homes.get(port);
  if (!home) return null;
  using link = await dial(home.run.socket('dashboard'), { token: readToken(home) ?? '', slot: 'test', startingMs: 15_000 });
  return (await link.call(loginCode, {})).code;
}
