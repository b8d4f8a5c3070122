/** The menu of a chat, open from the start: name, branch, undo, archive, export, delete, and the windows that some of these need. */
import { Menu } from '@base-ui/react/menu';
import { Archive, ArchiveRestore, Download, FileJson, GitBranch, MoreHorizontal, Pencil, Trash2, Undo2 } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { IconButton } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { useSessionActions } from './sessionActions.ts';

export interface SessionMenuProps {
  id: string;
  title: string;
  archived?: boolean;
  /** Undo waits until the answer under way is over. */
  working: boolean;
  onUndone?: ((text: string) => void) | undefined;
  /** −1 where arrow keys lead to it. */
  tabIndex?: number | undefined;
}

export function SessionMenu({ id, title, archived = false, working, onUndone, tabIndex }: SessionMenuProps) {
  const actions = useSessionActions();
  const [window, setWindow] = useState<'rename' | 'delete' | null>(null);
  const close = () => setWindow(null);
  const undo = async () => {
    const text = await actions.undo(id);
    if (text !== null) onUndone?.(text);
  };
  return (
    <>
      <Menu.Root defaultOpen>
        <Menu.Trigger
          render={
            <IconButton label={`More about ${title}`} tabIndex={tabIndex}>
              <MoreHorizontal size={17} />
            </IconButton>
          }
        />
        <Menu.Portal>
          <Menu.Positioner sideOffset={6} align="end" className="z-30">
            <Menu.Popup className="min-w-56 rounded-xl border border-line bg-paper p-1 text-sm shadow-raised outline-none">
              <Entry icon={<Pencil size={15} />} onClick={() => setWindow('rename')}>
                Rename
              </Entry>
              <Entry icon={<GitBranch size={15} />} onClick={() => void actions.branch(id)}>
                Branch into a new chat
              </Entry>
              {onUndone && (
                <Entry icon={<Undo2 size={15} />} disabled={working} onClick={() => void undo()}>
                  Take back the last message
                </Entry>
              )}
              <Entry
                icon={archived ? <ArchiveRestore size={15} /> : <Archive size={15} />}
                onClick={() => void actions.archive(id, !archived)}
              >
                {archived ? 'Take out of the archive' : 'Archive'}
              </Entry>
              <Menu.Separator className="mx-3 my-1 h-px bg-line" />
              <Entry icon={<Download size={15} />} onClick={() => void actions.export(id, 'markdown')}>
                Save as text
              </Entry>
              <Entry icon={<FileJson size={15} />} onClick={() => void actions.export(id, 'json')}>
                Save as JSON
              </Entry>
              <Menu.Separator className="mx-3 my-1 h-px bg-line" />
              <Entry icon={<Trash2 size={15} />} onClick={() => setWindow('delete')}>
                Delete…
              </Entry>
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      {window === 'rename' && <RenameDialog id={id} title={title} onClose={close} />}
      {window === 'delete' && <DeleteDialog id={id} title={title} onClose={close} />}
    </>
  );
}

interface EntryProps {
  icon: ReactNode;
  children: ReactNode;
  disabled?: boolean;
  onClick: () => void;
}

function Entry({ icon, children, disabled = false, onClick }: EntryProps) {
  return (
    <Menu.Item
      disabled={disabled}
      onClick={onClick}
      className="flex h-9 cursor-pointer items-center gap-3 rounded-lg px-3 text-soft outline-none data-disabled:opacity-50 data-highlighted:bg-sunken data-highlighted:text-ink"
    >
      {icon}
      {children}
    </Menu.Item>
  );
}

interface WindowProps {
  id: string;
  title: string;
  onClose: () => void;
}

function RenameDialog({ id, title, onClose }: WindowProps) {
  const { rename } = useSessionActions();
  const { busy, error, run } = useWork(onClose);
  const [text, setText] = useState(title);
  return (
    <FormDialog
      onClose={onClose}
      title="Rename this chat"
      verb="Rename"
      busy={busy}
      complete={text.trim() !== ''}
      error={error}
      onSubmit={() => run(() => rename(id, text.trim()))}
    >
      <TextField
        label="Name"
        value={text}
        maxLength={200}
        autoFocus
        onFocus={({ target }) => target.select()}
        onChange={({ target }) => setText(target.value)}
      />
    </FormDialog>
  );
}

function DeleteDialog({ id, title, onClose }: WindowProps) {
  const { remove } = useSessionActions();
  const { busy, error, run } = useWork(onClose);
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title="Delete this chat?"
      verb="Delete"
      busy={busy}
      error={error}
      onConfirm={() => run(() => remove(id))}
    >
      “<bdi>{title}</bdi>” with all its messages and files is gone for good. To keep it out of the list only, archive it.
    </ConfirmDialog>
  );
}

function useWork(onDone: () => void) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    try {
      await work();
      onDone();
    } catch (thrown) {
      setError(thrown as Error);
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, run: (work: () => Promise<void>) => void run(work) };
}
