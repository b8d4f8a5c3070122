/** Which files of the service its own file tools keep away from. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { ownStores } from '../../services/agent/toolbox.ts';
import { secretFiles } from '../../state/secretFiles.ts';
import { openHome } from '../../state/home.ts';

t.test('secrets and stores of a home that is reached through a link are known by their real place', async (t) => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'agent-test-')));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const real = join(dir, 'real');
  mkdirSync(join(real, 'run'), { recursive: true });
  symlinkSync(real, join(dir, 'home'));
  const home = openHome(join(dir, 'home'));
  for (const name of [
    '.env',
    'profiles/work/.env',
    'auth.json',
    'run/token',
    'run/dashboard-token',
    'run/dashboard-signin.json',
    'backups/x',
    // Copies that editors and people leave beside them.
    '.env~',
    '.env.bak',
    'profiles/work/.env.swp',
    '..env.un~',
    '#.env#',
    'auth.json.orig',
  ]) {
    mkdirSync(join(real, name, '..'), { recursive: true });
    writeFileSync(join(real, name), '');
    t.ok(secretFiles(home)(join(real, name)), `${name} by its real place`);
    t.ok(secretFiles(home)(join(home.root, name)), `${name} by its name`);
  }
  for (const name of ['state.db', 'run/agent.sock', 'logs/agent.log', 'ESTOP']) t.ok(ownStores(home)(join(real, name)), name);
  for (const name of ['config.yaml', 'skills/x/SKILL.md', 'skills/x/.env.example', 'skills/x/.envrc'])
    t.notOk(secretFiles(home)(join(real, name)) || ownStores(home)(join(real, name)), name);
});
