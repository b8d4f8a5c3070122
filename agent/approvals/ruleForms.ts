/** Forms that many rules share: a finding, a careful finding, and what a command does to whole trees and to files. */
import type { Call, Finding, Perhaps } from './call.ts';
import { precious, writeConcern } from './places.ts';
import { UNKNOWN, type Field } from './shellFields.ts';

export type Rule = (call: Call) => readonly (Finding | undefined)[];

export const ask = (reason: string, rule?: string): Finding => ({ reason, rule });
export const never = (reason: string): Finding => ({ reason, blocked: true });

/** A finding for a flag that is there, a careful one for a flag that may be. */
export function when(is: Perhaps, reason: string, rule: string): Finding | undefined {
  if (is === false) return undefined;
  return is === true ? ask(reason, rule) : ask(`an argument that is known only when it runs may mean that ${reason}`);
}

/** Always asked about. */
export const always =
  (reason: string): Rule =>
  ({ name }) => [ask(reason, name)];

/** Asked about unless the first operand (or an option) is one that only looks. */
export const unlessLooking =
  (reason: string, looking: readonly string[]): Rule =>
  ({ name, args, sub }) => {
    const first = args[0]?.text;
    if (first !== undefined && looking.includes(first)) return [];
    if (sub !== undefined && looking.includes(sub)) return [];
    return [ask(reason, sub ? `${name} ${sub}` : name)];
  };

export const sub =
  (reason: string, subs: readonly string[]): Rule =>
  (call) => {
    const found = call.operands.find(({ text }) => subs.includes(text) || text.startsWith(UNKNOWN));
    if (!found) return [];
    if (found.text.startsWith(UNKNOWN)) return [ask(`an argument that is known only when it runs may mean that ${reason}`)];
    return [ask(reason, `${call.name} ${found.text}`)];
  };

/** Whole trees that a recursive command names. */
export function trees(call: Call, operands: readonly Field[], does: string): (Finding | undefined)[] {
  return operands.map((field) => {
    const path = call.path(field);
    const what = path === undefined ? undefined : precious(path, call.places);
    return what === undefined ? undefined : never(`${does} ${what}`);
  });
}

export const writes = (call: Call, fields: readonly Field[]): (Finding | undefined)[] =>
  fields.map((field) => writeConcern(call.path(field), call.places));
