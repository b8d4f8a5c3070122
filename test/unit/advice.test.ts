/** No advice names a command that does not exist: every `agent …` in the fixes of the sources is in the command table. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { commandTable } from '../../bin/commandTable.ts';

const root = join(import.meta.dirname, '..', '..');
const folders = ['agent', 'base', 'bin', 'chat', 'ipc', 'launchd', 'services', 'state', 'supervisor', 'systemd', 'web'];

t.test('every command that a text in backquotes advises is in the command table', async (t) => {
  const known = new Set(commandTable.map(({ name }) => name));
  const advised = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && !file.includes('node_modules'))
      .flatMap((file) =>
        [...readFileSync(join(root, folder, file), 'utf8').matchAll(/\\?`agent(?: -p \S+)? ([a-z][a-z-]*)[ `\\]/g)].map(([, command]) => ({
          file: join(folder, file),
          command: command!,
        })),
      ),
  );
  t.ok(advised.length > 100, `${advised.length} places were read`);
  t.same(
    advised.filter(({ command }) => !known.has(command)),
    [],
  );
});
