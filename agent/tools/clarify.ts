/** `clarify`: one to five questions to the user, with choices where they help. Where nobody can answer, the model decides. */
import { z } from 'zod';
import type { Owner, ToolResult } from '../ports.ts';
import { defineTool, type Tool } from './registry.ts';

const Args = z.object({
  questions: z
    .array(
      z.object({
        question: z.string().trim().min(1).max(1_000),
        choices: z
          .array(z.string().trim().min(1).max(200))
          .min(2)
          .max(9)
          .optional()
          .describe('Answers to choose from; the user may write another.'),
        multi_select: z.boolean().optional().describe('Several choices may be taken.'),
      }),
    )
    .min(1)
    .max(5),
});

export function clarifyTool(owner: Owner): Tool {
  return defineTool({
    name: 'clarify',
    toolset: 'clarify',
    description:
      'Asks the user one to five short questions and waits for the answers. Use it only when you cannot go on well without them and the answer is not in the conversation.',
    args: Args,
    async run({ questions }, run) {
      const asked = questions.map(({ question, choices, multi_select }, index) => ({
        qid: `q${index + 1}`,
        question,
        ...(choices ? { choices } : {}),
        ...(multi_select ? { multiSelect: true } : {}),
      }));
      const answers = await owner.clarify(asked, run);
      if (!answers) return unanswered;
      const lines = asked.map(({ qid, question }) => `${question}\n→ ${answers[qid] ?? '(not answered: decide yourself)'}`);
      return { text: lines.join('\n\n'), data: { answers }, isError: false };
    },
  });
}

const unanswered: ToolResult = {
  text: 'No answer: the user declined, did not answer in time, or nobody can be asked here. Do not ask again; decide yourself and say what you assumed.',
  data: { answers: null },
  isError: false,
};
