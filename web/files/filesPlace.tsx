/** Files below the root that the configuration names. */
import { PlaceHeader } from '../app/header.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';

export function FilesPlace() {
  return (
    <>
      <PlaceHeader title="Files" />
      <PlaceBody>
        <Skeleton lines={4} />
      </PlaceBody>
    </>
  );
}
