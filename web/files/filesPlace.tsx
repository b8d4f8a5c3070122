/** Files below one root: look, take, bring, make, delete. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { FolderPlus, Trash2, Upload as UploadIcon } from 'lucide-react';
import { useCallback, useRef, useState } from 'react';
import { visibleText } from '../../base/visibleText.ts';
import { request } from '../api.ts';
import { PlaceHeader } from '../app/header.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { SwitchField, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { Empty, PlaceBody, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { Crumbs, FileList, type FileRow } from './fileList.tsx';
import { Preview } from './preview.tsx';
import { saveFile } from './saveFile.ts';
import { Trash } from './trash.tsx';
import { Uploads } from './uploadList.tsx';
import { startUpload, useUploads } from './uploadState.ts';

export function FilesPlace() {
  const { path = '', hidden = false } = useSearch({
    strict: false,
    select: (search: { profile?: string; path?: string; hidden?: boolean }) => search,
  });
  const navigate = useNavigate();
  const go = (search: { path?: string; hidden?: boolean }) =>
    void navigate({ to: '/files', search: ((before: object) => ({ ...before, ...search })) as never });
  const queries = useQueryClient();
  const [shown, setShown] = useState<FileRow | null>(null);
  const [deleting, setDeleting] = useState<FileRow | null>(null);
  const [making, setMaking] = useState(false);
  const [trash, setTrash] = useState(false);
  const [failed, setFailed] = useState<Error | null>(null);
  const picker = useRef<HTMLInputElement>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ['files', path, hidden],
    queryFn: ({ signal }) => request('GET /api/files', { query: { path, hidden } as never, signal }),
  });
  const again = useCallback(() => void queries.invalidateQueries({ queryKey: ['files'] }), [queries]);
  const uploads = useUploads(again);
  const remove = useMutation({
    mutationFn: (row: FileRow) => request('DELETE /api/files', { body: { path: row.path, recursive: row.is_directory } }),
    onSuccess: ({ trashed }, row) => {
      setDeleting(null);
      if (trashed) toast(`${row.name} lies in the trash.`, { label: 'Undo', run: () => restore.mutate(trashed) });
      else toast(`${row.name} is gone.`);
      again();
    },
  });
  const restore = useMutation({
    mutationFn: (path: string) => request('POST /api/files/restore', { body: { path } }),
    onSuccess: ({ path: back }) => toast(`${back} is back.`),
    onError: (thrown) => toast(thrown.message),
    onSettled: again,
  });
  const take = (files: FileList_ | null) => {
    if (data) for (const file of files ?? []) startUpload(file, data.path);
  };

  return (
    <>
      <PlaceHeader title="Files" />
      <PlaceBody wide>
        <div
          className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-4"
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            take(event.dataTransfer.files);
          }}
        >
          <div className="flex flex-wrap items-center gap-2">
            <div className="min-w-0 flex-1 basis-60">
              {data && <Crumbs root={data.root} path={data.path} onGo={(next) => go({ path: next })} />}
            </div>
            <IconButton label="Trash" disabled={!data} onClick={() => setTrash(true)}>
              <Trash2 size={16} />
            </IconButton>
            <Button icon={<FolderPlus size={16} />} disabled={!data} onClick={() => setMaking(true)}>
              New folder
            </Button>
            <Button weight="strong" icon={<UploadIcon size={16} />} disabled={!data} onClick={() => picker.current?.click()}>
              Upload
            </Button>
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              aria-label="Files to upload"
              onChange={({ target }) => {
                take(target.files);
                target.value = '';
              }}
            />
          </div>
          <Uploads items={uploads} />
          {failed && <Problem thrown={failed} />}
          {error && <Problem thrown={error} onRetry={() => void refetch()} />}
          {!data && !error && <Skeleton height={20} />}
          {data && data.entries.length === 0 && (
            <Empty title="This folder is empty">Drop files here, or use Upload. The agent sees them at {visibleText(data.path)}.</Empty>
          )}
          {data && data.entries.length > 0 && (
            <FileList
              rows={data.entries}
              onOpen={(row) => (row.is_directory ? go({ path: row.path }) : setShown(row))}
              onDownload={(row) => {
                setFailed(null);
                saveFile(row).catch(setFailed);
              }}
              onDelete={(row) => {
                remove.reset();
                setDeleting(row);
              }}
            />
          )}
          {data?.truncated && <p className="text-sm text-soft">The folder holds more than is listed here.</p>}
          <div className="w-fit">
            <SwitchField label="Show hidden files" checked={hidden} onChange={(on) => go({ hidden: on })} />
          </div>
        </div>
      </PlaceBody>
      <Preview row={shown} onClose={() => setShown(null)} />
      <ConfirmDialog
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        title={`Delete ${deleting?.name ?? ''}?`}
        verb="Delete"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => deleting && remove.mutate(deleting)}
      >
        {deleting?.is_directory ? 'The folder goes with everything in it' : 'It goes'} into the trash of the root (.agent-trash), where it
        stays for a month. What lies in the trash already is deleted for good.
      </ConfirmDialog>
      {data && trash && <Trash folder={data.path} onClose={() => setTrash(false)} />}
      {data && making && <NewFolder folder={data.path} onClose={() => setMaking(false)} onMade={again} />}
    </>
  );
}

/** The browser's own, not our list. */
type FileList_ = globalThis.FileList;

function NewFolder({ folder, onClose, onMade }: { folder: string; onClose: () => void; onMade: () => void }) {
  const [name, setName] = useState('');
  const make = useMutation({
    mutationFn: () => request('POST /api/files/mkdir', { body: { path: `${folder}/${name.trim()}` } }),
    onSuccess: () => {
      onMade();
      onClose();
    },
  });
  const bad = /\//.test(name) ? 'A name holds no slash.' : undefined;
  return (
    <FormDialog
      onClose={onClose}
      title="New folder"
      verb="Make it"
      busy={make.isPending}
      complete={name.trim() !== '' && bad === undefined}
      error={make.error}
      onSubmit={() => make.mutate()}
    >
      <TextField label="Name" literal value={name} error={bad} maxLength={255} onChange={(event) => setName(event.target.value)} />
    </FormDialog>
  );
}
