/** What the supervisor answers on its socket: commands of the operator, and its workers reporting. */
import { AgentError } from '../base/errors.ts';
import * as contract from '../ipc/contracts/supervisor.ts';
import { ping, report } from '../ipc/contracts/peer.ts';
import { handle, onNotice, type Handler, type Link, type NoticeHandler } from '../ipc/link.ts';
import { requireRoom } from './shortage.ts';
import type { SlotRunner } from './slotRunner.ts';
import type { Supervisor } from './supervisor.ts';

export function controlHandlers(supervisor: Supervisor): Handler[] {
  const find = (slot: string): SlotRunner => {
    // A profile may have been made a moment ago: its slots are there once the files have been looked at.
    if (!supervisor.slots.has(slot)) supervisor.look();
    const runner = supervisor.slots.get(slot);
    if (runner) return runner;
    throw new AgentError('UNKNOWN_SLOT', `there is no slot "${slot}"`, { fix: `known slots: ${[...supervisor.slots.keys()].join(', ')}` });
  };
  const startedAt = performance.now();
  return [
    handle(ping, () => ({ slot: 'supervisor', pid: process.pid, uptime_ms: Math.round(performance.now() - startedAt) })),
    handle(report, () => ({
      slot: 'supervisor',
      pid: process.pid,
      uptime_ms: Math.round(performance.now() - startedAt),
      rss_bytes: process.memoryUsage.rss(),
      loop_lag_ms: 0,
      active: [],
      facts: {},
    })),
    handle(contract.status, () => supervisor.status()),
    handle(contract.startSlot, ({ slot, actor, cause }) => supervisor.command('start', find(slot), { actor, cause, drain: true })),
    handle(contract.stopSlot, ({ slot, actor, cause, drain }) => supervisor.command('stop', find(slot), { actor, cause, drain })),
    handle(contract.restartSlot, ({ slot, actor, cause, drain }) => {
      const runner = find(slot);
      // A worker that serves is not ended for one that could not start.
      if (runner.state === 'ready') requireRoom(supervisor.home.root, `${slot} keeps running`);
      return supervisor.command('restart', runner, { actor, cause, drain });
    }),
    handle(contract.ensureSlot, async ({ slot }, { signal }) => {
      const runner = find(slot);
      if (!runner.incarnation) await supervisor.renewCode();
      await runner.ensure(signal);
      return { slot, pid: runner.incarnation?.pid ?? 0, socket: supervisor.home.run.socket(slot) };
    }),
    handle(contract.whySlot, ({ slot }) => {
      const runner = find(slot);
      const report = runner.lastReport;
      return {
        slot,
        state: runner.state,
        sentence: runner.reason ?? report?.last_exit.summary ?? `${slot} has not ended abnormally since the service started`,
        last_exit: runner.lastExit,
        tail: report?.tail ?? runner.tail(),
      };
    }),
    handle(contract.resources, ({ slot, since_ms }) => ({ samples: supervisor.upkeep.resources.history(find(slot).spec.slot, since_ms) })),
    handle(contract.receipts, ({ slot, limit }) => ({ receipts: supervisor.receipts(slot, limit) })),
    handle(contract.wantAll, (asked) => {
      const changed = supervisor.wantAll(asked);
      // Those that start from now on are told by their environment or when they attach.
      if (changed && asked.demo)
        for (const { incarnation } of supervisor.slots.values()) incarnation?.link?.notify(contract.offerRehearsal, {});
      return { changed };
    }),
    handle(contract.waitReady, async ({ timeout_ms }, { signal }) => {
      const ready = await supervisor.waitReady(timeout_ms, signal);
      supervisor.refuseWhileGoingDown();
      return { ready, status: supervisor.status() };
    }),
    handle(contract.down, ({ actor, drain }) => supervisor.down({ actor, drain }).then((receipts) => ({ receipts }))),
    handle(contract.restartSupervisor, ({ actor }) => {
      supervisor.leave(actor);
      return { pid: process.pid };
    }),
    handle(contract.attach, ({ slot, pid, nonce, code, facts }, { link }) => {
      const runner = find(slot);
      if (!runner.attached(link, { pid, nonce, code, facts })) {
        throw new AgentError('UNKNOWN_SLOT', `process ${pid} is not the running incarnation of ${slot}`);
      }
      return {
        heartbeat_ms: supervisor.bounds.heartbeatMs,
        orphan_ms: supervisor.orphanMs,
        on_demand: runner.desired === 'demand',
        demo: supervisor.demo,
      };
    }),
  ];
}

export function controlNotices(supervisor: Supervisor): NoticeHandler[] {
  const of = (link: Link): SlotRunner | undefined => supervisor.slots.get(link.peer.slot);
  return [
    onNotice(contract.heartbeat, (said, link) => of(link)?.beat(link, said)),
    onNotice(contract.facts, ({ facts }, link) => of(link)?.say(link, facts)),
  ];
}
