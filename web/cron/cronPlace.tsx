/** Jobs, when they run next, how they ran, and blueprints to make them from. */
import { PlaceHeader } from '../app/header.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';

export function CronPlace() {
  return (
    <>
      <PlaceHeader title="Scheduled jobs" />
      <PlaceBody>
        <Skeleton lines={4} />
      </PlaceBody>
    </>
  );
}
