/**
 * What a model writes, as a page may show it. Markup in the text is shown, never run: HTML is escaped by
 * the renderer, and what the renderer makes goes through the sanitizer. Images would tell a stranger that the
 * answer was read, so they become links. While a text grows only its last blocks are read again.
 */
import { Marked, type Token, type Tokens } from 'marked';
import { memo, useState } from 'react';
import { CodeBlock } from './codeBlock.tsx';
import { sanitizeProse } from './sanitize.ts';

const marked = new Marked({
  gfm: true,
  // A line that a model ends is a line: addresses, verses, output that nobody fenced.
  breaks: true,
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escape(text),
    image: ({ href, text }: Tokens.Image) => `<a href="${escape(href)}">${escape(text || href)}</a>`,
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? '☑ ' : '☐ '),
  },
});

const escape = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

export const Markdown = memo(function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const [read] = useState(blockReader);
  const blocks = read(text, growing).filter(({ type }) => type !== 'space');
  return (
    <div className="prose">
      {blocks.map((block, index) =>
        block.type === 'code' ? (
          <CodeBlock key={index} text={(block as Tokens.Code).text} language={(block as Tokens.Code).lang ?? ''} />
        ) : (
          <Block key={index} token={block} />
        ),
      )}
    </div>
  );
});

const Block = memo(
  function Block({ token }: { token: Token }) {
    return <div dir="auto" dangerouslySetInnerHTML={{ __html: htmlOf(token) }} />;
  },
  (before, after) => before.token === after.token || (before.token.raw === after.token.raw && stands(after.token)),
);

/** The same source means the same everywhere: what brackets name may be said elsewhere in the text. */
const stands = ({ raw }: Token): boolean => !raw.includes('[');

/** Blocks kept drawn, so that scrolling back and forth costs nothing; characters of their sources. */
const KEPT_MAX_CHARS = 2_000_000;
const kept = new Map<string, TrustedHTML>();
let keptChars = 0;

function htmlOf(token: Token): TrustedHTML {
  const found = kept.get(token.raw);
  if (found) return found;
  const made = sanitizeProse(marked.parser([token]));
  if (!stands(token)) return made;
  kept.set(token.raw, made);
  keptChars += token.raw.length;
  for (const raw of kept.keys()) {
    if (keptChars <= KEPT_MAX_CHARS) break;
    kept.delete(raw);
    keptChars -= raw.length;
  }
  return made;
}

/** Blocks of a text that may still change when more comes: the last, and the one that it may join. */
const OPEN_BLOCKS = 2;

/** Reads the blocks of the whole text; while it grows, those that are closed are not read again. */
function blockReader(): (text: string, growing: boolean) => readonly Token[] {
  let last: { text: string; growing: boolean; blocks: readonly Token[] } = { text: '', growing: false, blocks: [] };
  return (text, growing) => {
    if (last.text === text && last.growing === growing) return last.blocks;
    const goesOn = growing && last.growing && text.startsWith(last.text);
    const closed = goesOn ? last.blocks.slice(0, -OPEN_BLOCKS) : [];
    const length = closed.reduce((sum, { raw }) => sum + raw.length, 0);
    last = { text, growing, blocks: [...closed, ...marked.lexer(text.slice(length))] };
    return last.blocks;
  };
}
