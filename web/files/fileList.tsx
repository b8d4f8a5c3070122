/** The entries of a folder, and the way to it. Names are text, whatever is in them. */
import { ChevronRight, Download, File, FileText, Folder, Image, Link2, Trash2 } from 'lucide-react';
import { visibleText } from '../../base/visibleText.ts';
import type { AnswerOf } from '../../ipc/httpRoute.ts';
import type { RouteOf } from '../../ipc/contracts/http/table.ts';
import { age } from '../app/format.ts';
import { IconButton } from '../ui/button.tsx';
import { DataTable } from '../ui/dataTable.tsx';

export type FileRow = AnswerOf<RouteOf<'GET /api/files'>>['entries'][number];

interface FileListProps {
  rows: readonly FileRow[];
  onOpen: (row: FileRow) => void;
  onDownload: (row: FileRow) => void;
  onDelete: (row: FileRow) => void;
}

export function FileList({ rows, onOpen, onDownload, onDelete }: FileListProps) {
  return (
    <DataTable<FileRow>
      label="Files"
      compact
      rows={rows}
      keyOf={({ path }) => path}
      columns={[
        {
          name: 'Name',
          cell: (row) => (
            <button
              type="button"
              onClick={() => onOpen(row)}
              className="flex max-w-full max-md:min-h-8 items-center gap-2.5 rounded text-left hover:underline"
            >
              <Sign row={row} />
              <span className="min-w-0 font-medium break-all">{visibleText(row.name)}</span>
            </button>
          ),
        },
        { name: 'Size', figures: true, cell: ({ is_directory, size }) => (is_directory ? '–' : bytes(size)) },
        { name: 'Changed', brief: true, cell: ({ mtime }) => <span title={new Date(mtime).toLocaleString()}>{changed(mtime)}</span> },
        {
          name: 'Actions',
          quiet: true,
          cell: (row) => (
            <span className="flex justify-end gap-1">
              {!row.is_directory && (
                <IconButton label={`Download ${row.name}`} onClick={() => onDownload(row)}>
                  <Download size={16} />
                </IconButton>
              )}
              <IconButton label={`Delete ${row.name}`} onClick={() => onDelete(row)}>
                <Trash2 size={16} />
              </IconButton>
            </span>
          ),
        },
      ]}
    />
  );
}

function Sign({ row: { is_directory, is_link, mime_type } }: { row: FileRow }) {
  const look = { size: 17, 'aria-hidden': true, className: `shrink-0 ${is_directory ? 'text-accent' : 'text-faint'}` } as const;
  if (is_directory) return <Folder {...look} />;
  if (is_link) return <Link2 {...look} />;
  if (mime_type?.startsWith('image/')) return <Image {...look} />;
  return mime_type?.startsWith('text/') ? <FileText {...look} /> : <File {...look} />;
}

export const changed = (at: string): string => {
  const words = age(at);
  return words === 'now' ? 'just now' : /^\d+ (?:min|h|d)$/.test(words) ? `${words} ago` : words;
};

/** `812 B`, `4.2 kB`, `12 MB`. */
export function bytes(size: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const step = size < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(size) / Math.log(1_024)));
  const value = size / 1_024 ** step;
  return `${value < 10 && step > 0 ? value.toFixed(1) : Math.round(value)} ${units[step]}`;
}

export function Crumbs({ root, path, onGo }: { root: string; path: string; onGo: (path: string) => void }) {
  const below = path.slice(root.length).split('/').filter(Boolean);
  const places = [{ name: root.split('/').at(-1) || '/', path: root }].concat(
    below.map((name, n) => ({ name, path: `${root === '/' ? '' : root}/${below.slice(0, n + 1).join('/')}` })),
  );
  return (
    <nav aria-label="Folder" className="flex min-w-0 flex-wrap items-center gap-0.5 text-sm">
      {places.map((place, n) => (
        <span key={place.path} className="flex min-w-0 items-center gap-0.5">
          {n > 0 && <ChevronRight size={14} aria-hidden="true" className="shrink-0 text-faint" />}
          <button
            type="button"
            title={place.path}
            aria-current={n === places.length - 1 ? 'location' : undefined}
            onClick={() => onGo(place.path)}
            className="min-h-7 rounded px-1.5 break-all text-soft hover:bg-sunken hover:text-ink aria-[current]:font-medium aria-[current]:text-ink"
          >
            {visibleText(place.name)}
          </button>
        </span>
      ))}
    </nav>
  );
}
