/** What can be done with a chat as a whole. Errors are said in a toast, where no dialog stands that could say them. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { sessionMarkdown } from '../../chat/sessionMarkdown.ts';
import { useConnection } from '../app/context.ts';
import { failureOf } from '../callError.ts';
import { toast } from '../ui/toast.tsx';
import { forgetDraft } from './draft.ts';
import { saveFile } from './exportFile.ts';

const EXPORT_LIMIT_MS = 60_000;

export interface SessionActions {
  /** Opens a new chat with the conversation up to there; `after` prompts at its end stay behind. */
  branch(id: string, after?: number): Promise<void>;
  /** Takes the last exchange back; its prompt, for writing it anew. */
  undo(id: string): Promise<string | null>;
  /** With a way back. */
  archive(id: string, archived: boolean): Promise<void>;
  export(id: string, form: 'markdown' | 'json'): Promise<void>;
  /** Errors: CallError. */
  rename(id: string, title: string): Promise<void>;
  /** For good. Errors: CallError. */
  remove(id: string): Promise<void>;
}

export function useSessionActions(): SessionActions {
  const connection = useConnection();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const refresh = useCallback(() => void queries.invalidateQueries({ queryKey: ['sessions'] }), [queries]);
  return useMemo(() => {
    const archive = async (id: string, archived: boolean): Promise<void> =>
      told(async () => {
        await connection.call('session.archive', { session_id: id, archived });
        refresh();
        const back = { label: 'Undo', run: () => void archive(id, !archived) };
        toast(archived ? 'The chat is in the archive.' : 'The chat is back in the list.', back);
      });
    return {
      archive,
      branch: (id, after = 0) =>
        told(async () => {
          const { session_id } = await connection.call('session.branch', { session_id: id, count: after });
          refresh();
          await navigate({ to: '/chat/$sessionId', params: { sessionId: session_id } });
          toast('This is a new chat that goes on from there. The old one is unchanged.');
        }),
      async undo(id) {
        let text: string | null = null;
        await told(async () => {
          const undone = await connection.call('session.undo', { session_id: id });
          text = undone.text;
          toast(undone.removed > 0 ? 'The last message and its answer are taken back.' : 'There is nothing to take back.');
        });
        return text;
      },
      export: (id, form) =>
        told(async () => {
          const whole = await connection.call('session.export', { session_id: id }, EXPORT_LIMIT_MS);
          const name = (whole.session.title ?? id).replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '') || id;
          if (form === 'json') saveFile(`${name}.json`, JSON.stringify(whole, null, 2), 'application/json');
          else saveFile(`${name}.md`, sessionMarkdown(whole), 'text/markdown');
        }),
      async rename(id, title) {
        await connection.call('session.title', { session_id: id, title });
        refresh();
      },
      async remove(id) {
        await connection.call('session.delete', { session_id: id });
        forgetDraft(id);
        refresh();
        if (location.pathname === `/chat/${id}`) await navigate({ to: '/' });
        toast('The chat is deleted.');
      },
    };
  }, [connection, navigate, refresh]);
}

async function told(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    const { message, fix } = failureOf(thrown);
    toast(fix ? `${message}: ${fix}` : message);
  }
}
