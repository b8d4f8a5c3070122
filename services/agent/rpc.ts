/** The gateway RPC (contract §8): every method, bound to what serves it. One file a subject under methods/. */
import type { Handler } from '../../ipc/link.ts';
import type { HostParts } from './commandHost.ts';
import { analyticsHandlers } from './methods/analytics.ts';
import { attachmentHandlers } from './methods/attachments.ts';
import { commandMethods } from './methods/commands.ts';
import { manySessionMethods } from './methods/manySessions.ts';
import { contextMethods } from './methods/context.ts';
import { memoryMethods } from './methods/memory.ts';
import { modelHandlers } from './methods/models.ts';
import { promptMethods } from './methods/prompts.ts';
import { requestMethods } from './methods/requests.ts';
import { sessionMethods } from './methods/sessions.ts';
import { settingMethods } from './methods/settings.ts';
import { signInHandlers } from './methods/signIn.ts';
import { toolMethods } from './methods/tools.ts';

export function rpcHandlers(parts: HostParts): Handler[] {
  const handlers: Handler[] = [
    ...sessionMethods(parts),
    ...manySessionMethods(parts),
    ...promptMethods(parts),
    ...attachmentHandlers(parts),
    ...settingMethods(parts),
    ...modelHandlers(parts),
    ...signInHandlers(parts),
    ...contextMethods(parts),
    ...toolMethods(parts),
    ...requestMethods(parts),
    ...memoryMethods(parts),
    ...analyticsHandlers(parts),
  ];
  handlers.push(...commandMethods(parts, () => handlers));
  return handlers;
}
