import t from 'tap';
import { setImmediate as tick } from 'node:timers/promises';
import { z } from 'zod';
import type { Model, ToolResult, Transcript } from '../../agent/ports.ts';
import { createTools, defineTool } from '../../agent/tools/registry.ts';
import { runTurn } from '../../agent/turn.ts';
import { limits } from '../../base/limits.ts';
import { sessionHistory } from '../../ipc/contracts/rpc.ts';
import { sessionCompress } from '../../ipc/contracts/rpcSessions.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { virtualClock } from '../harness/virtualClock.ts';
import { startWorker } from '../harness/worker.ts';

/** A turn that calls one tool, which ends only when it is stopped; time moves when told. */
function callOf(name: string) {
  let stopped = false;
  const clock = virtualClock();
  const results: ToolResult[] = [];
  const transcript: Transcript = {
    messages: () => [{ role: 'user', content: 'go' }],
    openAssistant: () => 1,
    closeAssistant: () => {},
    toolsStarting: () => {},
    addToolResult: (_call, result) => void results.push(result),
    takeSteer: () => [],
  };
  let asked = 0;
  const model: Model = {
    provider: 'fake',
    id: 'fake',
    scripted: false,
    contextWindow: null,
    vision: false,
    effortFor: () => undefined,
    async *stream() {
      if (asked++ === 0) yield { type: 'toolCall', call: { id: 'a', name, args: {} } };
      yield { type: 'finish', reason: 'stop', usage: null };
    },
  };
  const answer = Promise.withResolvers<ToolResult>();
  const tool = defineTool({
    name,
    toolset: name,
    description: '',
    args: z.object({}),
    run: (_args, { signal }) => {
      signal.addEventListener('abort', () => {
        stopped = true;
        answer.resolve({ text: '', isError: true });
      });
      return answer.promise;
    },
  });
  const allowed = [name === 'manage_connections' ? { ...tool, guarded: false } : tool];
  const end = runTurn({
    model,
    system: '',
    tools: createTools({ allowed, refused: new Map() }),
    transcript,
    events: { emit() {} },
    signal: new AbortController().signal,
    clock,
  });
  return {
    end,
    results,
    answer,
    stopped: () => stopped,
    advance: clock.advance,
  };
}

t.test('lim.3 a tool call is stopped by the deadline guard after 420 seconds, not a millisecond earlier', async (t) => {
  t.equal(limits.turn.toolGuardMs, 420_000);
  const { end, advance, stopped } = callOf('terminal');
  await tick();
  await advance(419_999);
  t.notOk(stopped());
  await advance(1);
  t.ok(stopped());
  t.match(await end, { status: 'complete', toolCalls: 1 });
});

t.test('err.16 a turn that hits the tool deadline guard tells the model tool_timeout and goes on', async (t) => {
  const { end, advance, results } = callOf('terminal');
  await tick();
  await advance(420_000);
  t.match(await end, { status: 'complete', modelCalls: 2 });
  t.match(results, [{ isError: true, text: /^TOOL_TIMEOUT \(tool_timeout\): terminal took longer than 420 s/ }]);
});

t.test('toolcall.1 the deadline guard of 420 seconds does not apply to manage_connections', async (t) => {
  const { end, advance, results, answer, stopped } = callOf('manage_connections');
  await tick();
  await advance(10 * 420_000);
  t.notOk(stopped());
  answer.resolve({ text: 'connected', isError: false });
  await end;
  t.match(results, [{ isError: false, text: 'connected' }]);
});

t.test('the compression of a session', async (t) => {
  using home = testHome();
  await using worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const talk = async () => {
    const session_id = await client.create();
    for (let n = 1; n <= 5; n++) await client.turn(session_id, `say: ${40 + n} words`);
    return session_id;
  };
  const kept = async (session_id: string) =>
    (await client.link.call(sessionHistory, { session_id })).messages
      .filter((row) => row.in_context && row.role === 'user')
      .map((row) => row.content);

  await t.test('slash.1 /compress here [N] summarises everything except the last N exchanges, which stay word for word', async (t) => {
    const session_id = await talk();
    t.match(await client.link.call(sessionCompress, { session_id, keep: 3 }), { status: 'compressed', removed: 4 });
    t.same(await kept(session_id), ['say: 43 words', 'say: 44 words', 'say: 45 words']);
    const { messages } = await client.link.call(sessionHistory, { session_id });
    t.match(messages[4], { kind: 'summary', role: 'system', content: /say: 41 words.*say: 42 words/s });
  });

  await t.test('lim.9 /compress here keeps 2 exchanges unless told otherwise', async (t) => {
    t.equal(limits.compress.hereKeep, 2);
    const session_id = await talk();
    await client.link.call(sessionCompress, { session_id, keep: limits.compress.hereKeep });
    t.same(await kept(session_id), ['say: 44 words', 'say: 45 words']);
  });
});
