/** Rows and columns; on a phone each row becomes a small card of `name value` lines. */
import type { ReactNode } from 'react';

export interface Column<T> {
  name: string;
  cell: (row: T) => ReactNode;
  /** Figures stand at the right, in figures of one width. */
  figures?: boolean;
  /** A word or two that stay on one line, as figures do. */
  brief?: boolean;
  /** The column's name is for screen readers alone: buttons. */
  quiet?: boolean;
}

interface DataTableProps<T> {
  label: string;
  rows: readonly T[];
  keyOf: (row: T) => string;
  columns: readonly Column<T>[];
  /** Four columns of which the first says most and the last holds buttons: on a phone a row is two lines, without names. */
  compact?: boolean;
}

export function DataTable<T>({ label, rows, keyOf, columns, compact = false }: DataTableProps<T>) {
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-surface">
      <table aria-label={label} className="w-full text-sm max-md:block">
        <thead className="border-b border-line text-left text-xs text-soft max-md:sr-only">
          <tr>
            {columns.map(({ name, figures, quiet }) => (
              <th key={name} scope="col" className={`px-4 py-2.5 font-medium ${figures ? 'text-right' : ''}`}>
                {quiet ? <span className="sr-only">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="max-md:block">
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              className={`border-line not-last:border-b max-md:grid ${compact ? 'max-md:grid-cols-[auto_minmax(0,1fr)_auto] max-md:items-center max-md:gap-x-3 max-md:py-2 max-md:pr-2 max-md:pl-4' : 'max-md:gap-1 max-md:p-4'}`}
            >
              {columns.map(({ name, cell, figures, brief, quiet }, index) => (
                <td
                  key={name}
                  className={`min-w-0 ${compact ? 'align-middle' : 'align-baseline'} max-md:flex max-md:gap-3 md:px-4 md:py-3 ${figures ? 'tabular-nums md:text-right' : ''} ${figures || brief ? 'whitespace-nowrap' : ''} ${compact ? compactCell(index, columns.length) : ''}`}
                >
                  {!quiet && !compact && (
                    <span aria-hidden="true" className="w-28 shrink-0 text-soft md:hidden">
                      {name}
                    </span>
                  )}
                  <div className="min-w-0 max-md:flex-1">{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The first above the figures, which stand below its words, not below its sign; the buttons beside both. */
function compactCell(index: number, count: number): string {
  if (index === 0) return 'max-md:col-span-2';
  if (index === count - 1) return 'max-md:col-start-3 max-md:row-span-2 max-md:row-start-1';
  return `max-md:text-xs max-md:text-soft ${index === 1 ? 'max-md:pl-7' : ''}`;
}
