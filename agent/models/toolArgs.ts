/**
 * Arguments of a tool call as the model wrote them: an object, or the raw text when it is not JSON. Mends nothing:
 * whether a slip of syntax may be mended depends on the tool, which its registry knows.
 */
import type { ToolCall } from '../ports.ts';

export interface WrittenCall {
  id: string;
  name: string;
  input: string;
}

/**
 * `end`: the provider's reason. Unless it is a regular one, a call whose arguments are not whole JSON was cut off; a last
 * call without arguments only when a limit or a filter ended the answer.
 */
export function readCalls(written: readonly WrittenCall[], end: string): ToolCall[] {
  const isRegular = end === 'stop' || end === 'tool-calls';
  const isStopped = end === 'length' || end === 'content-filter';
  return written.map(({ id, name, input }, index) => {
    const value = input.trim() === '' ? {} : parsed(input);
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    const isCut = (value === undefined && !isRegular) || (isStopped && isEmpty && index === written.length - 1);
    return { id, name, args: value ?? input, ...(isCut ? { cut: true } : {}) };
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
