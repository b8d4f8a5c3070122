/**
 * The dashboard worker: HTTP, WebSocket and the page on one TCP port. A translator without state of its
 * own: turns live in the agent worker, processes in the supervisor, so killing it interrupts nobody.
 */
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import { DEFAULT_PROFILE } from '../../state/home.ts';
import { runWorker, type WorkerContext, type WorkerService } from '../worker.ts';
import { listen, resolveBinding } from './binding.ts';
import { openSessionToken } from './guard.ts';
import { prepareHandOver } from './handOver.ts';
import { buildHttp, type Dashboard } from './http.ts';
import { createOverview } from './overview.ts';
import { loadPage } from './page.ts';
import { acceptSockets } from './sockets/upgrade.ts';

async function startDashboard(context: WorkerContext): Promise<WorkerService> {
  const binding = resolveBinding(context.config().config);
  await using life = new AsyncDisposableStack();
  const token = life.use(openSessionToken(context.home.run.dashboardToken, context.relieves));
  context.redact.learn([token.value]);
  const overview = life.use(createOverview(context));
  const page = loadPage(join(context.release.root, 'dist', 'page'));
  if (!page.built) context.log.warn('the page is not built: run `npm run build`');

  const agentOf: Dashboard['agentOf'] = ({ name }) => context.peer(name === DEFAULT_PROFILE ? 'agent' : `agent@${name}`);
  const dashboard: Dashboard = { context, binding, token, page, overview, agentOf };
  const app = buildHttp(dashboard);
  const handOver = prepareHandOver(app);
  await app.ready();
  life.defer(() => closeServer(app));
  const sockets = life.use(acceptSockets(app.server, dashboard));
  const address = await listen(app.server, binding);
  context.reportFacts({ address });
  context.log.info(`serving ${address}`);
  if (!binding.loopback) warnExposed(context, binding.host);

  const owned = life.move();
  return {
    handlers: [],
    active: () => sockets.active(),
    steps: () => sockets.sentBytes(),
    facts: () => ({ sockets: sockets.active().length }),
    async drain(signal) {
      // Nothing runs here: the pages are told to dial again, requests end with the server.
      await sockets.drain(signal);
      if (token.isRelieved()) await handOver.run(signal);
      return { interrupted: 0 };
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

/** `--insecure` is said out loud, with what it opens. */
function warnExposed({ log }: WorkerContext, host: string): void {
  log.warn(
    `--insecure: anyone who can reach ${host} and has the session token can read every conversation, run commands and change the configuration; ` +
      'the connection is not encrypted, so whoever sees the traffic sees the token',
  );
}

await runWorker('dashboard', startDashboard);
