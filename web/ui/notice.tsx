/** A coloured box that says something; and the small word with a dot that says how something is. */
import type { ReactNode } from 'react';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad';

const boxes: Record<Tone, string> = {
  neutral: 'bg-tint text-ink',
  good: 'bg-good-tint text-ink',
  warn: 'bg-warn-tint text-ink',
  bad: 'bg-bad-tint text-ink',
};

const words: Record<Tone, string> = {
  neutral: 'bg-sunken text-soft',
  good: 'bg-good-tint text-good',
  warn: 'bg-warn-tint text-warn',
  bad: 'bg-bad-tint text-bad',
};

export function Notice({ tone, title, children, actions }: { tone: Tone; title?: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <div
      role={tone === 'bad' ? 'alert' : 'status'}
      className={`flex flex-wrap items-start gap-x-4 gap-y-2 rounded-xl px-4 py-3 text-sm ${boxes[tone]}`}
    >
      <div className="min-w-0 flex-1 basis-64 wrap-anywhere">
        {title && (
          <p className="font-semibold">
            <WithCode text={title} />
          </p>
        )}
        {children}
      </div>
      {actions}
    </div>
  );
}

export function Badge({ tone, children, busy = false }: { tone: Tone; children: ReactNode; busy?: boolean }) {
  return (
    <span className={`inline-flex h-6 items-center gap-1.5 rounded-full px-2.5 text-xs font-medium whitespace-nowrap ${words[tone]}`}>
      <span className={`size-1.5 rounded-full bg-current ${busy ? 'animate-breathe' : ''}`} />
      {children}
    </span>
  );
}

/** A sentence of the service: what stands in it between backticks is a command or a name, and is set as one. */
export const WithCode = ({ text }: { text: string }) =>
  text.split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? <Command key={index}>{part}</Command> : part));

/** Text to copy into a terminal. */
export function Command({ children }: { children: string }) {
  return <code className="rounded-md bg-sunken px-1.5 py-0.5 font-mono text-[0.8125rem] wrap-anywhere text-ink">{children}</code>;
}
