import t from 'tap';
import { redactedAnswer } from '../../services/mcp/toolResult.ts';

const redact = (text: string) => text.replaceAll('SECRET', '***');

t.test('secrets are removed wherever a result has text; only the data of pictures, sounds and files is left as it is', async (t) => {
  const content = [
    { type: 'text', text: 'SECRET', data: { deep: 'SECRET' } },
    { type: 'image', data: 'SECRETpng', mimeType: 'image/png', annotations: { data: 'SECRET' } },
    { type: 'audio', data: 'SECRETwav', mimeType: 'audio/wav' },
    { type: 'image', data: { text: 'SECRET' } },
    { type: 'resource', resource: { uri: 'file:///SECRET', blob: 'SECRETblob' }, blob: 'SECRET' },
    { type: 'resource', resource: { uri: 'x', text: 'SECRET', blob: ['SECRET'] } },
    { type: 'strange', data: 'SECRET', blob: 'SECRET' },
    null,
  ];
  const structured = { data: { rows: ['SECRET'] }, blob: 'SECRET' };
  t.strictSame(redactedAnswer({ text: 'SECRET', content, structured, is_error: false }, redact), {
    text: '***',
    content: [
      { type: 'text', text: '***', data: { deep: '***' } },
      { type: 'image', data: 'SECRETpng', mimeType: 'image/png', annotations: { data: '***' } },
      { type: 'audio', data: 'SECRETwav', mimeType: 'audio/wav' },
      { type: 'image', data: { text: '***' } },
      { type: 'resource', resource: { uri: 'file:///***', blob: 'SECRETblob' }, blob: '***' },
      { type: 'resource', resource: { uri: 'x', text: '***', blob: ['***'] } },
      { type: 'strange', data: '***', blob: '***' },
      null,
    ],
    structured: { data: { rows: ['***'] }, blob: '***' },
    is_error: false,
  });
});
