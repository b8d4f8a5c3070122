/** Code with its language, colours and a button that copies it. A diff is drawn as one. */
import { memo, useEffect, useMemo, useState } from 'react';
import { CopyButton } from '../ui/copyButton.tsx';
import { readDiff } from './diff.ts';
import { DiffView } from './diffView.tsx';
import { highlighted, loadHighlighter } from './highlight.ts';

/** Code that still grows is coloured when it rests this long. */
const REST_MS = 150;

interface CodeBlockProps {
  text: string;
  /** As the fence says: `ts`, `python title="x"`. */
  language: string;
}

export const CodeBlock = memo(function CodeBlock({ text, language }: CodeBlockProps) {
  const name = language.split(/[\s:{]/, 1)[0]!.toLowerCase();
  const diff = useMemo(() => (name === 'diff' || name === 'patch' ? readDiff(text) : null), [name, text]);
  return (
    <figure className="overflow-hidden rounded-xl border border-line bg-surface">
      <figcaption className="flex h-9 items-center justify-between border-b border-line pr-1 pl-4 text-xs text-faint">
        {name || 'text'}
        <CopyButton text={text} label="Copy the code" />
      </figcaption>
      {diff ? <DiffView files={diff} /> : <Code text={text} language={name} />}
    </figure>
  );
});

/** The text alone, scrolled inside itself. */
export function Code({ text, language, className = 'p-4' }: CodeBlockProps & { className?: string }) {
  const html = useHighlighted(text, language);
  return (
    <pre className={`code overflow-x-auto font-mono text-[0.8125rem] leading-relaxed -outline-offset-2 ${className}`} tabIndex={0}>
      {html ? <code dangerouslySetInnerHTML={{ __html: html }} /> : <code>{text}</code>}
    </pre>
  );
}

function useHighlighted(text: string, language: string): TrustedHTML | null {
  const known = highlighted(text, language);
  const [, again] = useState(0);
  useEffect(() => {
    if (known !== undefined) return;
    let left = false;
    const later = setTimeout(() => void loadHighlighter().then(() => left || again((count) => count + 1)), REST_MS);
    return () => {
      left = true;
      clearTimeout(later);
    };
  }, [known, text, language]);
  return known ?? null;
}
