import t from 'tap';
import { limits } from '../../base/limits.ts';
import { createLogger } from '../../base/log.ts';
import { settleCutPhases } from '../../services/agent/compress.ts';
import { EventLog } from '../../services/agent/events.ts';
import { Store } from '../../services/agent/store.ts';
import { Transcripts } from '../../services/agent/transcripts.ts';
import { noUsage, recordSideCall, recordTurn, sessionTotals, usageReport } from '../../services/agent/usage.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';

/** A store with one session, and a turn of it that runs. */
function stage() {
  const home = testHome();
  const store = new Store(home.stateDb);
  const transcripts = new Transcripts(store);
  const { id: sessionId } = store.createSession({ source: 'cli', cwd: '/' });
  const read = () => transcripts.modelMessages(sessionId, { withAuthors: true }).map(({ role, content }) => `${role} ${content}`);
  const prompt = (text: string, author?: string) => {
    transcripts.addPrompt({ sessionId, text, surface: 'cli', author });
    return transcripts.startTurn(transcripts.queued(sessionId)[0]!);
  };
  const answer = (turnId: number, text: string) => {
    const id = transcripts.openAssistant(sessionId, turnId);
    transcripts.closeAssistant(id, { text, reasoning: '', toolCalls: [], finishReason: 'stop' });
    return id;
  };
  const end = () => {
    store.close();
    home[Symbol.dispose]();
  };
  return { store, transcripts, sessionId, read, prompt, answer, [Symbol.dispose]: end };
}

t.test('a conversation as the model reads it follows every change of its rows, whoever makes it', async (t) => {
  using parts = stage();
  const { store, transcripts, sessionId, read, prompt, answer } = parts;
  const turn = prompt('one', 'ada');
  t.same(read(), ['user ada: one']);
  const open = transcripts.openAssistant(sessionId, turn);
  t.same(read(), ['user ada: one'], 'an answer that streams is not in it');
  transcripts.closeAssistant(open, { text: 'eins', reasoning: '', toolCalls: [], finishReason: 'stop' });
  t.same(read(), ['user ada: one', 'assistant eins']);
  const second = prompt('two');
  const call = { id: 'c1', name: 'echo', args: {} };
  const calling = transcripts.openAssistant(sessionId, second);
  transcripts.closeAssistant(calling, { text: '', reasoning: '', toolCalls: [call], finishReason: 'tool_calls' });
  transcripts.addToolResult(sessionId, second, call, { text: 'result', isError: false });
  const all = ['user ada: one', 'assistant eins', 'user two', 'assistant ', 'tool result'];
  t.same(read(), all);

  store.run("UPDATE messages SET content = 'eins!' WHERE id = ?", open);
  t.equal(read()[1], 'assistant eins!', 'a row is changed');
  store.run('UPDATE messages SET active = 0 WHERE turn_id = ?', turn);
  t.same(read(), all.slice(2), 'an exchange is taken back');
  store.run('UPDATE messages SET active = 1 WHERE turn_id = ?', turn);
  store.run('DELETE FROM messages WHERE id = ?', open);
  t.same(read(), [all[0], ...all.slice(2)], 'a row is removed');
  store.run(
    "INSERT INTO messages (session_id, position, role, kind, content, timestamp) VALUES (?, 1, 'system', 'summary', 'before', 0)",
    sessionId,
  );
  t.equal(read()[1], 'summary before', 'a summary is put between');

  t.throws(() =>
    store.transaction(() => {
      answer(second, 'never said');
      t.match(read().at(-1), 'assistant never said');
      throw new Error('taken back');
    }),
  );
  t.equal(read().at(-1), 'tool result', 'what a transaction took back is gone');
  store.deleteSession(sessionId);
  t.same(read(), []);
});

t.test('an interrupt and a crash leave nothing in the conversation that a model could trip over', async (t) => {
  using parts = stage();
  const { transcripts, sessionId, read, prompt } = parts;
  const turn = prompt('one');
  transcripts.closeAssistant(transcripts.openAssistant(sessionId, turn), {
    text: '',
    reasoning: 'hm',
    toolCalls: [],
    finishReason: 'interrupted',
  });
  t.same(read(), ['user one'], 'an answer without a word is left out');
});

