/** What is kept of a hung worker before it is killed: where its loop stands, what it holds, who is with it. */
import type { Evidence } from '../ipc/contracts/blackBox.ts';
import type { Verdict } from './liveness.ts';
import { askMainStack, type MainStack } from './mainStack.ts';
import { processFacts } from './procFacts.ts';

export interface Suspect {
  pid: number;
  verdict: Verdict;
  /** The last raw lines that it printed. */
  lines: () => string[];
  redact: (text: string) => string;
}

/** Takes at most `limits.supervisor.evidenceMs`; never throws. */
export async function collectEvidence({ pid, verdict, lines, redact }: Suspect): Promise<Evidence> {
  const facts = processFacts(pid);
  // A stopped process answers nobody until it goes on.
  const main: MainStack =
    verdict.word === 'stopped' ? { stack: [], note: 'a stopped process cannot be asked', resources: null } : await askMainStack(pid, lines);
  return {
    at: new Date().toISOString(),
    word: verdict.word,
    why: verdict.why,
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
