/**
 * The instructions a session starts with, as a list of typed parts in one order. The text that is sent
 * and the breakdown that is shown are both made from the same parts. Nothing ephemeral enters it: what
 * changes from turn to turn travels with the messages, so that providers can cache this beginning.
 */
import { textTokens } from './estimate.ts';
import { guidanceFor, IDENTITY, platformHint } from './guidance.ts';
import type { ContextFile } from './contextFile.ts';

/** In the order of the prompt. */
export const partIds = ['identity', 'guidance', 'instructions', 'memory', 'user', 'skills', 'context_files', 'date', 'platform'] as const;
export type PartId = (typeof partIds)[number];

export interface PromptPart {
  id: PartId;
  label: string;
  text: string;
  /** Path or configuration key it comes from; null = built in. */
  source: string | null;
}

export interface PromptInput {
  soul: ContextFile | undefined;
  toolNames: readonly string[];
  /** What MCP servers say about the use of their tools, by name of the server. */
  servers?: ReadonlyMap<string, string> | undefined;
  /** `agent.system_prompt`, and the personality in force. */
  extra?: string | undefined;
  personality?: { name: string; text: string } | undefined;
  memory: ContextFile | undefined;
  user: ContextFile | undefined;
  /** Made by agent/skills/skillIndex.ts; empty = none. */
  skills: string;
  project: readonly ContextFile[];
  surface: string;
  platform?: string | undefined;
  cwd: string;
  now: Date;
  /** IANA name; undefined = that of this machine. */
  timezone?: string | undefined;
}

const SEPARATOR = '\n\n';

export function promptParts(input: PromptInput): PromptPart[] {
  const { soul, toolNames, memory, user, skills, project } = input;
  const files = project.filter(({ text }) => text !== '');
  const parts: PromptPart[] = [
    identity(soul),
    {
      id: 'guidance',
      label: 'Guidance for tools',
      text: [guidanceFor(toolNames), ...serverNotes(input)].filter(Boolean).join(SEPARATOR),
      source: null,
    },
    instructions(input),
    snapshot('memory', 'Memory', memory, 'Your notes from earlier conversations, as they were when this one began:'),
    snapshot('user', 'User profile', user, 'What you know about the user, as it was when this conversation began:'),
    { id: 'skills', label: 'Skills index', text: skills, source: 'skills' },
    {
      id: 'context_files',
      label: 'Context files',
      text: files.length === 0 ? '' : ['How to work in this project, from its files:', ...files.map(section)].join(SEPARATOR),
      source: files.map(({ path }) => path).join(', '),
    },
    { id: 'date', label: 'Date', text: `Today is ${dayOf(input.now, input.timezone)}.`, source: null },
    { id: 'platform', label: 'Platform', text: platformHint(input), source: null },
  ];
  return parts.filter(({ text }) => text !== '');
}

export const promptText = (parts: readonly PromptPart[]): string => parts.map(({ text }) => text).join(SEPARATOR);

/** In the words of the servers, and marked as such: they are no instructions of the user. */
const serverNotes = ({ servers = new Map() }: PromptInput): string[] =>
  [...servers].map(
    ([server, text]: [string, string]) => `The MCP server ${server} says about its tools (its own words, not the user's):\n${text}`,
  );

function identity(soul: ContextFile | undefined): PromptPart {
  const label = 'Identity';
  if (!soul?.text) return { id: 'identity', label, text: IDENTITY, source: null };
  // A blocked SOUL.md must not leave an agent without any idea of what it is.
  return { id: 'identity', label, text: soul.loaded ? soul.text : `${IDENTITY}\n${soul.text}`, source: soul.path };
}

function instructions({ extra, personality }: PromptInput): PromptPart {
  const own = extra?.trim() ?? '';
  const manner = personality?.text.trim() ?? '';
  return {
    id: 'instructions',
    label: 'Instructions',
    text: [own, manner && `Manner (${personality!.name}): ${manner}`].filter(Boolean).join(SEPARATOR),
    source: [own && 'agent.system_prompt', manner && `personalities.${personality!.name}`].filter(Boolean).join(', '),
  };
}

const snapshot = (id: 'memory' | 'user', label: string, file: ContextFile | undefined, lead: string): PromptPart => ({
  id,
  label,
  text: file?.text ? `${lead}\n${file.text}` : '',
  source: file?.path ?? null,
});

const section = ({ label, text }: ContextFile): string => `## ${label}\n${text}`;

/** The day alone: a time of day would make every prompt another one. */
function dayOf(now: Date, timeZone: string | undefined): string {
  try {
    if (timeZone) return now.toLocaleDateString('sv-SE', { timeZone });
  } catch {
    // a name that no time zone has
  }
  const two = (part: number) => String(part).padStart(2, '0');
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}

// --- the same parts of a prompt that was pinned earlier ---

/** Where the parts stand in the text, stored beside it. */
export interface PromptLayout {
  parts: { id: PartId; label: string; source: string | null; chars: number }[];
  files: { label: string; path: string; chars: number; shown_tokens: number; loaded: boolean; status: string }[];
}

export function layoutOf(parts: readonly PromptPart[], files: readonly ContextFile[]): PromptLayout {
  return {
    parts: parts.map(({ id, label, source, text }) => ({ id, label, source, chars: text.length })),
    files: files.map(({ label, path, chars, text, loaded, status }) => ({
      label,
      path,
      chars,
      shown_tokens: textTokens(text),
      loaded,
      status,
    })),
  };
}

/** The parts of a pinned text; one part when its layout is not known (a session of an older version). */
export function partsFrom(text: string, layout: PromptLayout | undefined): PromptPart[] {
  const whole: PromptPart[] = [{ id: 'identity', label: 'System prompt', text, source: null }];
  if (!layout) return whole;
  let at = 0;
  const parts = layout.parts.map(({ id, label, source, chars }) => {
    const part = { id, label, source, text: text.slice(at, at + chars) };
    at += chars + SEPARATOR.length;
    return part;
  });
  return at - SEPARATOR.length === text.length ? parts : whole;
}

// --- sizes ---

export interface Category {
  id: string;
  label: string;
  bytes: number;
  tokens: number;
}

/** Sizes of the parts; what stands between two of them counts with the second, so that the sum is that of the text. */
export function partCategories(parts: readonly PromptPart[]): Category[] {
  return parts.map(({ id, label, text }, index) => ({
    id,
    label,
    bytes: Buffer.byteLength(text) + (index > 0 ? SEPARATOR.length : 0),
    tokens: textTokens(text),
  }));
}
