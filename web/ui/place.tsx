/** The body of a place: its width, its rhythm, and the sections in it. */
import type { ReactNode } from 'react';

/** Scrolls inside itself; `wide` for tables. */
export function PlaceBody({ children, wide = false }: { children: ReactNode; wide?: boolean }) {
  return (
    <main className="min-h-0 flex-1 overflow-y-auto">
      <div className={`mx-auto grid gap-6 px-4 py-6 md:px-6 ${wide ? 'max-w-6xl' : 'max-w-3xl'}`}>{children}</div>
    </main>
  );
}

interface SectionProps {
  title: string;
  /** A sentence below the title. */
  lead?: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
}

export function Section({ title, lead, actions, children }: SectionProps) {
  return (
    <section aria-label={title} className="grid min-w-0 grid-cols-[minmax(0,1fr)] content-start gap-3">
      <div className="flex flex-wrap items-end gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1">
          <h2 className="text-[0.9375rem] font-semibold">{title}</h2>
          {lead && <p className="text-sm text-soft">{lead}</p>}
        </div>
        {actions}
      </div>
      {children}
    </section>
  );
}

/** A raised area: one thing of a list, or a form. */
interface CardProps {
  children: ReactNode;
  className?: string;
  /** One of several that are alike, with its name. */
  role?: 'group';
  'aria-labelledby'?: string;
  'data-platform'?: string;
}

export function Card({ children, className = '', ...rest }: CardProps) {
  return (
    <div className={`min-w-0 rounded-xl border border-line bg-surface p-4 ${className}`} {...rest}>
      {children}
    </div>
  );
}

/** Nothing there yet: says so, and what to do. */
export function Empty({ title, children, actions }: { title: string; children?: ReactNode; actions?: ReactNode }) {
  return (
    <div className="grid justify-items-center gap-3 rounded-xl border border-dashed border-edge px-6 py-10 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="max-w-md text-sm text-soft">{children}</div>}
      {actions}
    </div>
  );
}

/** Holds the room of what is being fetched, so that nothing jumps when it comes. `lines` of text, or a block of `height` rem. */
export function Skeleton({ lines = 3, height }: { lines?: number; height?: number }) {
  return (
    <div role="status" aria-label="Loading" className="grid gap-2.5">
      {height === undefined ? (
        Array.from({ length: lines }, (_, n) => (
          <span key={n} className={`block h-4 animate-breathe rounded bg-sunken ${n === lines - 1 ? 'w-2/3' : 'w-full'}`} />
        ))
      ) : (
        <span className="block animate-breathe rounded-xl bg-sunken" style={{ height: `${height}rem` }} />
      )}
    </div>
  );
}
