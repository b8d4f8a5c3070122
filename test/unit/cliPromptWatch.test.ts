/** Which completion belongs to which prompt, among the events of a session that others use too. */
import t from 'tap';
import type { ChatEvent } from '../../chat/conversation.ts';
import { PromptWatch } from '../../chat/promptWatch.ts';

const accepted = (message_id: number): ChatEvent => ({ type: 'prompt.accepted', payload: { message_id, text: 'x', surface: 'cli' } });
const queue = (...ids: number[]): ChatEvent => ({ type: 'queue.updated', payload: { queued: ids.map((id) => ({ id, text: 'x' })) } });
const complete = (text: string): ChatEvent => ({
  type: 'message.complete',
  payload: { message_id: 99, text, status: 'complete', usage: null, error: null, duration_ms: 1 },
});
const tool = (name: string): ChatEvent => ({
  type: 'tool.complete',
  payload: { tool_id: name, name, args: {}, result: null, result_text: '', is_error: false, duration_s: 0.1 },
});

async function outcome(status: 'streaming' | 'queued', before: ChatEvent[], after: ChatEvent[]) {
  const watch = new PromptWatch();
  for (const event of before) watch.see(event);
  watch.accepted({ status, message_id: 7 });
  for (const event of after) watch.see(event);
  const { text, tools } = await watch.outcome('s');
  return { text, tools: tools.map(({ name }) => name) };
}

t.test('the completion after our own row is ours', async (t) => {
  t.same(await outcome('streaming', [], [accepted(7), tool('a'), complete('ours')]), { text: 'ours', tools: ['a'] });
});

t.test('events that arrive before the answer of prompt.submit are not lost', async (t) => {
  t.same(await outcome('streaming', [accepted(7), tool('a'), complete('ours')], []), { text: 'ours', tools: ['a'] });
});

t.test('the end of a turn that ran before is not taken for ours', async (t) => {
  t.same(await outcome('streaming', [complete('theirs')], [accepted(7), complete('ours')]), { text: 'ours', tools: [] });
});

t.test('a queued prompt waits until it has left the queue', async (t) => {
  const events = [queue(7), accepted(7), tool('theirs'), complete('theirs'), queue(), tool('ours'), complete('ours')];
  t.same(await outcome('queued', [], events), { text: 'ours', tools: ['ours'] });
});

t.test('after a gap the transcript tells how it ended', async (t) => {
  const row = (id: number, role: 'user' | 'assistant', content: string, finish_reason: string | null) => ({
    id,
    role,
    content,
    finish_reason,
    tool_calls: null,
    tool_call_id: null,
    tool_name: null,
    reasoning: null,
    timestamp: '',
  });
  const watch = new PromptWatch();
  watch.accepted({ status: 'streaming', message_id: 7 });
  watch.see({
    type: 'connection.snapshot',
    snapshot: { status: 'idle', queued: [], messages: [row(7, 'user', 'x', null), row(8, 'assistant', 'half', 'interrupted')] } as never,
  });
  t.match(await watch.outcome('s'), { text: 'half', status: 'interrupted', session_id: 's' });
});

t.test('a connection that cannot be restored ends the wait with its error', async (t) => {
  const watch = new PromptWatch();
  watch.accepted({ status: 'streaming', message_id: 7 });
  watch.see({ type: 'connection.failed', error: new Error('gone') });
  await t.rejects(watch.outcome('s'), { message: 'gone' });
});

t.test('warnings of our turn are told, and after a gap the error of the answer', async (t) => {
  const watch = new PromptWatch();
  watch.accepted({ status: 'streaming', message_id: 7 });
  const notice = (text: string, level: 'info' | 'warn'): ChatEvent => ({ type: 'notice', payload: { text, level } });
  for (const event of [notice('theirs', 'warn'), accepted(7), notice('by the way', 'info'), notice('short', 'warn'), complete('ours')])
    watch.see(event);
  t.same((await watch.outcome('s')).warnings, ['short']);

  const error = { code: 'PROVIDER_FAILED', message: 'it answered 500', fix: null };
  const gap = new PromptWatch();
  gap.accepted({ status: 'streaming', message_id: 7 });
  const row = { id: 8, role: 'assistant', content: '', finish_reason: 'error', error };
  gap.see({ type: 'connection.snapshot', snapshot: { status: 'idle', queued: [], messages: [row] } as never });
  t.match(await gap.outcome('s'), { status: 'error', error });
});
