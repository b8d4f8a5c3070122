/** SIGINT while `agent chat -q` waits for its answer. */
import { once } from 'node:events';
import t from 'tap';
import { exitCodes } from '../../base/exitCodes.ts';
import { cliService } from '../harness/cliService.ts';
import { spawnCli } from '../harness/cli.ts';
import { until } from '../harness/until.ts';

t.setTimeout(120_000);

t.test('the turn is interrupted, and the command exits as shells expect it', async (t) => {
  await using service = cliService({ 'config.yaml': 'dashboard: { port: 0 }\n' });
  t.equal((await service.agent('up', '--demo')).code, 0);
  const chat = spawnCli(['chat', '-q', 'slow: 60', '--events'], { home: service.home });
  const ended = once(chat, 'exit');
  let events = '';
  chat.stdout!.on('data', (chunk: Buffer) => (events += chunk.toString()));
  await until('the turn runs', () => events.includes('message.start'));
  chat.kill('SIGINT');
  t.same(await ended, [exitCodes.interrupted, null]);
});
