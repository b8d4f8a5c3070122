/**
 * Messages whose agent cannot take them now: which lanes and profiles wait, why, and since when. Nothing here closes a
 * message; a sender whose message waits long is told once that it is kept.
 */
import type { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';
import type { WaitingWork } from '../../ipc/contracts/peer.ts';
import { profileSlot } from '../../state/home.ts';
import type { InboxRow, ProfileLanes } from './inbox.ts';
import type { GatewayStore } from './store.ts';
import { putReply } from './replies.ts';

export interface AgentHold {
  /**
   * A message of this lane was not taken; `sinceMs` (performance clock) is its first failure. Of an agent that takes nothing
   * only the oldest message is offered again; the lanes of the others are given back, so that all keep their order.
   */
  waits(row: InboxRow, wait: Pick<Wait, 'cause' | 'sinceMs' | 'giveBack'>): void;
  /** The lane waits no longer. Answers whether it did. */
  release(lane: string): boolean;
  /** Profiles whose agent takes nothing: none of their messages is offered beside those that wait already. */
  profiles(): string[];
  /** Lanes that wait. */
  readonly size: number;
  has(lane: string): boolean;
  /** For `agent status`. */
  facts(): WaitingWork[];
}

interface Wait {
  id: number;
  profile: string;
  cause: AgentError;
  sinceMs: number;
  /** Ends the asking of this lane; its message is due again later. */
  giveBack(): void;
}

/** `own` is the profile of the gateway; `onReply` hears of a notice in the outbox. */
export function createAgentHold(store: GatewayStore, { own, onReply }: { own: string; onReply(): void }): AgentHold {
  const lanes = new Map<string, Wait>();

  /** A full queue concerns its own conversation alone. */
  const isWhole = ({ cause }: Wait): boolean => cause.code !== 'BUSY';
  const byProfile = () => Map.groupBy(lanes, ([, { profile }]) => profile);
  const scopeOf = (profile: string, waits: [string, Wait][]): ProfileLanes => ({
    profile,
    own,
    lanes: waits.some(([, wait]) => isWhole(wait)) ? null : waits.map(([lane]) => lane),
  });

  const tellSenders = (profile: string): void => {
    for (const row of store.inbox.heads(scopeOf(profile, byProfile().get(profile) ?? [])))
      putReply(store, row, {
        key: `wait:${row.id}`,
        text: 'The agent cannot be reached at the moment; your message is kept and will be answered.',
      });
    onReply();
  };

  return {
    waits(row, wait) {
      const profile = row.profile ?? own;
      lanes.set(row.lane, { ...wait, id: row.id, profile });
      const asked = [...lanes].filter(([, other]) => other.profile === profile && isWhole(other)).toSorted(([, a], [, b]) => a.id - b.id);
      const sinceMs = Math.min(...asked.map(([, other]) => other.sinceMs), wait.sinceMs);
      for (const [lane, other] of asked.slice(1)) {
        store.inbox.giveBack(other.id);
        lanes.delete(lane);
        other.giveBack();
      }
      if (asked[0]) asked[0][1].sinceMs = sinceMs;
      if (performance.now() - sinceMs > limits.gateway.waitingNoticeMs) tellSenders(profile);
    },
    release: (lane) => lanes.delete(lane),
    profiles: () => [...new Set([...lanes.values()].filter(isWhole).map(({ profile }) => profile))],
    get size() {
      return lanes.size;
    },
    has: (lane) => lanes.has(lane),
    facts: () =>
      [...byProfile()].map(([profile, waits]) => {
        const sinceMs = Math.min(...waits.map(([, wait]) => wait.sinceMs));
        const { cause } = waits.at(-1)![1];
        return {
          slot: profileSlot('agent', profile),
          held: store.inbox.countWaiting(scopeOf(profile, waits)),
          code: cause.code,
          reason: cause.message.split('\n')[0]!.slice(0, REASON_MAX_CHARS),
          since: isoTime(Date.now() - (performance.now() - sinceMs)),
        };
      }),
  };
}

const REASON_MAX_CHARS = 300;
