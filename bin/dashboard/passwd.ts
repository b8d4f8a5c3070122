/** `agent dashboard passwd`: user name and password hash in .env, the plain password nowhere. */
import { userInfo } from 'node:os';
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { hashPassword } from '../../base/passwordHash.ts';
import { loadConfig } from '../../state/config/load.ts';
import { openWithout } from '../../state/config/lockout.ts';
import { dashboardEnv } from '../../state/startedWith.ts';
import { signInSettings } from '../../state/config/signIn.ts';
import { readSecrets } from '../../state/env.ts';
import { setEnvValue, unsetEnvValue } from '../../state/envFile.ts';
import { openHome, prepareHome, type Home } from '../../state/home.ts';
import { hasFlag, textOption, type Input } from '../command.ts';
import { askSecret } from '../secretPrompt.ts';
import { note, print, printJson } from '../terminal.ts';
import { restartDashboard, whenItCounts } from './running.ts';

const USERNAME = 'AGENT_DASHBOARD_BASIC_AUTH_USERNAME';
const PASSWORD = 'AGENT_DASHBOARD_BASIC_AUTH_PASSWORD';
const HASH = 'AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH';

export async function passwd(input: Input): Promise<number> {
  const home = openHome();
  prepareHome(home);
  if (hasFlag(input, 'remove')) return remove(home, input);
  const username = usernameOf(home, input);
  const hash = await hashPassword(await newPassword(username));
  await setEnvValue(home.env, USERNAME, username);
  await setEnvValue(home.env, HASH, hash);
  // A plain one would win over the hash.
  await unsetEnvValue(home.env, PASSWORD);
  if (process.env[PASSWORD]) note(`agent: ${PASSWORD} is set in this environment and wins over .env where the service has it too`);
  const restarted = await restartDashboard(home, 'agent dashboard passwd');
  if (input.json) printJson({ username, path: home.env, restarted });
  else print(`${username} signs in with the new password. ${whenItCounts(restarted)}`);
  return exitCodes.ok;
}

function usernameOf(home: Home, input: Input): string {
  const configured = readSecrets(home.env).get(USERNAME) ?? loadConfig(home).config.dashboard?.basic_auth?.username;
  const name = textOption(input, 'username') ?? configured ?? userInfo().username;
  if (name.trim() !== name || name === '' || name.length > limits.signIn.usernameMaxChars)
    throw new AgentError('USAGE', `"${name}" cannot be a user name`, { fix: 'write it without spaces around it' });
  return name;
}

async function newPassword(username: string): Promise<string> {
  const password = await askSecret(`New password for ${username}`);
  const { passwordMinChars, passwordMaxChars } = limits.signIn;
  if (password.length < passwordMinChars || password.length > passwordMaxChars)
    throw new AgentError('USAGE', `a password has ${passwordMinChars} to ${passwordMaxChars} characters`, {
      fix: 'a sentence is easy to remember and hard to guess',
    });
  if (process.stdin.isTTY && (await askSecret('The same again')) !== password)
    throw new AgentError('USAGE', 'the two are not the same', { fix: 'nothing was changed; try again' });
  return password;
}

async function remove(home: Home, input: Input): Promise<number> {
  const { config } = loadConfig(home);
  const secrets = readSecrets(home.env, {});
  const without = {
    get: (name: string) => (/_BASIC_AUTH_(?:USERNAME|PASSWORD|PASSWORD_HASH)$/.test(name) ? undefined : secrets.get(name)),
  };
  const open = openWithout(config, signInSettings(config, without), dashboardEnv(home.config));
  if (open)
    throw new AgentError('CONFIG_LOCKOUT', `this would lock you out of the dashboard: ${open}`, {
      fix: 'set dashboard.host to 127.0.0.1 first',
    });
  for (const name of [USERNAME, PASSWORD, HASH]) await unsetEnvValue(home.env, name);
  const restarted = await restartDashboard(home, 'agent dashboard passwd --remove');
  if (input.json) printJson({ username: null, path: home.env, restarted });
  else print(`Nobody signs in with a password any more. ${whenItCounts(restarted)}`);
  return exitCodes.ok;
}
