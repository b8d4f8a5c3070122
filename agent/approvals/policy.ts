/**
 * Who decides on a dangerous call, as one pure function: the blocklist first, then the mode, then rules that
 * the owner gave, then whether anybody can be asked. And what the model reads when the answer is no.
 */
import type { Danger, ToolResult } from '../ports.ts';

export type ApprovalMode = 'manual' | 'smart' | 'off';

export interface ApprovalPolicy {
  mode: ApprovalMode;
  /** Set when nobody can be asked: what the settings say then, and under which key. */
  unattended?: { decision: 'deny' | 'approve'; setting: string; why: string } | undefined;
}

export type Decision =
  | { kind: 'allow' }
  | { kind: 'refuse'; result: ToolResult }
  /** `smart`: a model may let it pass before the owner is asked. */
  | { kind: 'ask'; smart: boolean };

/** `isAllowed`: exactly this was allowed before, for the session or for good. */
export function decide(danger: Danger, { mode, unattended }: ApprovalPolicy, isAllowed: (rule: string) => boolean): Decision {
  if (danger.blocked) return { kind: 'refuse', result: blockedResult(danger) };
  if (mode === 'off' && !danger.unconfined) return { kind: 'allow' };
  if (danger.rule !== undefined && isAllowed(danger.rule)) return { kind: 'allow' };
  if (!unattended) return { kind: 'ask', smart: mode === 'smart' && !danger.unconfined };
  return unattended.decision === 'approve' && !danger.unconfined
    ? { kind: 'allow' }
    : { kind: 'refuse', result: unattendedResult(danger, unattended) };
}

const refusal = (text: string): ToolResult => ({ text, data: { denied: true }, isError: true });
const because = ({ reasons }: Danger): string => reasons.join('; ');

function blockedResult(danger: Danger): ToolResult {
  return refusal(
    `BLOCKED: this is never run here, whatever the settings: ${because(danger)}. Do not try it another way; tell the user what you wanted to achieve.`,
  );
}

function unattendedResult(danger: Danger, { setting, why }: { setting: string; why: string }): ToolResult {
  return refusal(
    `NOT RUN: it needs the owner's approval (${because(danger)}), and ${why}; ${setting} is deny. Do not try it another way: go on without it, and say in your answer what was left undone and why.`,
  );
}

export function deniedResult(danger: Danger): ToolResult {
  return refusal(
    `DENIED: the user denied this (${because(danger)}). Do not run it and do not try to reach the same effect another way; go on without it, or ask what they want instead.`,
  );
}

export type Unanswered = 'timeout' | 'interrupted' | 'shutdown' | 'session_closed' | 'unreachable';

const unansweredWords: Readonly<Record<Unanswered, string>> = {
  timeout: 'nobody answered in time',
  interrupted: 'the turn was interrupted',
  shutdown: 'the service was restarted',
  session_closed: 'the session was closed',
  unreachable: 'nobody can be asked here',
};

export function unansweredResult(danger: Danger, why: Unanswered): ToolResult {
  return refusal(
    `NOT RUN: it needs the owner's approval (${because(danger)}), and ${unansweredWords[why]}. Do not try it another way; go on without it and say what was left undone.`,
  );
}
