import t from 'tap';
import { encodeFrame, FrameDecoder } from '../../ipc/frames.ts';

t.test('a frame cut at every byte is put together again', async (t) => {
  const bytes = Buffer.concat([encodeFrame('{"a":1}'), encodeFrame('{"b":"é"}')]);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const decoder = new FrameDecoder();
    const bodies = [...decoder.push(bytes.subarray(0, cut)), ...decoder.push(bytes.subarray(cut))].map(String);
    t.same(bodies, ['{"a":1}', '{"b":"é"}'], `cut at ${cut}`);
  }
});

t.test('a frame over the limit is refused before its body is read', async (t) => {
  const decoder = new FrameDecoder(10);
  t.throws(() => decoder.push(Buffer.from('Content-Length: 11\r\n\r\n')), { code: 'FRAME_TOO_LARGE' });
});

t.test('bytes that are no header are refused', async (t) => {
  t.throws(() => new FrameDecoder().push(Buffer.from('GET / HTTP/1.1\r\n\r\n')), { code: 'FRAME_MALFORMED' });
  t.throws(() => new FrameDecoder().push(Buffer.alloc(5000, 'x')), { code: 'FRAME_MALFORMED' });
});
