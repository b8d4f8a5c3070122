/** Checks of the whole installation, each with its remedy. */
import { PlaceHeader } from '../app/header.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';

export function DoctorPlace() {
  return (
    <>
      <PlaceHeader title="Doctor" />
      <PlaceBody>
        <Skeleton lines={4} />
      </PlaceBody>
    </>
  );
}
