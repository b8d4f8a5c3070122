/** Slash commands typed on the page: run by the service, but for those that only a page can do. */
import { useNavigate } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { SessionLink } from '../sessionLink.ts';
import { toast } from '../ui/toast.tsx';
import { useSessionActions } from './sessionActions.ts';

export function useCommand(link: SessionLink): (line: string) => Promise<void> {
  const navigate = useNavigate();
  const actions = useSessionActions();
  return useCallback(
    async (line) => {
      const todo = await link.command(line);
      if (todo?.kind === 'session') await navigate({ to: '/chat/$sessionId', params: { sessionId: todo.sessionId } });
      if (todo?.kind !== 'local') return;
      if (todo.name === 'save') return actions.export(link.id, 'markdown');
      if (todo.name === 'copy') return copyAnswer(link);
      link.say(line, 'This command belongs to a terminal; the page has a button for what it does, or needs none.', 'failed');
    },
    [link, navigate, actions],
  );
}

async function copyAnswer(link: SessionLink): Promise<void> {
  const answer = link.state.get().transcript?.items.findLast(({ kind, text }) => kind === 'agent' && text !== '');
  if (!answer || !navigator.clipboard)
    return toast(answer ? 'This browser gives no access to the clipboard here.' : 'There is no answer yet.');
  await navigator.clipboard.writeText(answer.text);
  toast('The last answer is in the clipboard.');
}
