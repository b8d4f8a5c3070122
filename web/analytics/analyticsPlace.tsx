/** Tokens and cost over time, by model and by day. */
import { PlaceHeader } from '../app/header.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';

export function AnalyticsPlace() {
  return (
    <>
      <PlaceHeader title="Analytics" />
      <PlaceBody>
        <Skeleton lines={4} />
      </PlaceBody>
    </>
  );
}
