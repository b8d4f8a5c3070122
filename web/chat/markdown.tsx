/**
 * What a model writes, as a page may show it. Markup in the text is shown, never run: HTML is escaped by
 * the renderer, and what the renderer makes goes through DOMPurify. Images would tell a stranger that the
 * answer was read, so they become links. Only the block that grows is rendered again.
 */
import DOMPurify from 'dompurify';
import { Marked, type Tokens } from 'marked';
import { memo, useMemo } from 'react';
import { CopyButton } from '../ui/copyButton.tsx';

const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escape(text),
    image: ({ href, text }: Tokens.Image) => `<a href="${escape(href)}">${escape(text || href)}</a>`,
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? '☑ ' : '☐ '),
  },
});

const escape = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

const purifier = DOMPurify(window);
purifier.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer nofollow');
});

const rules = {
  ALLOWED_TAGS: [
    'p',
    'br',
    'hr',
    'em',
    'strong',
    'del',
    'code',
    'pre',
    'a',
    'ul',
    'ol',
    'li',
    'blockquote',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'table',
    'thead',
    'tbody',
    'tr',
    'th',
    'td',
  ],
  ALLOWED_ATTR: ['href', 'title', 'align', 'start'],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ADD_ATTR: ['target', 'rel'],
  // The page's policy takes HTML from this sanitizer alone.
  RETURN_TRUSTED_TYPE: true,
};

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => marked.lexer(text).filter(({ type }) => type !== 'space'), [text]);
  return (
    <div className="prose">
      {blocks.map((block, index) =>
        block.type === 'code' ? (
          <CodeBlock key={index} text={(block as Tokens.Code).text} language={(block as Tokens.Code).lang ?? ''} />
        ) : (
          <Block key={index} token={block as Tokens.Generic} />
        ),
      )}
    </div>
  );
});

const Block = memo(
  function Block({ token }: { token: Tokens.Generic }) {
    const html = purifier.sanitize(marked.parser([token]), rules);
    return <div dangerouslySetInnerHTML={{ __html: html }} />;
  },
  (before, after) => before.token.raw === after.token.raw,
);

const CodeBlock = memo(function CodeBlock({ text, language }: { text: string; language: string }) {
  return (
    <figure className="overflow-hidden rounded-xl border border-line bg-surface">
      <figcaption className="flex h-9 items-center justify-between border-b border-line pr-1 pl-4 text-xs text-faint">
        {language.split(/\s/, 1)[0] || 'text'}
        <CopyButton text={text} label="Copy the code" />
      </figcaption>
      <pre className="overflow-x-auto p-4 font-mono text-[0.8125rem] leading-relaxed" tabIndex={0}>
        <code>{text}</code>
      </pre>
    </figure>
  );
});