t.test('the memory for conversations is bounded', async (t) => {
  using parts = stage();
  const { store, transcripts } = parts;
  const big = 'x'.repeat(limits.turn.contextCacheMaxChars / 4);
  const sessions = Array.from({ length: 8 }, () => store.createSession({ source: 'cli', cwd: '/' }).id);
  for (const [n, sessionId] of sessions.entries()) {
    transcripts.addPrompt({ sessionId, text: `${n}${big}`, surface: 'cli' });
    transcripts.startTurn(transcripts.queued(sessionId)[0]!);
    t.equal(transcripts.modelMessages(sessionId, { withAuthors: false })[0]!.content[0], String(n));
  }
  for (const [n, sessionId] of sessions.entries())
    t.equal(transcripts.modelMessages(sessionId, { withAuthors: false })[0]!.content[0], String(n), 'also after it was let go');
});

t.test('the accounts of a session hold its turns and what was asked beside them, by model', async (t) => {
  using parts = stage();
  const { store, transcripts, sessionId, prompt } = parts;
  const turn = prompt('one');
  transcripts.setModel(turn, { provider: 'box', id: 'm1' });
  const end = {
    status: 'complete' as const,
    messageId: 1,
    text: '',
    error: null,
    usage: { input: 100, output: 10, cacheRead: 80, costUsd: 0.5 },
    modelCalls: 2,
    toolCalls: 0,
    contextTokens: 60,
  };
  transcripts.finishTurn(turn, end, null);
  recordTurn(store, sessionId, end);
  recordSideCall(store, sessionId, { task: 'compression', provider: 'box', model: 'm2', usage: { input: 7, output: 3 }, modelCalls: 1 });
  recordSideCall(store, sessionId, { task: 'title', provider: 'demo', model: 'm3', usage: null, modelCalls: 0 });
  const session = store.session(sessionId)!;
  const usage = { ...noUsage, input: 107, output: 13, cache_read: 80, model_calls: 3, cost_usd: 0.5 };
  t.same(sessionTotals(session), usage);
  t.same(usageReport(store, session), {
    usage,
    by_model: [
      { provider: 'box', model: 'm1', usage: { ...noUsage, input: 100, output: 10, cache_read: 80, model_calls: 2, cost_usd: 0.5 } },
      { provider: 'box', model: 'm2', usage: { ...noUsage, input: 7, output: 3, model_calls: 1 } },
    ],
    turns: 1,
    compressions: 0,
    context_used: 60,
  });
  t.equal(store.one<{ cost_usd: number }>('SELECT cost_usd FROM turns')!.cost_usd, 0.5);
});

t.test('a compression that a kill cut gets its end in the next worker, once, also when its session is gone', async (t) => {
  using parts = stage();
  const { store, sessionId } = parts;
  const log = createLogger({ sink: { write() {}, close() {} }, component: 'agent' });
  const events = new EventLog({ store, log, onFailure() {}, onStored() {}, onPrune() {} });
  for (const id of [sessionId, 'ses_gone']) store.run("INSERT INTO state_meta (key, value) VALUES (?, '')", `compacting:${id}`);
  t.equal(settleCutPhases({ store, events }), 2);
  t.equal(settleCutPhases({ store, events }), 0);
  t.match(events.since(sessionId, 0).events, [{ type: 'status.update', payload: { kind: 'compacting', phase: 'end' } }]);
});

t.test('text of many sessions is stored together; a store that refuses it tells each of them', async (t) => {
  using parts = stage();
  const { store, sessionId } = parts;
  const other = store.createSession({ source: 'cli', cwd: '/' }).id;
  const log = createLogger({ sink: { write() {}, close() {} }, component: 'agent' });
  const failed: string[] = [];
  const events = new EventLog({ store, log, onFailure: (id) => void failed.push(id), onStored() {}, onPrune() {} });
  const say = (text: string) => {
    for (const id of [sessionId, other]) events.emit(id, null, 'message.delta', { text });
  };
  const seen = (id: string) =>
    store.all<{ seq: number; payload: string }>('SELECT seq, payload FROM session_events WHERE session_id = ?', id);
  say('a');
  await until('it is stored', () => seen(other).length === 1);
  for (const id of [sessionId, other]) t.same(seen(id), [{ seq: 1, payload: '{"text":"a"}' }]);
  store.db.exec("CREATE TEMP TRIGGER full BEFORE INSERT ON main.session_events BEGIN SELECT RAISE(ABORT, 'full'); END");
  say('b');
  await until('both are told', () => failed.length === 2);
  t.same(failed, [sessionId, other]);
  store.db.exec('DROP TRIGGER full');
  say('c');
  await until('it is stored', () => seen(other).length === 2);
  for (const id of [sessionId, other]) t.same(seen(id).at(-1), { seq: 2, payload: '{"text":"c"}' }, 'numbers go on without a gap');
});
