/** Every method of the gateway RPC: what a relayed browser may call, and what docs/openrpc.json describes. */
import type { Method } from '../method.ts';
import { sessionMethods } from './rpc.ts';
import { analyticsMethods } from './rpcAnalytics.ts';
import { commandMethods } from './rpcCommands.ts';
import { requestMethods } from './rpcRequests.ts';
import { moreSessionMethods } from './rpcSessions.ts';
import { settingMethods } from './rpcSettings.ts';
import { toolMethods } from './rpcTools.ts';

export const rpcMethods: readonly Method[] = [
  ...sessionMethods,
  ...moreSessionMethods,
  ...requestMethods,
  ...commandMethods,
  ...settingMethods,
  ...toolMethods,
  ...analyticsMethods,
];
