/** The prompt behind `/plan`: a plan as a file, and nothing carried out. */

export function planPrompt(task: string): string {
  const about =
    task.trim() || 'what we have been talking about (infer the task from this conversation; ask one question if it is not clear)';
  return `Make a plan, do not carry it out.

Task: ${about}

Rules:
- Look first: you may read files and search. Do not change, create or delete anything but the plan itself, and run nothing that has effects.
- Write the plan as Markdown to .agent/plans/<date>-<short-name>.md below the working directory; make the folder if it is missing.
- The plan has: Goal, What is there now (with file names), Steps in order (each small enough to check), How to check the result, Risks and open questions.
- Then answer with the path of the plan and its steps in a few lines, and stop.`;
}
