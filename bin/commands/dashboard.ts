/** `agent dashboard`: the page in the browser, the service started when it does not run; and who may sign in to it. */
import { jsonOption, type Command } from '../command.ts';
import { addressOptions } from '../startService.ts';

export const command: Command = {
  name: 'dashboard',
  summary: 'Open the dashboard in the browser',
  details:
    'Starts the service when it does not run, prints the address and opens it, logged in. One dashboard serves all profiles: with -p it opens at that profile. Where others can reach it, people sign in: `agent dashboard passwd`, `agent dashboard register`, or OpenID Connect.',
  options: [
    { flags: '--no-open', summary: 'print the address only' },
    ...addressOptions,
    { flags: '--isolated', summary: 'a dashboard of this profile alone, in this terminal, beside the one of the machine; ctrl-C ends it' },
    jsonOption,
  ],
  examples: [
    { line: 'agent dashboard', does: 'start what is needed and open the page' },
    { line: 'agent -p work dashboard', does: 'the same, at the profile work' },
    { line: 'agent dashboard --no-open', does: 'on a server: print the address' },
    { line: 'agent -p work dashboard --isolated --port 9200', does: 'a dashboard that knows only this profile' },
  ],
  run: async (input) => (await import('../dashboard/open.ts')).open(input),
  commands: [
    {
      name: 'passwd',
      summary: 'Set the user name and the password of the dashboard',
      details:
        'Asks for the password without showing it, or reads it from a pipe; keeps a scrypt hash in .env. Everyone who was signed in by password signs in again.',
      options: [
        { flags: '--username <name>', summary: 'the user name (default: the one that is set, else that of this user)' },
        { flags: '--remove', summary: 'take the password sign-in away' },
        jsonOption,
      ],
      examples: [
        { line: 'agent dashboard passwd', does: 'asks twice' },
        { line: 'pass show agent | agent dashboard passwd --username ada', does: 'from a password store' },
      ],
      run: async (input) => (await import('../dashboard/passwd.ts')).passwd(input),
    },
    {
      name: 'register',
      summary: 'Register this dashboard with the account portal',
      details:
        'The portal gives it a client id, which is written to .env as AGENT_DASHBOARD_OAUTH_CLIENT_ID; people then sign in with their portal account. Needs portal.base_url, and dashboard.public_url when a proxy stands in front.',
      options: [{ flags: '--name <name>', summary: 'how the portal shows it (default: the name of this machine)' }, jsonOption],
      examples: [
        { line: 'agent dashboard register', does: 'once; again after the public address changed' },
        { line: 'agent dashboard register --name "Home server"', does: 'under a name of its own' },
      ],
      run: async (input) => (await import('../dashboard/register.ts')).register(input),
    },
    {
      name: 'signout',
      summary: 'End every session of the dashboard',
      details: 'Everyone signs in again. For a lost laptop, or a cookie that went where it should not.',
      options: [jsonOption],
      examples: [{ line: 'agent dashboard signout', does: 'a new signing secret, and a restart of the dashboard alone' }],
      run: async (input) => (await import('../dashboard/signout.ts')).signout(input),
    },
  ],
};
