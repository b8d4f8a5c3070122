/** A file as one may look at it without running it: text as text, markdown cleaned, pictures as pictures. */
import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { request } from '../api.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copyButton.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { bytes, type FileRow } from './fileList.tsx';
import { saveFile } from './saveFile.ts';

const Markdown = lazy(() => import('../chat/markdown.tsx').then((module) => ({ default: module.Markdown })));

/** More is not drawn as text. */
const TEXT_MAX = 400_000;

export function Preview({ row, onClose }: { row: FileRow | null; onClose: () => void }) {
  const [failed, setFailed] = useState<{ row: FileRow; thrown: Error } | null>(null);
  return (
    <Dialog
      open={row !== null}
      onClose={onClose}
      title={row?.name ?? ''}
      wide
      actions={
        row && (
          <Button
            icon={<Download size={16} />}
            onClick={() => {
              setFailed(null);
              saveFile(row).catch((thrown: Error) => setFailed({ row, thrown }));
            }}
          >
            Download
          </Button>
        )
      }
    >
      {failed && failed.row === row && <Problem thrown={failed.thrown} />}
      {row && <Content key={row.path} row={row} />}
    </Dialog>
  );
}

function Content({ row }: { row: FileRow }) {
  const { data, error } = useQuery({
    queryKey: ['file', row.path, row.mtime],
    queryFn: ({ signal }) => request('GET /api/files/read', { query: { path: row.path }, signal }),
    gcTime: 0,
  });
  if (error) return <Problem thrown={error} />;
  if (!data) return <Skeleton height={12} />;
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-3 pb-2">
      <p className="text-xs text-soft">
        {bytes(data.size)} · {data.mime_type} · {new Date(data.mtime).toLocaleString()}
      </p>
      <Body name={data.name} mime={data.mime_type} address={data.data_url} />
    </div>
  );
}

function Body({ name, mime, address }: { name: string; mime: string; address: string }) {
  const [source, setSource] = useState(false);
  const text = useMemo(() => (mime.startsWith('image/') && mime !== 'image/svg+xml' ? null : textOf(address)), [mime, address]);
  if (mime.startsWith('image/'))
    return <img src={address} alt={name} className="max-h-[60vh] max-w-full justify-self-center rounded-lg bg-sunken" />;
  if (text === null)
    return <p className="text-sm text-soft">This is no text and no picture. Download it to open it with another program.</p>;
  if (text === '') return <p className="text-sm text-soft">The file is empty.</p>;
  const cut = text.slice(0, TEXT_MAX);
  return (
    <>
      {mime === 'text/markdown' && (
        <div>
          <Button aria-pressed={source} onClick={() => setSource(!source)}>
            {source ? 'Show it set' : 'Show the source'}
          </Button>
        </div>
      )}
      {mime === 'text/markdown' && !source ? (
        <Suspense fallback={<Skeleton lines={5} />}>
          <Markdown text={cut} />
        </Suspense>
      ) : (
        <div className="relative min-w-0">
          <pre
            tabIndex={0}
            aria-label={`Text of ${name}`}
            className="max-h-[60vh] overflow-auto rounded-lg bg-sunken p-3 pr-10 font-mono text-xs break-words whitespace-pre-wrap"
          >
            {cut}
          </pre>
          <CopyButton text={text} label="Copy the text" className="absolute top-1 right-1" />
        </div>
      )}
      {text.length > TEXT_MAX && <p className="text-sm text-soft">Only its beginning is shown. Download it for the rest.</p>}
    </>
  );
}

/** Null when the bytes are no text in UTF-8. */
function textOf(address: string): string | null {
  const bytesOf = Uint8Array.from(atob(address.slice(address.indexOf(',') + 1)), (char) => char.charCodeAt(0));
  if (bytesOf.subarray(0, 8_192).includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytesOf);
  } catch {
    return null;
  }
}
