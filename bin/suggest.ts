/** Usage errors that suggest the nearest name and list the valid set. */
import { AgentError, type ErrorCode } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';

/** `unknown slot "gatway" — did you mean gateway? known: agent, gateway, …` */
export function unknownName(what: string, word: string, names: readonly string[], code: ErrorCode = 'USAGE'): AgentError {
  const near = nearest(word, names);
  const known = names.length ? `known: ${names.join(', ')}` : `there is no ${what} yet`;
  return new AgentError(code, `unknown ${what} "${word}"`, {
    fix: near ? `did you mean ${near}? ${known}` : known,
    facts: { ...(near ? { nearest: near } : {}), valid: [...names] },
  });
}
