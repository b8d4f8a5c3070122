/** Keeps a scrolling box at its end while the reader is there, and only then. */
import { useCallback, useLayoutEffect, useRef, useState, type RefObject } from 'react';

/** This near to the end counts as at the end, in pixels: a line of text. */
const NEAR_PX = 32;

export interface Follow {
  /** The reader has gone back. */
  away: boolean;
  onScroll(): void;
  toEnd(): void;
  /** Something else is to be shown: the end is no longer followed. */
  leave(): void;
}

/** To be called by what draws the content: with each drawing the end is put on the screen again. `key` changes when the reader must see it. */
export function useFollow(box: RefObject<HTMLElement | null>, key: unknown): Follow {
  const following = useRef(true);
  const lastTop = useRef(0);
  const [away, setAway] = useState(false);
  const pin = useCallback(() => {
    const element = box.current;
    if (!element || !following.current) return;
    if (element.scrollHeight - element.scrollTop - element.clientHeight > 1) element.scrollTo({ top: element.scrollHeight });
    lastTop.current = element.scrollTop;
  }, [box]);
  const toEnd = useCallback(() => {
    following.current = true;
    setAway(false);
    pin();
  }, [pin]);
  useLayoutEffect(toEnd, [toEnd, key]);
  useLayoutEffect(pin);
  const onScroll = useCallback(() => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    // Content that grows takes nobody away from the end: only going up does.
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) following.current = true;
    else if (scrollTop < lastTop.current - 1) following.current = false;
    lastTop.current = scrollTop;
    setAway(!following.current);
  }, [box]);
  const leave = useCallback(() => {
    following.current = false;
    setAway(true);
  }, []);
  return { away, onScroll, toEnd, leave };
}
