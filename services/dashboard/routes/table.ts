/** Every handler of the dashboard, subject by subject. */
import type { Dashboard } from '../http.ts';
import type { HttpHandler } from '../route.ts';
import { authRoutes } from './auth.ts';
import { logRoutes } from './logs.ts';
import { pauseRoutes } from './pause.ts';
import { serviceRoutes } from './service.ts';
import { sessionRoutes } from './sessions.ts';
import { statusRoutes } from './status.ts';
import { workerRoutes } from './workers.ts';

export function allRoutes(dashboard: Dashboard): HttpHandler[] {
  return [
    ...statusRoutes(dashboard),
    ...authRoutes(dashboard),
    ...workerRoutes(dashboard),
    ...pauseRoutes(dashboard),
    ...logRoutes(),
    ...serviceRoutes(dashboard),
    ...sessionRoutes(dashboard),
  ];
}
