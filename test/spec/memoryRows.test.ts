import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sessionList } from '../../ipc/contracts/rpc.ts';
import { approvalRequest, approvalRules } from '../../ipc/contracts/rpcRequests.ts';
import { memoryReview, memoryShow } from '../../ipc/contracts/rpcTools.ts';
import { handle } from '../../ipc/link.ts';
import { connect } from '../harness/agentClient.ts';
import { cli, errorOf } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

t.test('cfg.16 memory.write_approval stages writes for review: nothing is written before its owner says so', async (t) => {
  using home = testHome({ 'config.yaml': 'memory: { write_approval: true }\n' });
  const file = join(home.memories, 'MEMORY.md');
  {
    await using worker = await startWorker(home, 'agent', { demo: true });
    using client = await connect(worker);
    const sessionId = await client.create();
    const { complete } = await client.turn(sessionId, 'remember: likes tea');
    t.match(complete.text, /Put before the user for review, not in force yet/);
    await client.turn(sessionId, 'remember: lives in Bern');
    t.notOk(existsSync(file), 'nothing is written');
    t.match(await client.link.call(memoryShow, {}), {
      write_approval: true,
      stores: [
        { target: 'memory', path: file, text: '', chars: 0, cap: 2_200 },
        { target: 'user', cap: 1_375 },
      ],
      staged: [
        { kind: 'memory', target: 'memory', action: 'add', diff: /\+likes tea/, session_id: sessionId },
        { diff: /\+lives in Bern/ },
      ],
    });
  }
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const { staged } = await client.link.call(memoryShow, {});
  t.equal(staged.length, 2, 'what waits outlives the worker');

  const pending = await cli(['memory', 'pending'], { home });
  t.match(pending.stdout, new RegExp(`${staged[0]!.id} memory memory: add[\\s\\S]*\\+likes tea`));
  t.match(await cli(['memory', 'approve', staged[0]!.id], { home }), { code: 0, stdout: 'written: 1; still waiting: 1\n' });
  t.equal(readFileSync(file, 'utf8'), 'likes tea\n');
  t.match(await cli(['memory', 'reject', '--all', '--json'], { home }), { code: 0, stdout: /"staged":\[\]/ });
  t.equal(readFileSync(file, 'utf8'), 'likes tea\n', 'what was rejected is gone');
  t.match(await cli(['memory', 'approve', 'stg_none'], { home }), { code: 1, stderr: /no write of that id waits/ });
  t.match(errorOf(await cli(['memory', 'approve', '--json'], { home })), { code: 'USAGE' });
  t.match(await cli(['memory', 'show'], { home }), { code: 0, stdout: /likes tea/ });

  await client.turn(await client.create(), 'tool: memory {"action":"replace","old_text":"tea","content":"likes coffee"}');
  const waiting = (await client.link.call(memoryShow, {})).staged;
  t.match(waiting, [{ action: 'replace', diff: /-likes tea\n\+likes coffee/ }], 'a change is shown against what is there now');
  t.match(await client.link.call(memoryReview, { decision: 'approve', all: true }), { done: [waiting[0]!.id], failed: [], staged: [] });
  t.equal(readFileSync(file, 'utf8'), 'likes coffee\n');

  await client.turn(await client.create(), 'tool: memory {"action":"remove","old_text":"coffee"}');
  await client.turn(await client.create(), 'tool: memory {"action":"replace","old_text":"coffee","content":"likes water"}');
  const both = await client.link.call(memoryReview, { decision: 'approve', all: true });
  t.match(
    both,
    { done: { length: 1 }, failed: [{ message: /no entry holds/ }], staged: [{ action: 'replace', diff: /does not fit any more/ }] },
    'one that cannot be done stays, and says why',
  );
});

t.test('what was allowed for good is listed and taken back by agent approvals', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  client.link.handle(handle(approvalRequest, () => ({ choice: 'always' as const })));
  t.match(await cli(['approvals', 'list'], { home }), { code: 0, stderr: /nothing is allowed for good/ });
  await client.turn(await client.create(), 'run: pkill -x no-such-program-zz');
  t.match(await cli(['approvals', 'list'], { home }), { code: 0, stdout: /terminal\s+pkill -x no-such-program-zz \(in .*you/ });
  const { rules } = await client.link.call(approvalRules, {});
  t.match(await cli(['approvals', 'remove', rules[0]!.id], { home }), { code: 0, stdout: /asked about again \(0 left\)/ });
  t.match(errorOf(await cli(['approvals', 'remove', rules[0]!.id, '--json'], { home })), { code: 'NOT_FOUND' });
  t.equal((await client.link.call(sessionList, {})).total, 1);
});
