/**
 * Who is let in (interface spec, Authentication 1 and 2). On loopback, and wherever `--insecure` was said,
 * whoever has the session token; where others can reach the dashboard, whoever a provider has signed in.
 * There is no third way: wide open without a provider, it does not open at all.
 */
import type { IncomingMessage } from 'node:http';
import { limits } from '../../../base/limits.ts';
import type { WorkerContext } from '../../worker.ts';
import type { Binding } from '../binding.ts';
import { openSessionToken, tokenOf } from '../guard.ts';
import { pinnedProfile } from '../pinned.ts';
import { createBasic } from './basic.ts';
import { createBrowserProof } from './browserProof.ts';
import { createClients } from './client.ts';
import type { Gate, SharedParts } from './contract.ts';
import { createCookieGate } from './cookieGate.ts';
import { localIdentity, type Identity } from './identity.ts';
import { createOidc } from './oidc.ts';
import { createOneTime } from './oneTime.ts';
import { tokenMissing } from './refusal.ts';
import { openSignInFile } from './signInFile.ts';

export function openGate(context: WorkerContext, binding: Binding): Gate {
  const { home, relieves, redact, log } = context;
  const { settings, gated } = binding;
  const fileOf = (path: string) => (pinnedProfile(context) === null ? path : `${path}@${context.profile}`);
  const token = openSessionToken(fileOf(home.run.dashboardToken), { relieves, shown: !gated });
  redact.learn([token.value, ...(settings.secret === undefined ? [] : [settings.secret])]);
  const shared: SharedParts = {
    token,
    clients: createClients(settings),
    codes: createOneTime<true>({ seconds: limits.signIn.loginCodeSeconds }),
  };
  forgetSecrets(process.env);
  const signInFile = fileOf(home.run.dashboardSignIn);
  if (!gated) return createTokenGate(shared, signInFile);
  const providers = settings.providers.map((one) => (one.kind === 'basic' ? createBasic(one) : createOidc(one, log)));
  return createCookieGate({ shared, providers, settings, file: signInFile, log });
}

/** They have been read: nothing that this process might ever start inherits them. */
function forgetSecrets(env: NodeJS.ProcessEnv): void {
  for (const name of ['PASSWORD', 'PASSWORD_HASH', 'SECRET']) delete env[`AGENT_DASHBOARD_BASIC_AUTH_${name}`];
}

function createTokenGate(shared: SharedParts, signInFile: string): Gate {
  const { token } = shared;
  const tickets = createOneTime<true>({ seconds: limits.signIn.ticketSeconds });
  const whoIs = (request: IncomingMessage, query?: URLSearchParams) => (token.matches(tokenOf(request, query)) ? localIdentity : null);
  const require = (request: IncomingMessage): Identity => {
    const who = whoIs(request);
    if (!who) throw tokenMissing();
    return who;
  };
  return {
    ...shared,
    mode: 'token',
    providers: [],
    flows: [],
    browsers: createBrowserProof(openSignInFile(signInFile).secret),
    whoIs: (request) => whoIs(request),
    admit: (request) => Promise.resolve().then(() => require(request)),
    ticketFor(request) {
      require(request);
      return tickets.issue(true);
    },
    socketPass(request, query) {
      const who = tickets.take(query.get('ticket')) ? localIdentity : whoIs(request, query);
      return who && { who, watch: () => () => {} };
    },
    isRelieved: () => token.isRelieved(),
    [Symbol.dispose]: () => token[Symbol.dispose](),
  };
}
