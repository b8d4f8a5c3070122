/** Separate agents on this machine: their models, skills, tools and memory. */
import { PlaceHeader } from '../app/header.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';

export function ProfilesPlace() {
  return (
    <>
      <PlaceHeader title="Profiles" />
      <PlaceBody>
        <Skeleton lines={4} />
      </PlaceBody>
    </>
  );
}
