/** The gateway RPC (contract §8): every method, bound to what serves it. One file a subject under methods/. */
import type { Handler } from '../../ipc/link.ts';
import { manySessionMethods } from './methods/manySessions.ts';
import { memoryMethods } from './methods/memory.ts';
import { promptMethods } from './methods/prompts.ts';
import { requestMethods } from './methods/requests.ts';
import { sessionMethods } from './methods/sessions.ts';
import { settingMethods } from './methods/settings.ts';
import type { SessionParts } from './sessions.ts';

export function rpcHandlers(parts: SessionParts): Handler[] {
  return [
    ...sessionMethods(parts),
    ...manySessionMethods(parts),
    ...promptMethods(parts),
    ...settingMethods(parts),
    ...requestMethods(parts),
    ...memoryMethods(parts),
  ];
}
