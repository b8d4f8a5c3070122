/** The body of a chat stream, read as it comes, as parts to wait for. Paused while nobody takes them. */
import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { StreamPart } from '../endpoint.ts';
import { Feed } from '../feed.ts';
import { ChatParts } from './parts.ts';
import { networkError } from './post.ts';

/** An answer in one piece, of a server that does not stream. Errors as partsOf. */
export async function* wholeParts(body: Readable, metadataKey: string): AsyncIterable<StreamPart> {
  let text = '';
  for await (const piece of body.setEncoding('utf8')) {
    text += piece as string;
    if (text.length > limits.models.streamFrameMaxChars) throw new AgentError('PROVIDER_FAILED', 'its answer has no end');
  }
  const found: StreamPart[] = [];
  const parts = new ChatParts(metadataKey, (part) => found.push(part));
  // Some servers label a stream of events as JSON.
  if (/^\s*(?:data|event|id|retry)?:/.test(text)) createParser({ onEvent: ({ data }) => parts.read(data) }).feed(`${text}\n\n`);
  else parts.read(text);
  parts.end();
  yield* found;
}

/** Errors while it is read: as readChunk, of the network, PROVIDER_FAILED for a frame without end. */
export function partsOf(body: Readable, metadataKey: string): AsyncIterable<StreamPart> {
  const feed = new Feed<StreamPart>({
    onLeft: () => body.destroy(),
    onEmpty: () => void (body.isPaused() && body.resume()),
  });
  const parts = new ChatParts(metadataKey, (part) => feed.push(part));
  const events = createParser({
    onEvent: ({ data }) => parts.read(data),
    onComment: () => parts.alive(),
    onError: (error) => {
      // Fields of no meaning are passed over, as the standard of event streams has it.
      if (error.type === 'max-buffer-size-exceeded') throw new AgentError('PROVIDER_FAILED', 'a frame of its stream has no end');
    },
    maxBufferSize: limits.models.streamFrameMaxChars,
  });
  const guarded = (work: () => void) => {
    if (feed.ended) return;
    try {
      work();
    } catch (thrown) {
      feed.fail(thrown);
      body.destroy();
    }
  };
  body.setEncoding('utf8');
  body.on('data', (text: string) => {
    guarded(() => events.feed(text));
    if (feed.length >= limits.models.streamPartsMax) body.pause();
  });
  body.on('end', () => {
    guarded(() => parts.end());
    feed.end();
  });
  body.on('error', (cause) => feed.fail(networkError(cause)));
  body.on('close', () => feed.fail(networkError(new Error('it was closed'))));
  return feed;
}
