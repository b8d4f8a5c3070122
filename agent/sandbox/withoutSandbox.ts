/** Where the settings demand a sandbox that the machine does not have, everything that could change or send something is asked about. */
import type { Danger } from '../ports.ts';
import type { Tool } from '../tools/registry.ts';

/** Programs without an option that writes or starts something, in a line without any syntax of the shell. */
const READS_ONLY = /^ *(?:ls|pwd|whoami|id|uname|df|du|wc|stat|which)(?: +[\w./=+-]+)* *$/;

interface Missing {
  problem: string;
  fix: string;
}

/** The text that a call would run; undefined = it runs nothing. */
const texts: Readonly<Record<string, (args: Record<string, unknown>) => unknown>> = {
  terminal: ({ command }) => (READS_ONLY.test(String(command)) ? undefined : command),
  execute_code: ({ code }) => code,
  process: ({ action, text }) => (action === 'write' ? text : undefined),
};

export function askedWithoutSandbox(tool: Tool, { problem, fix }: Missing): Tool {
  const textOf = texts[tool.name];
  if (!textOf) return tool;
  return {
    ...tool,
    danger(args): Danger | undefined {
      const found = tool.danger?.(args);
      const text = textOf(args);
      if (found?.blocked || text === undefined) return found;
      return {
        ...found,
        command: found?.command ?? String(text),
        reasons: [...(found?.reasons ?? []), `it would run without a sandbox: ${problem} (${fix})`],
        unconfined: true,
      };
    },
  };
}
