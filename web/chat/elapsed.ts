/** How long something has been going on, in words that change each second. */
import { useEffect, useState } from 'react';
import { duration } from '../app/format.ts';

/** Empty in the first second. */
export function useElapsed(since: number): string {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tick = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(tick);
  }, []);
  const seconds = Math.max(0, Math.floor((now - since) / 1_000));
  return seconds > 0 ? duration(seconds * 1_000).replace('.0', '') : '';
}
