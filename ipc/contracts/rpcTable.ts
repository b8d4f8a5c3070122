/** Every method of the gateway RPC: what a relayed browser may call, and what docs/openrpc.json describes. */
import type { Method } from '../method.ts';
import { sessionMethods } from './rpc.ts';
import { analyticsMethods } from './rpcAnalytics.ts';
import { attachmentMethods } from './rpcAttachments.ts';
import { commandMethods } from './rpcCommands.ts';
import { modelMethods } from './rpcModels.ts';
import { requestMethods } from './rpcRequests.ts';
import { moreSessionMethods } from './rpcSessions.ts';
import { signInMethods } from './rpcSignIn.ts';
import { settingMethods } from './rpcSettings.ts';
import { toolMethods } from './rpcTools.ts';

export const rpcMethods: readonly Method[] = [
  ...sessionMethods,
  ...moreSessionMethods,
  ...attachmentMethods,
  ...requestMethods,
  ...commandMethods,
  ...settingMethods,
  ...modelMethods,
  ...signInMethods,
  ...toolMethods,
  ...analyticsMethods,
];
