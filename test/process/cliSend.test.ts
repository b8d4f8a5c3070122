/** `agent send` to a real chat server: it says what really became of the message. */
import t from 'tap';
import { errorOf, finished, spawnCli } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { startNgircd } from '../harness/ngircd.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

t.test('a message is delivered, from words, a file or a pipe, or the truth is told', { timeout: 200_000 }, async (t) => {
  await using irc = await startNgircd();
  await using service = cliService({
    'config.yaml': `platforms:\n  irc: { enabled: true, host: 127.0.0.1, port: ${irc.port}, tls: false, nick: agent, channels: ["#room"], allowed_users: ["*"] }\n`,
  });
  const { agent, home } = service;
  using person = await irc.join('ada', '#room');
  const heard = (text: string) =>
    until(`"${text}" is heard in the room`, () => person.said('agent', '#room').some((line) => line.includes(text)));

  await t.test('with the gateway down nothing is sent, and the way to start it is named', async (t) => {
    t.equal((await agent('up', '--demo', '--port', '0')).code, 0);
    const refused = await agent('send', '--to', 'irc:#room', 'too early', '--json');
    t.equal(refused.code, 1);
    t.match(errorOf(refused), { message: /gateway/, fix: /agent start gateway/ });
  });

  await t.test('words, a file and a pipe arrive', async (t) => {
    t.equal((await agent('start', 'gateway')).code, 0);
    await until('the platform is connected', async () => (await agent('gateway', 'status')).stdout.includes('connected'));
    t.match(await agent('send', '--to', 'irc:#room', 'hello', 'from', 'words'), {
      code: 0,
      stdout: 'Delivered to irc:#room.\n',
      stderr: '',
    });
    await heard('hello from words');
    const file = home.write('note.txt', 'from a file\n');
    t.match(JSON.parse((await agent('send', '--to', 'irc:#room', '--file', file, '--json')).stdout), {
      target: 'irc:#room',
      status: 'delivered',
      error: null,
    });
    await heard('from a file');
    t.equal((await finished(spawnCli(['send', '--to', 'irc:#room'], { home, stdin: '' }), 'from a pipe\n')).code, 0);
    await heard('from a pipe');
    t.match(await agent('send', '--list'), { code: 0, stdout: /irc/ });
  });

  await t.test('a line that stands for a file is refused before anything is sent: the room never reads a local path', async (t) => {
    const file = home.write('picture.png', 'x');
    for (const text of [`MEDIA:${file}`, `look\n  MEDIA: ${file}\nhere`]) {
      const refused = await agent('send', '--to', 'irc:#room', text, '--json');
      t.equal(refused.code, 2);
      t.equal(errorOf(refused).code, 'USAGE');
    }
    t.equal((await agent('send', '--to', 'irc:#room', 'the word MEDIA: in a line')).code, 0);
    await heard('the word MEDIA: in a line');
    t.notOk(
      person.lines.some(({ message }) => message.includes(file)),
      'no path in the room',
    );
  });

  await t.test('an unknown target is refused', async (t) => {
    const refused = await agent('send', '--to', 'telegram:1', 'x', '--json');
    t.equal(refused.code, 1);
    t.equal(errorOf(refused).code, 'UNKNOWN_TARGET');
  });

  await t.test(
    'lesson 37: what a platform refuses for good is given up with its reason, and listed, also with the gateway down',
    async (t) => {
      t.match(await agent('gateway', 'undelivered'), { code: 0, stdout: '', stderr: /no message failed/ });
      const refused = await agent('send', '--to', 'irc:nobody', 'hello \u001b[31mthere', '--json');
      t.equal(refused.code, 1);
      t.match(errorOf(refused), { code: 'PLATFORM_DOWN', message: /No such nick/, fix: /agent gateway undelivered/ });
      t.equal((await agent('stop', 'gateway')).code, 0);
      t.match(JSON.parse((await agent('gateway', 'undelivered', '--json')).stdout), {
        undelivered: [{ target: 'irc:nobody', state: 'failed', tries: 1, error: /No such nick/, origin: 'cli' }],
      });
      const shown = await agent('gateway', 'undelivered');
      t.match(shown.stdout, /irc:nobody +failed .*No such nick.*hello there/);
      t.equal((await agent('start', 'gateway')).code, 0);
      await until('the platform is connected again', async () => (await agent('gateway', 'status')).stdout.includes('connected'));
    },
  );

  await t.test('with the chat server gone the message is stored, and the command says that it has not arrived', async (t) => {
    await irc.kill();
    const pending = await agent('send', '--to', 'irc:#room', 'later', '--wait', '1s', '--json');
    t.equal(pending.code, 1);
    t.match(errorOf(pending), { code: 'PLATFORM_DOWN', message: /stored but not delivered yet/, fix: /agent gateway status/ });
    t.match(await agent('send', '--to', 'irc:#room', 'much later', '--wait', '0s'), {
      code: 0,
      stdout: /^Stored as delivery \d+ .* not delivered yet\.\n$/,
    });
  });
});
