/** What stands in the column of a conversation, from the first known message to what is under way: one row each, in order. */
import type { OpenRequest } from '../../ipc/contracts/rpcRequests.ts';
import type { Echo, Outgoing, SessionState } from '../sessionState.ts';
import { titleOfTool } from './toolNames.ts';
import type { Item, Transcript } from './transcript.ts';

export type Row =
  | { kind: 'beginning'; key: string; all: boolean }
  /** `prompt`: what it answers, to send it again. `after`: prompts that stand behind it. */
  | { kind: 'item'; key: string; item: Item; prompt: string | null; after: number }
  | { kind: 'outgoing'; key: string; prompt: Outgoing }
  | { kind: 'echo'; key: string; echo: Echo }
  | { kind: 'request'; key: string; request: OpenRequest }
  | { kind: 'work'; key: string; work: Work };

/** What is being waited for, in words, from the moment that Enter is pressed. */
export interface Work {
  label: string;
  since: number;
  helpers: Transcript['helpers'];
}

export function rowsOf(state: SessionState, connected: boolean): Row[] {
  const { transcript, echoes } = state;
  const pending = unseen(state);
  const work = workOf(transcript, pending, connected);
  const rows: Row[] = [];
  if (transcript && transcript.items.length > 0) rows.push({ kind: 'beginning', key: 'beginning', all: transcript.oldest.all });
  if (transcript) rows.push(...withEchoes(itemRows(transcript), echoes));
  else rows.push(...echoes.map(echoRow));
  rows.push(...pending.map((prompt): Row => ({ kind: 'outgoing', key: prompt.key, prompt })));
  rows.push(...(transcript?.requests ?? []).map((request): Row => ({ kind: 'request', key: `request${request.id}`, request })));
  if (work) rows.push({ kind: 'work', key: 'work', work });
  return rows;
}

const echoRow = (echo: Echo): Row => ({ kind: 'echo', key: `echo${echo.key}`, echo });

/** Each below the message that was the last when it was asked for; at the end when that one is gone. */
function withEchoes(items: readonly Row[], echoes: readonly Echo[]): Row[] {
  if (echoes.length === 0) return [...items];
  const rows = [...items];
  for (const echo of echoes.toReversed()) {
    const at = rows.findIndex((row) => row.kind === 'item' && row.item.id === echo.below?.id && row.item.kind === echo.below.kind);
    rows.splice(echo.below === null ? 0 : at < 0 ? rows.length : at + 1, 0, echoRow(echo));
  }
  return rows;
}

/** Prompts that wait stand at the composer, not in the conversation. */
function itemRows({ items, queued }: Transcript): Row[] {
  const waiting = new Set(queued.map(({ id }) => id));
  const rows: Extract<Row, { kind: 'item' }>[] = [];
  let prompt: string | null = null;
  for (const item of items) {
    if (item.kind === 'user' && waiting.has(item.id)) continue;
    if (item.kind === 'user') prompt = item.text;
    if (item.kind === 'agent' && isEmpty(item)) continue;
    rows.push({ kind: 'item', key: `${item.kind}${item.id}`, item, prompt, after: 0 });
  }
  let after = 0;
  for (const row of rows.toReversed()) {
    row.after = after;
    if (row.item.kind === 'user') after++;
  }
  return rows;
}

const isEmpty = ({ text, reasoning, tools, end }: Extract<Item, { kind: 'agent' }>): boolean =>
  !text && !reasoning && tools.length === 0 && !end;

/** Prompts that the transcript does not show yet; one may arrive as an event before its own answer. */
function unseen({ transcript, outgoing }: SessionState): Outgoing[] {
  if (outgoing.length === 0) return [];
  const shown = transcript?.items.flatMap((item) => (item.kind === 'user' ? [{ id: item.id, text: item.text }] : [])) ?? [];
  const known = [...shown, ...(transcript?.queued ?? [])];
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

function workOf(transcript: Transcript | null, pending: readonly Outgoing[], connected: boolean): Work | null {
  const turn = transcript?.turn ?? null;
  const compacting = transcript?.compacting ?? null;
  const sending = pending.find(({ failure }) => !failure);
  if (!turn && !sending && !compacting) return null;
  const since = turn?.startedAt ?? compacting?.startedAt ?? sending!.sentAt;
  const work = (label: string, from = since): Work => ({ label, since: from, helpers: transcript?.helpers ?? [] });
  if (!connected) return work('Waiting for the connection; nothing is lost');
  if (transcript && transcript.requests.length > 0) return work('Waiting for your answer');
  if (compacting) return work(compacting.text, compacting.startedAt);
  if (!turn) return work(sending!.messageId === null ? 'Sending' : 'Starting');
  switch (turn.phase) {
    case 'thinking':
      return work('Thinking');
    case 'writing':
      return work('Writing');
    case 'preparing':
      return work(`Preparing ${titleOfTool(turn.detail ?? 'a tool')}`);
    case 'tool':
      return work(`Using ${titleOfTool(turn.detail ?? 'a tool')}`);
    case 'waiting':
      return work(turn.detail ?? 'Waiting for the model');
  }
}
