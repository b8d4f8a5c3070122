/**
 * A model provider for benches, a process of its own: streams tokens at a pace that the model's name asks for
 * (`t<tokens>x<pause in ms>`), one frame each, every token stamped with the moment it was sent. The first token carries
 * the moment the request arrived. A model `w…` says bare words of five bytes instead. Prints its port; ends with its
 * standard input.
 */
import { createServer } from 'node:http';

/** Microseconds on a clock that all processes of this machine share. */
const nowUs = (): number => Math.round((performance.timeOrigin + performance.now()) * 1_000);

const server = createServer((request, response) => {
  const arrivedUs = nowUs();
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const { model } = JSON.parse(Buffer.concat(parts).toString()) as { model: string };
    const [, tokens = '1', pauseMs = '0'] = /^[tw](\d+)x(\d+)$/.exec(model) ?? [];
    const said = (index: number): string => (index === 0 ? `@${arrivedUs} ` : model.startsWith('w') ? 'word ' : `#${nowUs()} `);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    stream(Number(tokens), Number(pauseMs), (index) => frame(model, said(index)), response);
  });
});

function stream(
  tokens: number,
  pauseMs: number,
  text: (index: number) => string,
  response: { write(text: string): boolean; end(text: string): unknown },
): void {
  const startedAt = performance.now();
  let sent = 0;
  const next = (): void => {
    // Paced by the clock, so that a late timer does not slow the whole stream down.
    const due = pauseMs === 0 ? tokens : Math.min(tokens, Math.floor((performance.now() - startedAt) / pauseMs) + 1);
    while (sent < due) response.write(text(sent++));
    if (sent < tokens) return void setTimeout(next, pauseMs);
    response.end(`${last}data: [DONE]\n\n`);
  };
  next();
}

const frame = (model: string, content: string): string =>
  `data: ${JSON.stringify({ id: 'b', object: 'chat.completion.chunk', created: 0, model, choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
const last = `data: ${JSON.stringify({ id: 'b', object: 'chat.completion.chunk', created: 0, model: 'b', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })}\n\n`;

server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as { port: number }).port}\n`));
process.stdin.resume().on('end', () => process.exit(0));
