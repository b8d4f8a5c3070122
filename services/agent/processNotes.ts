/**
 * Word of background commands that ended by themselves. On record from their start, so that the end of the worker
 * is told too; said at once to whoever follows the session, and put below the transcript, between two turns, for
 * the model to read with the next prompt. One that was stopped, or whose end the model has seen, needs no word.
 */
import type { BackgroundRow, BackgroundWatch } from '../../agent/tools/background.ts';
import { limits } from '../../base/limits.ts';
import { errorFields, type Logger } from '../../base/log.ts';
import { formatDuration } from '../../base/time.ts';
import type { EventLog } from './events.ts';
import type { Store } from './store.ts';
import type { Transcripts } from './transcripts.ts';

interface Parts {
  store: Store;
  transcripts: Transcripts;
  events: EventLog;
  log: Logger;
  /** A turn runs there: its rows must not be parted. */
  busy(sessionId: string): boolean;
}

interface Row {
  process_id: string;
  session_id: string;
  command: string;
  /** Null while it runs. */
  note: string | null;
}

export class ProcessNotes implements BackgroundWatch {
  #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  started({ process_id, session_id, command }: Pick<BackgroundRow, 'process_id' | 'session_id' | 'command'>): void {
    const { store } = this.#parts;
    store.run('INSERT INTO background_commands (process_id, session_id, command) VALUES (?, ?, ?)', process_id, session_id, command);
  }

  ended(row: BackgroundRow): void {
    const how = row.signal ? `was ended by ${row.signal}` : `ended with exit code ${row.exit_code}`;
    const said = `${nameOf(row)} ${how} after ${formatDuration(Date.now() - Date.parse(row.started_at))}.`;
    const output = row.output_tail.trim();
    this.#tell(row, said, output && `\nLast output:\n${output}`, row.exit_code === 0 ? 'info' : 'warn');
  }

  settled(processId: string): void {
    this.#quietly(() => this.#parts.store.run('DELETE FROM background_commands WHERE process_id = ?', processId));
  }

  /** What waits takes its place at the end of the transcript. To be called between two turns, in their transaction. */
  place(sessionId: string): void {
    const { store, transcripts } = this.#parts;
    const rows = store.all<Row>('SELECT * FROM background_commands WHERE session_id = ? AND note IS NOT NULL ORDER BY rowid', sessionId);
    if (rows.length === 0) return;
    const left = rows.length - limits.tools.backgroundKeepMax;
    const shown = rows.slice(-limits.tools.backgroundKeepMax).map(({ note }) => note!);
    transcripts.addNote(sessionId, (left > 0 ? [`${left} more background commands ended.`, ...shown] : shown).join('\n'));
    store.run('DELETE FROM background_commands WHERE session_id = ? AND note IS NOT NULL', sessionId);
  }

  /** At start: commands that ended with the last worker, and words that it could not place. */
  settleCut(): void {
    const { store, events } = this.#parts;
    const cut = store.all<Row>('SELECT * FROM background_commands WHERE note IS NULL');
    for (const row of cut) this.#tell(row, `${nameOf(row)} ended with the agent worker that had started it.`, '', 'warn');
    for (const { session_id } of store.all<{ session_id: string }>('SELECT DISTINCT session_id FROM background_commands'))
      events.atomically(session_id, () => this.place(session_id));
  }

  #tell({ process_id, session_id }: Pick<Row, 'process_id' | 'session_id'>, said: string, more: string, level: 'info' | 'warn'): void {
    const { store, events, busy } = this.#parts;
    this.#quietly(() =>
      events.atomically(session_id, () => {
        const { changes } = store.run('UPDATE background_commands SET note = ? WHERE process_id = ?', said + more, process_id);
        // Its session is gone.
        if (changes === 0) return;
        events.emit(session_id, null, 'notice', { text: said, level });
        if (!busy(session_id)) this.place(session_id);
      }),
    );
  }

  /** A store in trouble says so elsewhere; the next start tells what could not be told now. */
  #quietly(work: () => void): void {
    try {
      work();
    } catch (thrown) {
      this.#parts.log.warn('the end of a background command could not be put on record', errorFields(thrown));
    }
  }
}

const COMMAND_CHARS = 100;

function nameOf({ process_id, command }: Pick<Row, 'process_id' | 'command'>): string {
  const line = command.replaceAll(/\s+/g, ' ').trim();
  return `The background command ${process_id} (${line.length > COMMAND_CHARS ? `${line.slice(0, COMMAND_CHARS - 1)}…` : line})`;
}
