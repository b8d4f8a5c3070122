/** A unified diff as lines with their numbers, signs and colours; long ones are opened on demand. */
import { memo, useState } from 'react';
import { visibleText } from '../../base/visibleText.ts';
import { Button } from '../ui/button.tsx';
import type { DiffFile, DiffLine } from './diff.ts';

/** Shown before one asks for the rest. */
const LINES_SHOWN = 80;

export const DiffView = memo(function DiffView({ files }: { files: readonly DiffFile[] }) {
  const [all, setAll] = useState(false);
  const total = files.reduce((sum, { hunks }) => sum + hunks.reduce((lines, hunk) => lines + hunk.lines.length, 0), 0);
  return (
    <div className="grid gap-2 py-2">
      {(all ? files : shortened(files)).map(({ title, hunks, added, removed }, index) => (
        <section key={index} aria-label={title || 'Changes'} className="min-w-0">
          <p className="flex gap-3 px-4 pb-1 text-xs text-soft">
            <span className="min-w-0 flex-1 truncate font-mono">{visibleText(title)}</span>
            {added > 0 && <span className="text-good">+{added}</span>}
            {removed > 0 && <span className="text-bad">−{removed}</span>}
          </p>
          <div className="overflow-x-auto" tabIndex={0} role="region" aria-label={`Diff of ${title}`}>
            <table className="w-full border-collapse font-mono text-[0.8125rem] leading-relaxed">
              <tbody>
                {hunks.map(({ head, lines }, at) => (
                  <Hunk key={at} head={head} lines={lines} />
                ))}
              </tbody>
            </table>
          </div>
        </section>
      ))}
      {total > LINES_SHOWN && (
        <Button weight="quiet" className="mx-2 justify-self-start" onClick={() => setAll(!all)}>
          {all ? 'Show less' : `Show all ${total} lines`}
        </Button>
      )}
    </div>
  );
});

/** The first lines of all of it. */
function shortened(files: readonly DiffFile[]): DiffFile[] {
  let left = LINES_SHOWN;
  return files.map((file) => {
    const hunks = file.hunks.map(({ head, lines }) => {
      const shown = lines.slice(0, Math.max(0, left));
      left -= lines.length;
      return { head, lines: shown };
    });
    return { ...file, hunks: hunks.filter(({ lines }) => lines.length > 0) };
  });
}

function Hunk({ head, lines }: { head: string; lines: readonly DiffLine[] }) {
  return (
    <>
      <tr className="text-faint">
        <td colSpan={4} className="bg-sunken px-4 select-none">
          {head}
        </td>
      </tr>
      {lines.map((line, index) => (
        <Line key={index} line={line} />
      ))}
    </>
  );
}

const looks = { same: '', added: 'bg-good-tint', removed: 'bg-bad-tint' } as const;
const signs = { same: '', added: '+', removed: '−' } as const;
const words = { same: undefined, added: 'added', removed: 'removed' } as const;

function Line({ line: { kind, old, now, text } }: { line: DiffLine }) {
  return (
    <tr className={looks[kind]} data-line={kind}>
      <td className="w-[1%] min-w-10 pr-2 pl-4 text-right text-faint select-none">{old}</td>
      <td className="w-[1%] min-w-10 pr-2 text-right text-faint select-none">{now}</td>
      <td className="w-4 text-center select-none" aria-label={words[kind]}>
        {signs[kind]}
      </td>
      <td className="pr-4 whitespace-pre">{text}</td>
    </tr>
  );
}
