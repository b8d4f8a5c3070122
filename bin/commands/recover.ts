/** `agent recover <store>`: puts a recovered store in the place of a damaged one. */
import { storeNames, type StoreName } from '../../state/db/stores.ts';
import { jsonOption, type Command } from '../command.ts';
import { recoverStore } from '../recoverStore.ts';
import { unknownName } from '../suggest.ts';

export const command: Command = {
  name: 'recover',
  summary: 'Recover a damaged store: every row that can be read',
  details:
    'Stops the worker that writes the store, copies every readable row into a new file, checks and counts it, puts it in place, and starts the worker again. The damaged file is kept beside it. A store that is not damaged is left as it is.',
  arguments: [{ name: 'store', summary: storeNames.join(', ') }],
  options: [
    { flags: '--force', summary: 'also when nothing is damaged' },
    { flags: '--dry-run', summary: 'only count what can be recovered' },
    { flags: '--from <file>', summary: 'another file to read: a damaged one that was kept, or a daily copy', complete: 'file' },
    jsonOption,
  ],
  examples: [
    { line: 'agent recover gateway', does: 'recover gateway.db and start the gateway again' },
    { line: 'agent recover state --dry-run', does: 'rows of each table, before and after' },
    { line: 'agent recover cron --profile work', does: 'the jobs of a profile' },
    { line: 'agent recover cron --from ~/.agent/backups/stores/cron-2026-11-21.db', does: 'go back to a daily copy' },
  ],
  run: (input) => recoverStore(storeOf(input.args[0]!), input),
};

function storeOf(given: string): StoreName {
  const name = storeNames.find((store) => given === store || given === `${store}.db`);
  if (!name) throw unknownName('store', given, storeNames, 'INVALID_PARAMS');
  return name;
}
