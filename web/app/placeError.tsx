/** A place that failed to draw: the rest of the page goes on, and there is a way back. */
import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { Button } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { PlaceBody } from '../ui/place.tsx';
import { PlaceHeader } from './header.tsx';

export function PlaceError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const again = () => {
    reset();
    void router.invalidate();
  };
  return (
    <>
      <PlaceHeader title="This place failed" />
      <PlaceBody>
        <Notice tone="bad" title="The page could not draw this" actions={<Button onClick={again}>Try again</Button>}>
          <p className="font-mono text-[0.8125rem] break-words">{error instanceof Error ? error.message : String(error)}</p>
          <p>Nothing is lost: the service goes on. If it stays, load the page again; after an update its parts may have changed.</p>
        </Notice>
      </PlaceBody>
    </>
  );
}
