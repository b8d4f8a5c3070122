/** The scrolling column of a conversation: stays at the end while the reader is there, and only then. */
import { ArrowDown } from 'lucide-react';
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import { Button } from '../ui/button.tsx';

/** This near to the end counts as at the end, in pixels: a line of text. */
const NEAR_PX = 32;

export function Scroller({ followKey, children }: { followKey: number; children: ReactNode }) {
  const outer = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const [away, setAway] = useState(false);

  const toEnd = () => {
    const box = outer.current;
    if (box) box.scrollTop = box.scrollHeight;
  };
  useEffect(() => {
    const observer = new ResizeObserver(() => following.current && toEnd());
    observer.observe(inner.current!);
    observer.observe(outer.current!);
    return () => observer.disconnect();
  }, []);
  // The reader sent something: it is shown, wherever the reader was.
  useLayoutEffect(() => {
    following.current = true;
    toEnd();
  }, [followKey]);

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={outer}
        className="h-full overflow-y-auto overscroll-contain"
        onScroll={({ currentTarget: box }) => {
          following.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX;
          setAway(!following.current);
        }}
      >
        <div ref={inner} role="log" aria-label="Conversation" className="mx-auto grid w-full max-w-3xl gap-5 px-4 py-6 md:px-6">
          {children}
        </div>
      </div>
      {away && (
        <Button
          className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-raised"
          icon={<ArrowDown size={15} />}
          onClick={() => {
            following.current = true;
            toEnd();
          }}
        >
          To the end
        </Button>
      )}
    </div>
  );
}
