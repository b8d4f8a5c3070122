/** The gateway RPC (contract §8): every method, bound to what serves it. One file a subject under methods/. */
import type { Handler } from '../../ipc/link.ts';
import { manySessionMethods } from './methods/manySessions.ts';
import { contextMethods } from './methods/context.ts';
import { promptMethods } from './methods/prompts.ts';
import { sessionMethods } from './methods/sessions.ts';
import { settingMethods } from './methods/settings.ts';
import { toolMethods } from './methods/tools.ts';
import type { SessionParts } from './sessions.ts';

export function rpcHandlers(parts: SessionParts): Handler[] {
  return [
    ...sessionMethods(parts),
    ...manySessionMethods(parts),
    ...promptMethods(parts),
    ...settingMethods(parts),
    ...contextMethods(parts),
    ...toolMethods(parts),
  ];
}
