/** The body of a chat stream, read as it comes, as parts to wait for. Paused while nobody takes them. */
import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { StreamPart } from '../endpoint.ts';
import { ChatParts } from './parts.ts';
import { networkError } from './post.ts';

/** Errors while it is read: as readChunk, of the network, PROVIDER_FAILED for a frame without end. */
export function partsOf(body: Readable, metadataKey: string): AsyncIterable<StreamPart> {
  const waiting: StreamPart[] = [];
  let taker: PromiseWithResolvers<IteratorResult<StreamPart>> | undefined;
  let end: { thrown?: unknown } | undefined;
  const parts = new ChatParts(metadataKey, (part) => {
    if (!taker) return void waiting.push(part);
    taker.resolve({ value: part, done: false });
    taker = undefined;
  });
  const events = createParser({
    onEvent: ({ data }) => parts.read(data),
    onError: (error) => {
      // Fields of no meaning are passed over, as the standard of event streams has it.
      if (error.type === 'max-buffer-size-exceeded') throw new AgentError('PROVIDER_FAILED', 'a frame of its stream has no end');
    },
    maxBufferSize: limits.models.streamFrameMaxChars,
  });
  const finish = (how: { thrown?: unknown }) => {
    if (end) return;
    end = how;
    // Read to its end, its connection serves the next request.
    if (!body.readableEnded) body.destroy();
    if (!taker) return;
    if ('thrown' in how) taker.reject(how.thrown);
    else taker.resolve({ value: undefined, done: true });
    taker = undefined;
  };
  const guarded = (work: () => void) => {
    if (end) return;
    try {
      work();
    } catch (thrown) {
      finish({ thrown });
    }
  };
  body.setEncoding('utf8');
  body.on('data', (text: string) => {
    guarded(() => events.feed(text));
    if (waiting.length >= limits.models.streamPartsMax) body.pause();
  });
  body.on('end', () => {
    guarded(() => parts.end());
    finish({});
  });
  body.on('error', (cause) => finish({ thrown: networkError(cause) }));
  body.on('close', () => finish({ thrown: networkError(new Error('it was closed')) }));
  const next = (): Promise<IteratorResult<StreamPart>> => {
    const value = waiting.shift();
    if (value) {
      if (waiting.length === 0 && body.isPaused()) body.resume();
      return Promise.resolve({ value, done: false });
    }
    if (end) return 'thrown' in end ? Promise.reject(end.thrown) : Promise.resolve({ value: undefined, done: true });
    taker = Promise.withResolvers();
    return taker.promise;
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      return: () => {
        finish({});
        return Promise.resolve({ value: undefined, done: true });
      },
    }),
  };
}
