/** `agent sessions …` as a user types it, with the service up and with it down. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cliService } from '../harness/cliService.ts';

t.setTimeout(120_000);

t.test('conversations are listed, shown, found, renamed, archived, exported, imported and deleted', async (t) => {
  await using service = cliService();
  const { agent, home } = service;
  t.match(await agent('up', '--demo'), { code: 0 });
  for (const text of ['say: 3 words', 'the nightingale sings']) t.match(await agent('chat', '-q', text), { code: 0 });

  const { sessions, total } = JSON.parse((await agent('sessions', 'list', '--json')).stdout) as {
    sessions: { id: string }[];
    total: number;
  };
  t.equal(total, 2);
  const [newest, oldest] = sessions.map(({ id }) => id) as [string, string];
  t.match(await agent('sessions', 'list', '--ids'), { code: 0, stdout: `${newest}\n${oldest}\n` });
  t.match(await agent('sessions', 'search', 'ightingal'), { code: 0, stdout: new RegExp(`${newest}.*\n.*nightingale`) });
  t.match(await agent('sessions', 'search', 'ostrich'), { code: 1, stderr: /nothing found/ });
  t.match(await agent('sessions', 'rename', newest, 'Birds'), { code: 0, stdout: /is now "Birds"/ });
  t.match(await agent('sessions', 'show', 'Birds'), { code: 0, stdout: /nightingale/ });
  t.match(await agent('sessions', 'archive', 'Birds'), { code: 0 });
  t.match(await agent('sessions', 'list', '--ids'), { stdout: `${oldest}\n` });
  t.match(await agent('sessions', 'list', '--archived'), { stdout: /Birds/ });
  t.match(await agent('sessions', 'archive', 'Birds', '--undo'), { code: 0 });
  t.match(await agent('sessions', 'stats'), { code: 0, stdout: /2 conversations .* 4 messages/ });

  const file = join(home.root, 'all.jsonl');
  t.match(await agent('sessions', 'export', '-o', file), { code: 0, stdout: /2 sessions written/ });
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.equal(readFileSync(file, 'utf8').trim().split('\n').length, 2);
  t.match(await agent('sessions', 'delete', newest), { code: 2, stderr: /--yes/ });
  t.match(await agent('sessions', 'delete', newest, '--yes'), { code: 0 });
  t.match(await agent('sessions', 'import', file), { code: 0, stdout: '1 imported, 1 there already, 0 refused\n' });
  writeFileSync(join(home.root, 'bad.jsonl'), `${readFileSync(file, 'utf8')}not json\n{"format":"other"}\n`);
  t.match(await agent('sessions', 'import', join(home.root, 'bad.jsonl')), {
    code: 1,
    stdout: /2 refused/,
    stderr: /line 3: it is no JSON[\s\S]*line 4: format/,
  });
  t.match(await agent('sessions', 'prune', '--older-than', '0'), { code: 0, stdout: /2 would be removed/ });
  t.match(await agent('sessions', 'show', 'ses_nobody'), { code: 1, stderr: /no session "ses_nobody"/ });

  t.match(await agent('down'), { code: 0 });
  const down = { code: 0, stderr: /service is down/ };
  t.match(await agent('sessions', 'list', '--ids'), { ...down, stdout: new RegExp(newest) });
  t.match(await agent('sessions', 'show', 'Birds'), { ...down, stdout: /nightingale/ });
  t.match(await agent('sessions', 'search', 'nightingale'), { ...down, stdout: /nightingale/ });
  t.match(await agent('sessions', 'stats', '--json'), { ...down, stdout: /"total":2/ });
  const offline = await agent('sessions', 'export', 'Birds');
  t.match(offline, down);
  t.match(JSON.parse(offline.stdout), {
    format: 'agent.session.v1',
    session: { title: 'Birds' },
    messages: [{ content: 'the nightingale sings' }, {}],
  });
  t.match(await agent('sessions', 'rename', 'Birds', 'x'), { code: 3, stderr: /agent up/ });
});
