/** How high a row will be before it was ever drawn, from its text alone: near enough that the scrollbar does not jump. */
import type { Row } from './messageRows.ts';
import type { AgentItem, Item } from './transcript.ts';

/** Pixels of the column's text: a line, and the letters that fit into one. */
const LINE_PX = 26;
const LINE_CHARS = 82;
const BUBBLE_CHARS = 68;
const CODE_LINE_PX = 21;
/** Head and padding of a code block; head of a tool card with a few lines of output. */
const CODE_PX = 82;
const TOOL_PX = 140;
/** Below an answer: copy, branch, times. */
const FOOTER_PX = 36;

export function estimatedHeight(row: Row): number {
  if (row.kind === 'beginning') return 20;
  if (row.kind === 'work') return 32;
  if (row.kind !== 'item') return 120;
  const known = heights.get(row.item);
  if (known !== undefined) return known;
  const height = itemHeight(row.item);
  heights.set(row.item, height);
  return height;
}

/** Asked for every row whenever one comes: read once for each state of an item. */
const heights = new WeakMap<Item, number>();

function itemHeight(item: Item): number {
  switch (item.kind) {
    case 'user':
      return 20 + LINE_PX * linesOf(item.text, BUBBLE_CHARS) + filesHeight(item.attachments);
    case 'agent':
      return answerHeight(item);
    case 'notice':
      return 24;
    case 'summary':
      return 46;
    case 'aside':
      return item.running ? 46 : 64 + LINE_PX * linesOf(item.text, LINE_CHARS);
  }
}

/** Pictures stand side by side in frames of 128 px, other files as lines. */
function filesHeight(files: Extract<Item, { kind: 'user' }>['attachments']): number {
  const pictures = files.filter(({ kind }) => kind === 'image').length;
  return 136 * Math.ceil(pictures / PICTURES_BESIDE) + 48 * Math.ceil((files.length - pictures) / FILES_BESIDE);
}

const PICTURES_BESIDE = 4;
const FILES_BESIDE = 2;

function answerHeight({ text, reasoning, tools, end }: AgentItem): number {
  const said = text === '' ? 0 : markdownHeight(text) + (end ? FOOTER_PX : 12);
  return said + (reasoning ? 52 : 0) + tools.length * TOOL_PX + (end && end.status !== 'complete' ? 60 : 0);
}

/** Every second part between fences is code. */
function markdownHeight(text: string): number {
  let height = 0;
  for (const [index, part] of text.split(/^```.*$/m).entries()) {
    const body = part.trim();
    if (body === '') continue;
    if (index % 2 === 1) height += CODE_PX + CODE_LINE_PX * body.split('\n').length;
    else for (const block of body.split(/\n{2,}/)) height += 14 + LINE_PX * linesOf(block, LINE_CHARS);
  }
  return height;
}

const linesOf = (text: string, width: number): number =>
  text.split('\n').reduce((lines, line) => lines + Math.max(1, Math.ceil(line.length / width)), 0);
