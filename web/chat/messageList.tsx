/**
 * The scrolling column of a conversation. Only rows near the screen are drawn; the end is followed while the
 * reader is there, and only then; older pages come in above without moving what is read.
 */
import { defaultRangeExtractor, useVirtualizer, type Range, type Virtualizer } from '@tanstack/react-virtual';
import { ArrowDown } from 'lucide-react';
import { useCallback, useEffect, useImperativeHandle, useRef, type Ref } from 'react';
import { Button } from '../ui/button.tsx';
import { useFollow } from './follow.ts';
import { RowView, type RowActions } from './messages.tsx';
import type { Row } from './messageRows.ts';
import { estimatedHeight } from './rowHeight.ts';

/** Older messages are asked for this far before the first row is reached. */
const AHEAD_PX = 2_000;
const GAP_PX = 20;
const EDGE_PX = 24;
/** Rows drawn beyond the screen on either side. */
const OVERSCAN = 4;

export interface ListHandle {
  /** Puts a message on the screen; false when it is not among the rows. */
  reveal(messageId: number): boolean;
}

interface ListProps {
  rows: readonly Row[];
  actions: RowActions;
  busy: boolean;
  /** Changes when the reader has sent something: the end is shown, wherever the reader was. */
  followKey: number;
  onNearStart: () => void;
  handle: Ref<ListHandle>;
}

export function MessageList({ rows, actions, busy, followKey, onNearStart, handle }: ListProps) {
  const outer = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => outer.current,
    estimateSize: (index) => estimatedHeight(rows[index]!),
    getItemKey: useCallback((index: number) => rows[index]!.key, [rows]),
    gap: GAP_PX,
    paddingStart: EDGE_PX,
    paddingEnd: EDGE_PX,
    overscan: OVERSCAN,
    anchorTo: 'end',
    // A question that is being answered stays: what is written in it must not be lost.
    rangeExtractor: useCallback((range: Range) => withQuestions(defaultRangeExtractor(range), rows), [rows]),
  });
  const { away, onScroll, toEnd, leave } = useFollow(outer, followKey);
  useOlder(virtualizer, rows, onNearStart);
  useImperativeHandle(handle, () => ({
    reveal(messageId) {
      const index = rows.findIndex((row) => row.kind === 'item' && row.item.id === messageId);
      if (index < 0) return false;
      leave();
      virtualizer.scrollToIndex(index, { align: 'start' });
      return true;
    },
  }));

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={outer}
        onScroll={onScroll}
        className="h-full overflow-y-auto overscroll-contain [overflow-anchor:none]"
        data-testid="messages"
      >
        <div
          role="log"
          aria-label="Conversation"
          className="relative mx-auto w-full max-w-3xl"
          style={{ height: virtualizer.getTotalSize() }}
        >
          {virtualizer.getVirtualItems().map(({ index, key, start }) => (
            <div
              key={key}
              data-index={index}
              ref={virtualizer.measureElement}
              className="absolute top-0 left-0 w-full px-4 md:px-6"
              style={{ transform: `translateY(${start}px)` }}
            >
              <RowView row={rows[index]!} actions={actions} busy={busy} />
            </div>
          ))}
        </div>
      </div>
      {away && (
        <Button
          className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-raised"
          icon={<ArrowDown size={15} />}
          onClick={toEnd}
        >
          To the end
        </Button>
      )}
    </div>
  );
}

function withQuestions(range: number[], rows: readonly Row[]): number[] {
  const questions = rows.flatMap(({ kind }, index) => (kind === 'request' && !range.includes(index) ? [index] : []));
  return questions.length > 0 ? [...range, ...questions].toSorted((a, b) => a - b) : range;
}

/** Asks for the page before when the first rows come near; again when more of them may fit. */
function useOlder(virtualizer: Virtualizer<HTMLDivElement, HTMLDivElement>, rows: readonly Row[], onNearStart: () => void): void {
  const [first] = rows;
  const missing = first?.kind === 'beginning' && !first.all;
  const near = (virtualizer.scrollOffset ?? 0) < AHEAD_PX;
  useEffect(() => {
    if (!missing || !near) return;
    // After the end was shown: a conversation opens there.
    const frame = requestAnimationFrame(() => (virtualizer.scrollElement?.scrollTop ?? 0) < AHEAD_PX && onNearStart());
    return () => cancelAnimationFrame(frame);
  }, [virtualizer, missing, near, rows.length, onNearStart]);
}
