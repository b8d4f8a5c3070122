/** What the dashboard says of itself: its OpenAPI document, and Prometheus text. */
import { AgentError } from '../../../base/errors.ts';
import { getMetrics, getOpenapi } from '../../../ipc/contracts/http/service.ts';
import { readPause } from '../../../state/pause.ts';
import { tokenOf } from '../guard.ts';
import type { Dashboard } from '../http.ts';
import { createMetrics, type Metrics } from '../metrics.ts';
import { on, type HttpHandler } from '../route.ts';

export function serviceRoutes({ context, overview, token }: Dashboard): HttpHandler[] {
  let metrics: Promise<Metrics> | undefined;
  let document: Promise<{ openapi: string }> | undefined;
  return [
    on(
      getOpenapi,
      async () => (document ??= import('../openapi.ts').then(({ openapiDocument }) => openapiDocument(context.release.version))),
    ),
    on(getMetrics, async ({ request, reply }) => {
      const [, bearer] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
      if (!token.matches(tokenOf(request.raw)) && !token.matches(bearer)) {
        throw new AgentError('UNAUTHENTICATED', 'the session token is missing or not valid', {
          fix: 'send it as `Authorization: Bearer <token>`; AGENT_DASHBOARD_SESSION_TOKEN keeps it the same over restarts',
        });
      }
      metrics ??= createMetrics();
      const { contentType, text } = await metrics;
      const seen = await overview.read().catch(() => undefined);
      const { version, code } = context.release;
      const answer = await text(seen, { version, code, paused: readPause(context.home) !== undefined });
      return reply.header('Cache-Control', 'no-store').type(contentType).send(answer);
    }),
  ];
}
