/** The agent's questions as cards: approvals and clarifications. */
import { ApprovalParams, ClarifyParams, type ApprovalChoice, type RequestKind } from '../../ipc/contracts/rpcRequests.ts';
import { Card } from './card.ts';

export interface AskedRequest {
  id: string;
  method: RequestKind;
  params: Record<string, unknown>;
}

/** `answer` is called once with the result of the request; `redraw` when the card shows its next question. */
export function requestCard(
  { method, params }: AskedRequest,
  answer: (result: Record<string, unknown>, said: string) => void,
  show: (card: Card) => void,
): void {
  switch (method) {
    case 'approval':
      return show(approvalCard(ApprovalParams.parse(params), answer));
    case 'clarify':
      return clarify(ClarifyParams.parse(params), answer, show);
  }
}

const choiceWords: Record<ApprovalChoice, { label: string; letter: string }> = {
  once: { label: 'Allow once', letter: 'o' },
  session: { label: 'Allow in this conversation', letter: 's' },
  always: { label: 'Always allow', letter: 'a' },
  deny: { label: 'Deny', letter: 'd' },
};

function approvalCard(
  { tool_name, command, reasons, description, choices, rule }: ApprovalParams,
  answer: (result: Record<string, unknown>, said: string) => void,
): Card {
  const pick = (choice: ApprovalChoice) =>
    answer({ choice }, `${choice === 'deny' ? 'Denied' : `Allowed (${choice})`}: ${command.split('\n')[0]}`);
  return new Card({
    title: [
      `May ${tool_name} do this?`,
      ...command.split('\n').map((line) => `  ${line}`),
      // Most descriptions only repeat the reasons; those of children name their task.
      ...(description && description !== `${tool_name}: ${reasons.join('; ')}` ? [description] : []),
      ...reasons.map((reason) => `! ${reason}`),
    ],
    options: choices.map((choice) => {
      const { label, letter } = choiceWords[choice];
      return { label: rule !== undefined && (choice === 'session' || choice === 'always') ? `${label}: ${rule}` : label, letter };
    }),
    guarded: true,
    tone: 'yellow',
    onPick: ([index]) => pick(choices[index!]!),
    onText() {},
    onCancel: () => pick('deny'),
  });
}

function clarify(
  { questions }: ClarifyParams,
  answer: (result: Record<string, unknown>, said: string) => void,
  show: (card: Card) => void,
): void {
  const answers: Record<string, string | null> = {};
  const ask = (at: number): void => {
    const asked = questions[at];
    if (!asked)
      return answer(
        { answers },
        Object.values(answers)
          .map((said) => said ?? '(no answer)')
          .join(' · '),
      );
    const { qid, question, choices = [], multi_select } = asked;
    const next = (said: string | null) => {
      answers[qid] = said;
      ask(at + 1);
    };
    const count = questions.length > 1 ? `(${at + 1} of ${questions.length}) ` : '';
    show(
      new Card({
        title: [`${count}${question}`],
        options: choices.map((label) => ({ label })),
        free: choices.length ? 'or write an answer' : 'write an answer',
        multi: multi_select,
        guarded: true,
        tone: 'cyan',
        onPick: (indices) => next(indices.map((index) => choices[index]!).join(', ')),
        onText: (text) => next(text === '' ? null : text),
        // Escape declines all of it.
        onCancel: () => answer({}, 'Declined.'),
      }),
    );
  };
  ask(0);
}
