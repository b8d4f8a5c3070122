/**
 * Workers that start with a clock far ahead delete nothing and let nothing expire. The jump is made in reverse: the last
 * record of the clocks and the rows are as old as they would look.
 */
import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import t from 'tap';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { recordClocks } from '../../state/confirmedTime.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.setTimeout(120_000);

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The clock is that far ahead of what the last run of the service saw; `0`: it is right. */
function jumped(home: TestHome, aheadMs: number): void {
  rmSync(home.clock);
  recordClocks(home, { wallMs: Date.now() - aheadMs, uptimeMs: 0, bootId: 'an earlier boot' });
}

function change(path: string, sql: string, values: object): void {
  const db = new Database(path);
  db.prepare(sql).run(values);
  db.close();
}

function count(path: string, sql: string): unknown {
  const db = new Database(path, { readonly: true });
  const found = db.prepare(sql).pluck().get();
  db.close();
  return found;
}

t.test('a waiting message expires after a day, but not by a clock that is 26 hours ahead', async (t) => {
  for (const { aheadMs, status } of [
    { aheadMs: 26 * HOUR, status: 'pending' },
    { aheadMs: 0, status: 'expired' },
  ]) {
    using home = testHome({
      'config.yaml': 'platforms:\n  irc: { enabled: true, host: 127.0.0.1, port: 1, tls: false, channels: ["#room"] }\n',
    });
    let id = 0;
    {
      await using worker = await startWorker(home, 'gateway');
      using link = await worker.dial();
      const sent = { target: 'irc:#room', text: 'wait', idempotency_key: 'k', origin: 'test' };
      id = (await link.call(gateway.enqueueDelivery, sent)).delivery_id;
      await worker.kill('SIGTERM');
    }
    change(
      home.gatewayDb,
      'UPDATE outbox SET created_at = created_at - @by, expires_at = expires_at - @by, next_try_at = next_try_at - @by',
      { by: 26 * HOUR },
    );
    const closed = `INSERT INTO outbox (idempotency_key, platform, chat, thread, text, origin, state, next_try_at, created_at, expires_at, closed_at)
      VALUES (@key, 'irc', '#a', '', 'x', 'test', 'delivered', 1, 1, 1, @at)`;
    change(home.gatewayDb, closed, { key: 'old', at: Date.now() - 7 * DAY - HOUR });
    change(home.gatewayDb, closed, { key: 'ancient', at: 1 });
    jumped(home, aheadMs);
    await using worker = await startWorker(home, 'gateway');
    using link = await worker.dial();
    const isKept = (key: string) => count(home.gatewayDb, `SELECT count(*) FROM outbox WHERE idempotency_key = '${key}'`) === 1;
    await until('what is old by any clock is gone', () => !isKept('ancient'));
    t.equal((await link.call(gateway.deliveryStatus, { delivery_id: id, wait_ms: 0 })).status, status);
    t.equal(isKept('old'), aheadMs > 0);
  }
});

t.test('sessions and their events stay when the clock is 400 days ahead at a start', async (t) => {
  for (const { aheadMs, left } of [
    { aheadMs: 400 * DAY, left: 1 },
    { aheadMs: 0, left: 0 },
  ]) {
    using home = testHome();
    {
      await using worker = await startWorker(home, 'agent', { demo: true });
      await worker.kill('SIGTERM');
    }
    const session = "INSERT INTO sessions (id, source, hidden, used, last_active) VALUES (@id, 'cli', @hidden, 1, @at)";
    const at = Date.now() - 400 * DAY;
    change(home.stateDb, session, { id: 'ses_hidden', hidden: 1, at });
    change(home.stateDb, session, { id: 'ses_shown', hidden: 0, at });
    change(home.stateDb, session, { id: 'ses_ancient', hidden: 1, at: 1 });
    change(
      home.stateDb,
      "INSERT INTO session_events (session_id, seq, turn_id, type, payload, at) VALUES ('ses_shown', 1, 1, 'message.complete', '{}', @at)",
      { at },
    );
    jumped(home, aheadMs);
    await using _worker = await startWorker(home, 'agent', { demo: true });
    await until(
      'what is old by any clock is gone',
      () => count(home.stateDb, "SELECT count(*) FROM sessions WHERE id = 'ses_ancient'") === 0,
    );
    t.equal(count(home.stateDb, "SELECT count(*) FROM sessions WHERE id = 'ses_hidden'"), left);
    t.equal(count(home.stateDb, "SELECT count(*) FROM session_events WHERE session_id = 'ses_shown'"), left);
  }
});
