/**
 * Slash commands of chats by the key of their message: one that is sent again, because its answer was lost or could not be
 * stored, gets that answer and does not run again.
 */
import { limits } from '../../base/limits.ts';
import { errorFields, type Logger } from '../../base/log.ts';
import type { conversationCommand } from '../../ipc/contracts/agent.ts';
import type { ParamsOf, ResultOf } from '../../ipc/method.ts';
import type { Store } from './store.ts';

type Command = ParamsOf<typeof conversationCommand>;
type Answer = ResultOf<typeof conversationCommand>;

export class AnsweredCommands {
  #store: Store;
  #log: Logger;
  #running = new Map<string, Promise<Answer>>();

  constructor(store: Store, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** Errors: those of `run`, which is run again under the same key then. */
  async once(command: Command, run: () => Promise<Answer>): Promise<Answer> {
    const { idempotency_key: key } = command;
    if (key === undefined) return run();
    const running = this.#running.get(key);
    if (running) return running;
    const known = this.#find(key, command);
    if (known) return known;
    const done = run().then((answer) => this.#keep(key, command, answer));
    this.#running.set(key, done);
    try {
      return await done;
    } finally {
      this.#running.delete(key);
    }
  }

  /** A store of messages that was made anew counts from 1 again: a key with another line is another command. */
  #find(key: string, { session_key, line }: Command): Answer | undefined {
    const sql = 'SELECT answer FROM command_answers WHERE idempotency_key = ? AND session_key = ? AND line = ?';
    const row = this.#store.one<{ answer: string }>(sql, key, session_key, line);
    return row && (JSON.parse(row.answer) as Answer);
  }

  #keep(key: string, { session_key, line }: Command, answer: Answer): Answer {
    try {
      this.#store.transaction(() => {
        const { id } = this.#store.run(
          'INSERT OR REPLACE INTO command_answers (idempotency_key, session_key, line, answer) VALUES (?, ?, ?, ?)',
          key,
          session_key,
          line,
          JSON.stringify(answer),
        );
        this.#store.run('DELETE FROM command_answers WHERE rowid <= ?', id - limits.sessions.commandAnswersMax);
      });
    } catch (thrown) {
      this.#log.warn('the answer to a slash command could not be kept: the command runs again if it is sent again', errorFields(thrown));
    }
    return answer;
  }
}
