/**
 * What MCP servers said about their tools when a session saw them first. A server that changes the description of a
 * tool afterwards changes the prompt of a running conversation: the user is informed of that.
 */
import { definitionOf } from '../../agent/tools/foreign.ts';
import type { ForeignToolSpec } from '../../agent/ports.ts';

/** Sessions that are remembered; of an older one the next turn counts as the first. */
const SESSIONS_MAX = 500;

export class ForeignDefinitions {
  #bySession = new Map<string, Map<string, string>>();

  /** Names of the tools that are not what this session saw last. */
  changed(sessionId: string, specs: readonly ForeignToolSpec[]): string[] {
    const known = this.#bySession.get(sessionId) ?? new Map<string, string>();
    this.#bySession.delete(sessionId);
    this.#bySession.set(sessionId, known);
    if (this.#bySession.size > SESSIONS_MAX) this.#bySession.delete(this.#bySession.keys().next().value!);
    return specs.flatMap((spec) => {
      const before = known.get(spec.name);
      const definition = definitionOf(spec);
      known.set(spec.name, definition);
      return before === undefined || before === definition ? [] : [spec.name];
    });
  }
}
