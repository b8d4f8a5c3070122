/** Which model answers, and the keys of the providers. */
import { PlaceHeader } from '../app/header.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';

export function ModelsPlace() {
  return (
    <>
      <PlaceHeader title="Models and keys" />
      <PlaceBody>
        <Skeleton lines={4} />
      </PlaceBody>
    </>
  );
}
