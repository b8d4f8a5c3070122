/** `agent sessions …` as a user types it, with the service up and with it down. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { spawn } from 'node-pty';
import t from 'tap';
import { cliEnv } from '../harness/cli.ts';
import { cliService } from '../harness/cliService.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(240_000);

t.test('conversations are listed, shown, found, renamed, archived, exported, imported and deleted', async (t) => {
  await using service = cliService();
  const { agent, home } = service;
  t.match(await agent('up', '--demo', '--port', '0'), { code: 0 });
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
  t.match(await agent('sessions', 'list', '--archived'), { code: 0, stderr: 'agent: no conversation fits\n' });
  const text = (await agent('sessions', 'export', 'Birds', '--format', 'markdown')).stdout;
  t.match(text, /^# Birds\n\n\d{4}-[^\n]+\n\n## You\n\nthe nightingale sings\n\n## Agent\n\n/);
  t.match(await agent('sessions', 'export', 'Birds', '--format', 'html'), { code: 2, stderr: /jsonl, markdown/ });
  t.match(await agent('sessions', 'archive', 'Birds'), { code: 0 });
  t.match(await agent('sessions', 'list', '--ids'), { stdout: `${oldest}\n` });
  t.match(await agent('sessions', 'list', '--archived'), { stdout: /Birds/ });
  t.match(await agent('sessions', 'archive', 'Birds', '--undo'), { code: 0 });

  // What the menu of a chat does.
  const branched = JSON.parse((await agent('sessions', 'branch', 'Birds', 'Owls', '--json')).stdout) as { session_id: string };
  t.match(branched, { title: 'Owls', parent_session_id: newest, message_count: 2 });
  t.match(await agent('sessions', 'branch', 'Owls', '--back', 'x'), { code: 2, stderr: /--back takes a whole number/ });
  t.match(await agent('sessions', 'undo', 'Owls'), { code: 0, stdout: 'Taken back: the nightingale sings\n' });
  t.match(await agent('sessions', 'undo', 'Owls', '--json'), { code: 1, stdout: /"removed":0/ });
  t.match(await agent('sessions', 'show', 'Birds'), { stdout: /nightingale/ }, 'the old one is unchanged');
  t.match(await agent('sessions', 'interrupt', 'Birds'), { code: 1, stdout: 'nothing is being answered there\n' });
  t.match(await agent('sessions', 'compress', 'Owls', '--json'), { code: 1, stdout: /"status":"aborted"/ });
  t.match(await agent('sessions', 'delete', branched.session_id, '--yes'), { code: 0 });
  t.match(await agent('model', 'test', 'nobody'), { code: 1, stderr: /nobody/ });
  t.match(await agent('model', 'test', '--json'), { code: 0, stdout: /"ok":true/ });

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
  const [exported] = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => JSON.parse(line || 'null') as { session: object });
  const long = Array.from({ length: 300 }, (_, n) => {
    const session = {
      ...exported!.session,
      id: `ses_long${n}`,
      title: `${n} `.repeat(200),
      started_at: '2025-01-01T00:00:00.000Z',
      last_active: '2025-01-01T00:00:00.000Z',
    };
    return JSON.stringify({ ...exported, session });
  });
  writeFileSync(join(home.root, 'long.jsonl'), long.join('\n'));
  t.match(await agent('sessions', 'import', join(home.root, 'long.jsonl')), {
    code: 0,
    stdout: '300 imported, 0 there already, 0 refused\n',
    stderr: /line 1: its title of 400 characters was cut to 200\n[\s\S]*and 295 more were changed/,
  });
  const listed = JSON.parse((await agent('sessions', 'list', '-n', '500', '--json')).stdout) as { sessions: { id: string }[] };
  t.same(
    listed.sessions.slice(2).map(({ id }) => id),
    long.map((_, n) => `ses_long${299 - n}`),
    'of one instant the one made later stands first',
  );
  t.match(await agent('sessions', 'prune', '--older-than', '100', '--yes'), { stdout: /^300 removed/ });
  t.match(await agent('sessions', 'prune', '--older-than', '0'), { code: 0, stdout: /2 would be removed/ });
  const db = new Database(home.stateDb);
  const insert = db.prepare("INSERT INTO messages (session_id, position, role, content) VALUES (?, ?, 'user', ?)");
  db.transaction(() => {
    for (let n = 0; n < 10_500; n++) insert.run(oldest, 100 + n, `row ${n}.`);
  })();
  db.close();
  const all = JSON.parse((await agent('sessions', 'show', oldest, '--json')).stdout) as { messages: { content: string }[] };
  t.same(
    [all.messages.length, all.messages[2]!.content, all.messages.at(-1)!.content],
    [10_502, 'row 0.', 'row 10499.'],
    'all of a long one',
  );
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

t.test('files sent in a conversation are listed and taken out again, with the service up and down', async (t) => {
  await using service = cliService();
  const { agent, home } = service;
  t.match(await agent('up', '--demo', '--port', '0'), { code: 0 });
  const outside = mkdtempSync(join(tmpdir(), 'agent-files-'));
  t.teardown(() => rmSync(outside, { recursive: true, force: true }));
  const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(1_500_000, 7)]);
  const source = join(outside, 'cat.png');
  writeFileSync(source, picture);
  t.match(await agent('chat', '-q', 'say: 1 word', '--image', source), { code: 0 });

  const listed = await agent('sessions', 'attachments', 'latest', '--json');
  const { files } = JSON.parse(listed.stdout) as { files: { id: string; name: string; size: number }[] };
  t.match(files, [{ name: 'cat.png', media_type: 'image/png', size: picture.length, id: /^[0-9a-f]{64}\.png$/ }]);
  t.match(await agent('sessions', 'attachments', 'latest'), { code: 0, stdout: /cat\.png +image\/png +1500008 / });
  const copy = join(outside, 'copy.png');
  t.match(await agent('sessions', 'attachments', 'latest', '--get', 'cat.png', '-o', copy), {
    code: 0,
    stdout: /1500008 bytes written to/,
  });
  t.ok(readFileSync(copy).equals(picture));
  t.equal(statSync(copy).mode & 0o777, 0o600);
  t.match(await agent('sessions', 'attachments', 'latest', '--get', 'cat.png', '-o', outside), {
    code: 2,
    stderr: /cat\.png is there already/,
  });
  t.match(await agent('sessions', 'attachments', 'latest', '--get', 'dog.png'), { code: 1, stderr: /no .* file "dog\.png"/ });
  t.match(await agent('sessions', 'attachments', 'latest', '-o', copy), { code: 2, stderr: /--get/ });

  t.match(await agent('down'), { code: 0 });
  const offline = join(outside, 'offline.png');
  t.match(await agent('sessions', 'attachments', 'latest', '--get', files[0]!.id, '-o', offline), { code: 0, stderr: /service is down/ });
  t.ok(readFileSync(offline).equals(picture));
  rmSync(join(home.root, 'attachments', files[0]!.id));
  t.match(await agent('sessions', 'attachments', 'latest', '--get', 'cat.png', '-o', join(outside, 'gone.png')), {
    code: 1,
    stderr: /no longer on the disk/,
  });
});

t.test('an export on a terminal steers nothing, and stays JSON', async (t) => {
  await using service = cliService();
  await service.agent('up', '--demo', '--port', '0');
  t.match(await service.agent('chat', '-q', 'say: a\u009b2Jb\u202ec\u001b]0;t\u0007'), { code: 0 });
  for (const format of ['jsonl', 'markdown']) {
    const words = [join(projectRoot, 'bin/main.ts'), 'sessions', 'export', '--format', format];
    const terminal = spawn(process.execPath, words, { cols: 4_000, rows: 50, env: cliEnv({ home: service.home }) });
    let shown = '';
    terminal.onData((data) => (shown += data));
    await new Promise((resolve) => terminal.onExit(resolve));
    t.match(shown, 'say: a');
    t.notMatch(shown, /[\u009b\u202e\u0007]|\u001b\]/u, format);
  }
  const { stdout } = await service.agent('sessions', 'export');
  t.match(JSON.stringify(JSON.parse(stdout.split('\n')[0]!)), '\u009b2J', 'a program reads what was said');
});
