/** One chat: its messages, what is under way, and the composer. */
import { useEffect, useState } from 'react';
import { useConnectionState, useSession } from '../app/context.ts';
import { PlaceHeader } from '../app/header.tsx';
import type { Outgoing, SessionState } from '../sessionLink.ts';
import { Notice } from '../ui/notice.tsx';
import { Composer } from './composer.tsx';
import { FailedPrompt, MessageItem, PendingPrompt, Working } from './messages.tsx';
import { ModelNotice } from './modelNotice.tsx';
import { RequestCard } from './requestCard.tsx';
import { Scroller } from './scroller.tsx';
import type { Item, Transcript } from './transcript.ts';
import { titleOfTool } from './toolCard.tsx';

export function Conversation({ id }: { id: string }) {
  const { link, state } = useSession(id);
  const { phase } = useConnectionState();
  const { transcript, failure } = state;
  const pending = unseen(state);
  const work = workOf(transcript, pending, phase === 'ready');
  const working = work !== null;
  const [sent, setSent] = useState(0);
  const submit = (text: string) => {
    link.submit(text);
    setSent((count) => count + 1);
  };
  useEscape(working, () => void link.interrupt());

  return (
    <>
      <PlaceHeader title={transcript?.info.title ?? (transcript ? 'Chat' : ' ')} />
      <main className="flex min-h-0 flex-1 flex-col">
        <Scroller followKey={sent}>
          {failure && (
            <Notice tone="bad" title="This chat cannot be shown">
              {failure}
            </Notice>
          )}
          {transcript &&
            withPrompts(transcript).map(({ item, prompt }) => (
              <MessageItem key={`${item.kind}${item.id}`} item={item} prompt={prompt} onRetry={submit} />
            ))}
          {pending.map((prompt) =>
            prompt.failure ? (
              <FailedPrompt
                key={prompt.key}
                prompt={prompt}
                onRetry={() => link.settle(prompt.key, 'retry')}
                onDiscard={() => link.settle(prompt.key, 'discard')}
              />
            ) : (
              <PendingPrompt key={prompt.key} text={prompt.text} />
            ),
          )}
          {transcript?.requests.map((request) => (
            <RequestCard
              key={request.id}
              request={request}
              onAnswer={(result) => link.answer(request, result)}
              onShown={() => void link.shown(request)}
            />
          ))}
          {work && <Working label={work.label} since={work.since} />}
        </Scroller>
        <Composer
          draftKey={id}
          working={working}
          onSubmit={submit}
          onStop={() => void link.interrupt()}
          queued={transcript?.queued ?? []}
          notice={transcript && <ModelNotice scripted={transcript.info.scripted} warning={transcript.info.credential_warning} />}
        />
      </main>
    </>
  );
}

/** Prompts that the transcript does not show yet; one may arrive as an event before its own answer. */
function unseen({ transcript, outgoing }: SessionState): Outgoing[] {
  const known = [...(transcript?.items.filter(({ kind }) => kind === 'user') ?? []), ...(transcript?.queued ?? [])] as {
    id: number;
    text: string;
  }[];
  const taken = new Set<number>();
  return outgoing.filter(({ messageId, text, afterId, failure }) => {
    if (failure) return true;
    const found = known.find(
      (row) => !taken.has(row.id) && (messageId === null ? row.id > afterId && row.text === text : row.id === messageId),
    );
    if (found) taken.add(found.id);
    return !found;
  });
}

/** Each item with the prompt it answers. Prompts that wait stand at the composer, not in the conversation. */
function withPrompts({ items, queued }: Transcript): { item: Item; prompt: string | null }[] {
  const waiting = new Set(queued.map(({ id }) => id));
  let prompt: string | null = null;
  return items.flatMap((item) => {
    if (item.kind === 'user' && waiting.has(item.id)) return [];
    if (item.kind === 'user') prompt = item.text;
    return [{ item, prompt }];
  });
}

/** What is being waited for, in words, from the moment that Enter is pressed. */
function workOf(transcript: Transcript | null, pending: readonly Outgoing[], connected: boolean): { label: string; since: number } | null {
  const turn = transcript?.turn ?? null;
  const sending = pending.find(({ failure }) => !failure);
  if (!turn && !sending) return null;
  const since = turn?.startedAt ?? sending!.sentAt;
  if (!connected) return { label: 'Waiting for the connection; nothing is lost', since };
  if (transcript && transcript.requests.length > 0) return { label: 'Waiting for your answer', since };
  if (!turn) return { label: sending!.messageId === null ? 'Sending' : 'Starting', since };
  switch (turn.phase) {
    case 'thinking':
      return { label: 'Thinking', since };
    case 'writing':
      return { label: 'Writing', since };
    case 'tool':
      return { label: `Using ${titleOfTool(turn.detail ?? 'a tool')}`, since };
    case 'waiting':
      return { label: turn.detail ?? 'Waiting for the model', since };
  }
}

function useEscape(active: boolean, act: () => void): void {
  useEffect(() => {
    if (!active) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented && !document.querySelector('[role=dialog]')) act();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}
