/**
 * The instructions a session starts with. Built once, at the first turn, and kept for the session, so
 * that the beginning of every prompt stays the same and a provider can cache it.
 */

export interface PromptParts {
  /** SOUL.md of the profile, or empty. */
  soul: string;
  /** `agent.system_prompt`. */
  extra?: string | undefined;
  /** MEMORY.md and USER.md as they are now. */
  memory: string;
  user: string;
  surface: string;
  platform?: string | undefined;
  cwd: string;
  now: Date;
}

const IDENTITY = 'You are a helpful agent. You answer plainly, use the tools you have when they help, and say what you did.';

const surfaceHints: Record<string, string> = {
  cli: 'The user reads your answers in a terminal.',
  tui: 'The user reads your answers in a terminal.',
  desktop: 'The user reads your answers in a window that shows Markdown.',
  gateway: 'The user reads your answers in a chat: keep them short and free of tables.',
  scheduled_task: 'This is a scheduled job. Nobody reads along and nobody can answer a question: do the task and report.',
};

export function systemPrompt({ soul, extra, memory, user, surface, platform, cwd, now }: PromptParts): string {
  const sections = [
    soul.trim() || IDENTITY,
    extra?.trim(),
    memory.trim() && `What you have noted:\n${memory.trim()}`,
    user.trim() && `What you know about the user:\n${user.trim()}`,
    [
      surfaceHints[surface],
      platform && `The chat platform is ${platform}.`,
      `Working directory: ${cwd}.`,
      `Today is ${now.toISOString().slice(0, 10)}.`,
    ]
      .filter(Boolean)
      .join(' '),
  ];
  return sections.filter(Boolean).join('\n\n');
}
