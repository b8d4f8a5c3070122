/** Where side questions and background work stand among the messages of a conversation. */
import type { Aside, Message } from '../ipc/contracts/rpcRecords.ts';

export type Said = { message: Message } | { aside: Aside };

/** Each below its message; where that one is not among them, below the last that came before it. What stands above the first is left out unless it is `whole`. */
export function withAsides(messages: readonly Message[], asides: readonly Aside[], whole = false): Said[] {
  const above = messages[0]?.id ?? (whole ? Infinity : 0);
  const first = whole ? asides.filter(({ after_id }) => (after_id ?? 0) < above).map((aside) => ({ aside })) : [];
  const rest = messages.flatMap((message, index): Said[] => {
    const next = messages[index + 1]?.id ?? Infinity;
    const below = asides.filter(({ after_id }) => (after_id ?? 0) >= message.id && (after_id ?? 0) < next);
    return [{ message }, ...below.map((aside) => ({ aside }))];
  });
  return [...first, ...rest];
}
