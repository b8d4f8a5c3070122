/** Messages that wait for the running answer: change them, take them out, or have one answered now. */
import { Check, Pencil, Trash2, X, Zap } from 'lucide-react';
import { useState } from 'react';
import { useConnection } from '../app/context.ts';
import { failureOf } from '../callError.ts';
import { IconButton } from '../ui/button.tsx';

interface QueueProps {
  sessionId: string;
  queued: readonly { id: number; text: string }[];
  /** An answer is under way: sending now ends it. */
  working: boolean;
}

export function QueuePanel({ sessionId, queued, working }: QueueProps) {
  const connection = useConnection();
  const [editing, setEditing] = useState<{ id: number; text: string } | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const act = async (work: () => Promise<unknown>) => {
    try {
      await work();
      setFailure(null);
      setEditing(null);
    } catch (thrown) {
      setFailure(failureOf(thrown).message);
    }
  };
  /** By its number, not by its place: the queue may move on before the service hears of it. */
  const queue = (params: { action: 'edit' | 'remove' | 'move'; message_id: number; to?: number; text?: string }) =>
    connection.call('session.queue', { session_id: sessionId, ...params });
  const sendNow = async (id: number) => {
    if (queued[0]?.id !== id) await queue({ action: 'move', message_id: id, to: 1 });
    if (working) await connection.call('session.interrupt', { session_id: sessionId });
  };
  return (
    <section aria-label="Waiting messages" className="grid gap-1 rounded-xl bg-sunken py-2 pr-2 pl-4 text-sm">
      <ol aria-label="Waiting messages" className="grid max-h-40 gap-0.5 overflow-y-auto">
        {queued.map((prompt, index) => (
          <li key={prompt.id} className="flex min-h-8 items-center gap-3">
            <span className="w-9 shrink-0 text-faint">{index === 0 ? 'Next' : index + 1}</span>
            {editing?.id === prompt.id ? (
              <EditLine
                text={editing.text}
                onSave={(text) => void act(() => queue({ action: 'edit', message_id: prompt.id, text }))}
                onLeave={() => setEditing(null)}
              />
            ) : (
              <>
                <span className="min-w-0 flex-1 truncate">{prompt.text}</span>
                <span className="flex shrink-0">
                  <IconButton label="Send now: the answer under way is stopped" onClick={() => void act(() => sendNow(prompt.id))}>
                    <Zap size={14} />
                  </IconButton>
                  <IconButton label="Change it" onClick={() => setEditing(prompt)}>
                    <Pencil size={14} />
                  </IconButton>
                  <IconButton label="Take it out" onClick={() => void act(() => queue({ action: 'remove', message_id: prompt.id }))}>
                    <Trash2 size={14} />
                  </IconButton>
                </span>
              </>
            )}
          </li>
        ))}
      </ol>
      {failure && (
        <p role="alert" className="text-bad">
          {failure}
        </p>
      )}
    </section>
  );
}

function EditLine({ text, onSave, onLeave }: { text: string; onSave: (text: string) => void; onLeave: () => void }) {
  const [value, setValue] = useState(text);
  return (
    <form
      className="flex min-w-0 flex-1 items-center gap-1"
      onSubmit={(event) => {
        event.preventDefault();
        if (value.trim()) onSave(value.trim());
      }}
    >
      <input
        aria-label="Waiting message"
        autoFocus
        value={value}
        onChange={({ target }) => setValue(target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          event.preventDefault();
          event.stopPropagation();
          onLeave();
        }}
        className="h-8 min-w-0 flex-1 rounded-lg border border-edge bg-paper px-2"
      />
      <IconButton label="Keep the change" type="submit">
        <Check size={14} />
      </IconButton>
      <IconButton label="Leave it as it was" onClick={onLeave}>
        <X size={14} />
      </IconButton>
    </form>
  );
}
