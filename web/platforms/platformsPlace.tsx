/** Chat platforms of the gateway: how each is, and how to set it up. */
import { PlaceHeader } from '../app/header.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';

export function PlatformsPlace() {
  return (
    <>
      <PlaceHeader title="Chat platforms" />
      <PlaceBody>
        <Skeleton lines={4} />
      </PlaceBody>
    </>
  );
}
