/** config.yaml as a form made from its schema, and as text. */
import { PlaceHeader } from '../app/header.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';

export function ConfigPlace() {
  return (
    <>
      <PlaceHeader title="Config" />
      <PlaceBody>
        <Skeleton lines={4} />
      </PlaceBody>
    </>
  );
}
