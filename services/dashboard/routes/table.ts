/** Every handler of the dashboard, subject by subject. */
import type { Dashboard } from '../http.ts';
import type { HttpHandler } from '../route.ts';
import { analyticsRoutes } from './analytics.ts';
import { attachmentRoutes } from './attachments.ts';
import { authRoutes } from './auth.ts';
import { cronRoutes } from './cron.ts';
import { logRoutes } from './logs.ts';
import { memoryRoutes } from './memory.ts';
import { mcpRoutes } from './mcp.ts';
import { fileRoutes } from './files.ts';
import { opsRoutes } from './ops.ts';
import { configRoutes } from './config.ts';
import { envRoutes } from './env.ts';
import { modelRoutes } from './models.ts';
import { oauthRoutes } from './oauth.ts';
import { pauseRoutes } from './pause.ts';
import { platformRoutes } from './platforms.ts';
import { profileRoutes } from './profiles.ts';
import { serviceRoutes } from './service.ts';
import { sessionRoutes } from './sessions.ts';
import { skillRoutes } from './skills.ts';
import { statusRoutes } from './status.ts';
import { toolRoutes } from './tools.ts';
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
    ...attachmentRoutes(dashboard),
    ...platformRoutes(dashboard),
    ...profileRoutes(dashboard),
    ...skillRoutes(dashboard),
    ...toolRoutes(dashboard),
    ...memoryRoutes(dashboard),
    ...cronRoutes(dashboard),
    ...mcpRoutes(dashboard),
    ...analyticsRoutes(dashboard),
    ...fileRoutes(dashboard),
    ...opsRoutes(dashboard),
    ...configRoutes(dashboard),
    ...envRoutes(dashboard),
    ...modelRoutes(dashboard),
    ...oauthRoutes(dashboard),
  ];
}
