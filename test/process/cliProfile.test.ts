/** `agent profile` and the platform commands of `agent gateway`, as a user runs them, without a service. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cli, errorOf } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';

interface Listed {
  profiles: { name: string; is_active: boolean; model: string | null }[];
}

t.test('profiles are made, chosen for commands without -p, renamed and deleted; the choice follows', async (t) => {
  using home = testHome();
  const agent = (...args: string[]) => cli(args, { home });
  const list = async () => (JSON.parse((await agent('profile', 'list', '--json')).stdout) as Listed).profiles;

  t.match(await agent('profile', 'create', 'work', '--model', 'tiny-1', '--description', 'mail'), { code: 0, stdout: /^Made work/ });
  t.match(errorOf(await agent('profile', 'create', 'work', '--json')), { code: 'PROFILE_EXISTS' });
  t.match(errorOf(await agent('profile', 'create', 'Work', '--json')), { code: 'BAD_REQUEST', fix: /small letters/ });
  t.match(await agent('profile', 'use', 'work'), { code: 0 });
  t.match(await list(), [
    { name: 'default', is_active: false },
    { name: 'work', is_active: true, model: 'tiny-1' },
  ]);
  t.match(await agent('config', 'path'), { stdout: `${join(home.root, 'profiles/work/config.yaml')}\n` }, 'another command goes there');
  t.match(await agent('-p', 'default', 'config', 'path'), { stdout: `${home.config}\n` }, 'unless it is told otherwise');
  t.match(await agent('profile', 'rename', 'work', 'office'), { code: 0 });
  t.match(await agent('config', 'path'), { stdout: /profiles\/office/ });
  t.match(await agent('profile', 'list', '--names'), { stdout: 'default\noffice\n' });

  const { stdout } = await agent('profile', 'delete', 'office', '--json');
  t.ok(existsSync(join((JSON.parse(stdout) as { backup: string }).backup, 'SOUL.md')));
  t.match(await agent('config', 'path'), { stdout: `${home.config}\n` }, 'a choice that is gone locks nobody out');
  t.match(errorOf(await agent('profile', 'delete', 'default', '--json')), { code: 'BAD_REQUEST' });
});

t.test('webhook routes that are bound to a profile follow its new name', async (t) => {
  using home = testHome({
    'config.yaml': 'platforms:\n  webhook: { routes: { a.b: { prompt: x, profile: work }, own: { prompt: y } } } # routes\n',
    'profiles/work/SOUL.md': 'I work.\n',
    'webhook_subscriptions.json': JSON.stringify({
      routes: { build: { prompt: 'x', deliver: 'none', secret: '${S}', profile: 'work', created_at: '2026-01-01T00:00:00Z' } },
    }),
  });
  t.match(await cli(['profile', 'rename', 'work', 'office'], { home }), { code: 0 });
  t.match(readFileSync(home.config, 'utf8'), /a\.b: \{ prompt: x, profile: office \}, own: \{ prompt: y \}.*# routes/);
  const { stdout } = await cli(['webhook', 'list', '--json'], { home });
  const { routes } = JSON.parse(stdout) as { routes: { name: string; profile: string | null }[] };
  t.strictSame(Object.fromEntries(routes.map(({ name, profile }) => [name, profile])), { 'a.b': 'office', own: null, build: 'office' });
});

t.test('a platform is set up by command: settings into config.yaml, a secret from a pipe into .env, never on the screen', async (t) => {
  using home = testHome({ 'config.yaml': '# mine\n' });
  const agent = (args: string[], stdin?: string) => cli(args, { home, ...(stdin === undefined ? {} : { stdin }) });
  t.match(await agent(['gateway', 'platforms']), { code: 0, stdout: /irc +not_configured +agent gateway setup irc/ });
  t.match(await agent(['gateway', 'setup', 'irc']), { stdout: /1\. Choose the server/ });
  t.equal(readFileSync(home.config, 'utf8'), '# mine\n', 'looking changes nothing');
  t.match(await agent(['gateway', 'setup', 'irc', '--set', 'host=irc.example.org', '--set', 'channels=#a, #b', '--set', 'tls=true']), {
    code: 0,
  });
  const saved = await agent(['gateway', 'setup', 'irc', '--secret', 'IRC_PASSWORD'], 'secret-of-the-irc-server\n');
  t.match(saved, { code: 0, stdout: /IRC_PASSWORD +••••rver/ });
  t.notMatch(saved.stdout + saved.stderr, 'secret-of');
  t.match(
    readFileSync(home.config, 'utf8'),
    /^# mine\n[\s\S]*host: irc\.example\.org\n[\s\S]*- "#b"[\s\S]*tls: true\n[\s\S]*enabled: true/,
  );
  t.match(readFileSync(home.env, 'utf8'), /^IRC_PASSWORD=secret-of-the-irc-server$/m);
  t.match(errorOf(await agent(['gateway', 'setup', 'irc', '--set', 'nobody=1', '--json'])), { code: 'USAGE' });
  t.match(errorOf(await agent(['gateway', 'setup', 'irc', '--secret', 'PATH', '--json'], 'x')), { code: 'USAGE' });
  t.match(errorOf(await agent(['gateway', 'test', 'irc', '--json'])), { code: 'PLATFORM_DOWN', fix: 'agent gateway start' });
  await agent(['gateway', 'disable', 'irc']);
  t.match(await agent(['gateway', 'platforms']), { stdout: /irc +disabled/ });
  t.match(await agent(['gateway', 'setup', 'irc', '--clear', 'IRC_PASSWORD']), { stdout: /IRC_PASSWORD +not set/ });
});
