/** What killed processes leave in the home is removed after a start, and nothing else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, utimesSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { identityOf } from '../../state/processIdentity.ts';
import { testHome } from '../harness/home.ts';
import { fixtureSlot, superviseFixtures } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';

t.test('temporary files, lock records and sockets of dead processes are removed; those of living ones stay', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': 'mail\n' });
  const child = spawn('/bin/sh', ['-c', 'exit 0']);
  const dead = { ...identityOf(child.pid!), nonce: 'n', holder: 'a change of the file', taken_at: 'then' };
  await once(child, 'exit');
  const hex = '0123456789abcdef';
  const old = (name: string, content = 'x') => {
    const path = home.write(name, content);
    utimesSync(path, 1, 1);
    return path;
  };
  const gone = [
    old('.env.0a1b2c3d.tmp'),
    old('profiles/work/config.yaml.0a1b2c3d.tmp'),
    old('run/slots.json.0a1b2c3d.tmp'),
    old('cron/x.0a1b2c3d.tmp'),
    old('cron/output/job/run.md.0a1b2c3d.tmp'),
    old('backups/stores/cron-2026-01-01.db.0a1b2c3d.tmp'),
    old('profiles/work/backups/stores/cron-2026-01-01.db.0a1b2c3d.tmp-journal'),
    home.write(`.env.lock.${hex}`, JSON.stringify(dead)),
    home.write(`run/agent.lock.clearing.${hex}`, JSON.stringify(dead)),
    home.write(`agent.lock.clearing.${hex}`, JSON.stringify(dead)),
    old(`cron/cron.db.lock.${hex}`, '{"pid":'),
  ];
  // Of a profile that was deleted while no service ran.
  gone.push(home.write('run/agent@gone.out', ''), home.write('run/agent@gone.out.journal', ''));
  const kept = [
    home.write('.env.0a1b2c3e.tmp', 'being written'),
    home.write(`run/x.lock.${hex}`, JSON.stringify({ ...dead, ...identityOf(process.pid) })),
    old('notes.tmp'),
  ];
  const socket = join(home.run.dir, 'gone@x.sock');
  const listens = spawn(process.execPath, [
    '-e',
    `require('node:net').createServer().listen(${JSON.stringify(socket)}, () => console.log('up'))`,
  ]);
  await once(listens.stdout, 'data');
  listens.kill('SIGKILL');
  await once(listens, 'exit');
  const alive = join(home.run.dir, 'alive@x.sock');
  const server = createServer().listen(alive);
  t.teardown(() => server.close());
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')]);
  await service.ready('a');
  await until('they are gone', () => ![...gone, socket].some(existsSync));
  for (const path of [...kept, alive]) t.ok(existsSync(path), path);
});
