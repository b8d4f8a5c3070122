/**
 * The dashboard worker: HTTP, WebSocket and the page on one TCP port. A translator without state of its
 * own: turns live in the agent worker, processes in the supervisor, so killing it interrupts nobody.
 */
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import { exposure } from '../../state/config/dashboardAddress.ts';
import { DEFAULT_PROFILE } from '../../state/home.ts';
import { loginCode } from '../../ipc/contracts/dashboard.ts';
import { handle } from '../../ipc/link.ts';
import { runWorker, type WorkerContext, type WorkerService } from '../worker.ts';
import { openGate } from './auth/gate.ts';
import { createActions } from './actions.ts';
import { listen, resolveBinding, type Binding } from './binding.ts';
import { prepareHandOver } from './handOver.ts';
import { buildHttp, type Dashboard } from './http.ts';
import { createHostFigures } from './hostFigures.ts';
import { createOverview } from './overview.ts';
import { loadPage } from './page.ts';
import { acceptSockets } from './sockets/upgrade.ts';

async function startDashboard(context: WorkerContext): Promise<WorkerService> {
  const binding = resolveBinding(context.config().config, context.secrets());
  await using life = new AsyncDisposableStack();
  const gate = life.use(openGate(context, binding));
  const overview = life.use(createOverview(context));
  const actions = life.use(createActions(context));
  const page = loadPage(join(context.release.root, 'dist', 'page'));
  if (!page.built) context.log.warn('the page is not built: run `npm run build`');

  const agentOf: Dashboard['agentOf'] = ({ name }) => context.peer(name === DEFAULT_PROFILE ? 'agent' : `agent@${name}`);
  const host = createHostFigures(context.home.root);
  const dashboard: Dashboard = { context, binding, token: gate.token, gate, page, overview, actions, agentOf, host };
  const { app, connections } = buildHttp(dashboard);
  const handOver = prepareHandOver(app);
  await app.ready();
  life.defer(() => closeServer(app));
  const sockets = life.use(acceptSockets(app.server, dashboard, connections));
  const listening = await listen(app.server, binding);
  const address = binding.settings.publicUrl?.href ?? listening;
  context.reportFacts({ address, listening });
  context.log.info(`serving ${address}`);
  warnExposed(context, binding);

  const owned = life.move();
  return {
    handlers: [handle(loginCode, () => ({ code: gate.mode === 'token' ? gate.codes.issue(true) : null }))],
    active: () => [...sockets.active(), ...actions.active()],
    steps: () => sockets.sentBytes(),
    facts: () => ({ sockets: sockets.active().length }),
    async drain(signal) {
      // The pages are told to dial again, requests end with the server; a command they started may end first.
      await sockets.drain(signal);
      const interrupted = await actions.drain(signal);
      if (gate.isRelieved()) await handOver.run(signal);
      return { interrupted };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Open requests get a moment to end. */
async function closeServer(app: FastifyInstance): Promise<void> {
  const closed = new Promise((resolve) => app.server.close(resolve));
  app.server.closeIdleConnections();
  await Promise.race([closed, sleep(limits.dashboard.closeMs)]);
  app.server.closeAllConnections();
  await app.close();
}

/** `--insecure` is said out loud, with what it opens; so is a password that travels in the clear. */
function warnExposed(
  { log }: WorkerContext,
  { loopback, gated, host, settings: { providers, publicUrl, problems, incomplete } }: Binding,
): void {
  for (const what of [...problems, ...incomplete]) log.warn(`sign-in: ${what}`);
  if (loopback) return;
  const clear = publicUrl?.protocol !== 'https:';
  if (gated && clear && providers.some(({ kind }) => kind === 'basic'))
    log.warn(`passwords reach ${host} unencrypted: for trusted networks only, or put a proxy with https in front (docs/reverse-proxy.md)`);
  for (const one of providers) {
    if (gated && one.kind === 'oidc' && one.allowedUsers.length === 0)
      log.info(`whoever ${one.issuer} signs in may use this dashboard; dashboard.oauth.allowed_users narrows that`);
  }
  if (gated) return;
  log.warn(exposure(host));
}

await runWorker('dashboard', startDashboard);
