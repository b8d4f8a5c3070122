/** Uploads under way: how far each is, what went wrong, and the question whether to replace. */
import { X } from 'lucide-react';
import { visibleText } from '../../base/visibleText.ts';
import { ApiError } from '../api.ts';
import { sentence } from '../app/format.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { WithCode } from '../ui/notice.tsx';
import { dropUpload, uploadAgain, type Item } from './uploadState.ts';

export function Uploads({ items }: { items: readonly Item[] }) {
  if (items.length === 0) return null;
  return (
    <ul aria-label="Uploads" className="grid gap-2">
      {items.map((item) => (
        <li
          key={item.id}
          className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-xl border border-line bg-surface px-4 py-2 text-sm"
        >
          <span className="min-w-0 flex-1 basis-40 break-all">{visibleText(item.file.name)}</span>
          {item.error ? (
            <Failure item={item} />
          ) : (
            <>
              <progress value={item.share} max={1} aria-label={`Upload of ${item.file.name}`} className="h-2 w-40 accent-accent" />
              <span className="w-11 text-right text-soft tabular-nums">{Math.floor(item.share * 100)} %</span>
            </>
          )}
          <IconButton label={`${item.error ? 'Dismiss' : 'Cancel'} ${item.file.name}`} onClick={() => dropUpload(item.id)}>
            <X size={15} />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

function Failure({ item }: { item: Item }) {
  const taken = item.error instanceof ApiError && item.error.code === 'FILE_EXISTS';
  const fix = item.error instanceof ApiError && !taken ? item.error.fix : undefined;
  return (
    <>
      <span role="alert" className="text-bad">
        <WithCode text={`${sentence(item.error!.message)}.${fix ? ` ${sentence(fix)}.` : ''}`} />
      </span>
      <Button onClick={() => uploadAgain(item, taken)}>{taken ? 'Replace it' : 'Try again'}</Button>
    </>
  );
}
