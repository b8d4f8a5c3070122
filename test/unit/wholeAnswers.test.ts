import { Readable } from 'node:stream';
import t from 'tap';
import { wholeParts } from '../../agent/models/chat/partStream.ts';

const textOf = async (body: string) => {
  let text = '';
  for await (const part of wholeParts(Readable.from([body]), 'box')) if (part.type === 'text-delta') text += part.delta;
  return text;
};

t.test('an answer labelled as JSON is read as what it is: one object, or a stream of events', async (t) => {
  t.equal(await textOf(JSON.stringify({ choices: [{ message: { content: 'hello' }, finish_reason: 'stop' }] })), 'hello');
  const event = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
  t.equal(await textOf(`: keep-alive\n\n${event('hel')}${event('lo')}data: [DONE]`), 'hello');
});
