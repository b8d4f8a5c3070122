/** `agent gateway undelivered`: messages that failed permanently; listed without the gateway, retried and discarded by it. */
import { stripVTControlCharacters } from 'node:util';
import { AgentError } from '../../base/errors.ts';
import { exitCodes } from '../../base/exitCodes.ts';
import { limits } from '../../base/limits.ts';
import { UndeliveredId, type retryDeliveries } from '../../ipc/contracts/gateway.ts';
import { openHome } from '../../state/home.ts';
import { readUndelivered } from '../../state/undelivered.ts';
import { hasFlag, type Input } from '../command.ts';
import { withWorker } from '../connect.ts';
import { slotOf } from '../slots.ts';
import { note, print, printJson, table } from '../terminal.ts';

const TEXT_MAX_CHARS = 60;

export async function undelivered(input: Input): Promise<number> {
  const rows = readUndelivered(openHome().profile(input.profile));
  if (input.json) printJson({ undelivered: rows });
  else if (rows.length === 0) note('agent: no message failed permanently in the last week');
  else
    print(
      table([
        ['ID', 'CLOSED', 'TO OR FROM', 'STATE', 'WHY', 'TEXT'],
        ...rows.map(({ id, direction, closed_at, target, state, error, text }) => [
          String(id),
          closed_at,
          `${direction === 'in' ? 'from' : 'to'} ${target}`,
          state,
          line(error ?? ''),
          line(text),
        ]),
      ]),
    );
  return exitCodes.ok;
}

/** `agent gateway retry|discard <id…>` or `--all`. Exit code 1 when any of them could not be done. */
export async function settle(input: Input, method: typeof retryDeliveries, done: string): Promise<number> {
  const home = openHome();
  const ids = hasFlag(input, 'all') ? readUndelivered(home.profile(input.profile)).map(({ id }) => id) : input.args.map(idOf);
  if (ids.length === 0 && !hasFlag(input, 'all'))
    throw new AgentError('USAGE', 'name the messages by their ids, or --all', { fix: '`agent gateway undelivered` lists them' });
  const settled =
    ids.length === 0
      ? { done: [], failed: [] }
      : await withWorker(home, slotOf('gateway', input.profile), (link) =>
          link.call(method, { ids: ids.slice(0, limits.gateway.undeliveredMax) }),
        );
  if (input.json) printJson(settled);
  else {
    print(`${done}: ${settled.done.length}`);
    for (const { id, message } of settled.failed) note(`agent: ${id}: ${message}`);
  }
  return settled.failed.length > 0 ? exitCodes.failed : exitCodes.ok;
}

function idOf(text: string): UndeliveredId {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (UndeliveredId.safeParse(text).success) return text;
  throw new AgentError('USAGE', `"${text}" is not an id of a message`, { fix: '`agent gateway undelivered` lists them' });
}

/** What others wrote must not steer the terminal. */
function line(text: string): string {
  const plain = stripVTControlCharacters(text).replace(/\p{Cc}+/gu, ' ');
  return plain.length > TEXT_MAX_CHARS ? `${plain.slice(0, TEXT_MAX_CHARS - 1)}…` : plain;
}
