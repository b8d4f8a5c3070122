/** What was deleted under Files, and the way back of each. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { File, Folder, Undo2 } from 'lucide-react';
import { visibleText } from '../../base/visibleText.ts';
import type { Deleted } from '../../ipc/contracts/http/files.ts';
import { ApiError, request } from '../api.ts';
import { Button } from '../ui/button.tsx';
import { DataTable } from '../ui/dataTable.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Empty, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { bytes, changed } from './fileList.tsx';

/** `folder`: the one that is open, for what cannot go back to where it lay. */
export function Trash({ folder, onClose }: { folder: string; onClose: () => void }) {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ['files', 'trash'],
    queryFn: ({ signal }) => request('GET /api/files/trash', { signal }),
  });
  const restore = useMutation({
    mutationFn: ({ entry, into }: { entry: Deleted; into?: string }) =>
      request('POST /api/files/restore', { body: { path: entry.path, ...(into === undefined ? {} : { folder: into }) } }),
    onSuccess: ({ path }) => toast(`${path} is back.`),
    onSettled: () => queries.invalidateQueries({ queryKey: ['files'] }),
  });
  const entries = data?.entries ?? [];
  const failed = restore.error && !restore.isPending ? restore.variables : undefined;
  return (
    <Dialog open onClose={onClose} title="Trash" wide>
      {error && <Problem thrown={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={8} />}
      {data && entries.length === 0 && <Empty title="The trash is empty">What is deleted here lies in it for a month.</Empty>}
      {failed && (
        <div className="grid justify-items-start gap-2">
          <Problem thrown={restore.error!} />
          {elsewhere(restore.error!) && failed.into === undefined && (
            <Button onClick={() => restore.mutate({ entry: failed.entry, into: folder })}>Put it into {visibleText(nameOf(folder))}</Button>
          )}
        </div>
      )}
      {entries.length > 0 && (
        <>
          <p className="text-sm text-soft">
            Each lies here for a month, at {data?.path}. <span className="font-mono">agent files trash</span> prints the same.
          </p>
          <DataTable<Deleted>
            label="Trash"
            compact
            rows={entries}
            keyOf={({ path }) => path}
            columns={[
              {
                name: 'Name',
                cell: ({ name, origin, is_directory }) => (
                  <span className="flex items-center gap-2.5">
                    {is_directory ? <Folder {...sign} /> : <File {...sign} />}
                    <span className="min-w-0 font-medium break-all">{visibleText(origin ?? name)}</span>
                  </span>
                ),
              },
              { name: 'Size', figures: true, cell: ({ is_directory, size }) => (is_directory ? '–' : bytes(size)) },
              {
                name: 'Deleted',
                brief: true,
                cell: ({ deleted_at }) => <span title={new Date(deleted_at).toLocaleString()}>{changed(deleted_at)}</span>,
              },
              {
                name: 'Actions',
                quiet: true,
                cell: (entry) => (
                  <Button
                    icon={<Undo2 size={15} aria-hidden="true" />}
                    aria-label={`Restore ${entry.origin ?? entry.name}`}
                    disabled={restore.isPending}
                    onClick={() => restore.mutate({ entry })}
                  >
                    Restore
                  </Button>
                ),
              },
            ]}
          />
        </>
      )}
    </Dialog>
  );
}

const sign = { size: 17, 'aria-hidden': true, className: 'shrink-0 text-faint' } as const;
const nameOf = (folder: string): string => folder.split('/').at(-1) || '/';

/** Its folder is gone, its name is taken, or nobody knows where it lay. */
const elsewhere = (thrown: Error): boolean => thrown instanceof ApiError && (thrown.code === 'NOT_FOUND' || thrown.code === 'FILE_EXISTS');
