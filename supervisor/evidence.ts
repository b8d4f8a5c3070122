/** What is kept of a hung worker before it is killed: where its loop stands, what it holds, who is with it. */
import type { Evidence } from '../ipc/contracts/blackBox.ts';
import type { Verdict } from './liveness.ts';
import { askMainStack, noStack } from './mainStack.ts';
import { processFacts } from './procFacts.ts';

export interface Suspect {
  pid: number;
  /** It was started so that its main thread can be asked where it stands. */
  answers: boolean;
  verdict: Verdict;
  /** The last raw lines that it printed. */
  lines: () => string[];
  redact: (text: string) => string;
}

/** Takes at most `limits.supervisor.evidenceMs`; never throws. */
export async function collectEvidence({ pid, answers, verdict, lines, redact }: Suspect): Promise<Evidence> {
  const facts = processFacts(pid);
  const mute =
    verdict.word === 'stopped' ? 'a stopped process cannot be asked' : answers ? undefined : 'this process cannot be asked for its stack';
  const main = mute ? noStack(mute) : await askMainStack(pid, lines);
  return {
    at: new Date().toISOString(),
    ...sharper(verdict, main.isInNativeCode, facts?.group[0]?.command),
    stack: main.stack,
    stack_note: main.note,
    resources: main.resources,
    process: facts && {
      ...facts,
      files: { ...facts.files, first: facts.files.first.map(redact) },
      group: facts.group.map((member) => ({ ...member, command: redact(member.command) })),
    },
  };
}

/** From outside a synchronous wait for a child looks like rest: who could answer and who could not tells them apart. */
function sharper({ word, why }: Verdict, isInNativeCode: boolean, child: string | undefined): Pick<Evidence, 'word' | 'why'> {
  if (word !== 'silent' || !isInNativeCode) return { word, why };
  const whom = child ? `, perhaps for ${child.slice(0, 80)}` : '';
  return { word: 'blocked', why: `blocked its main loop: it stood in native code${whom}, and ${why}` };
}
