/** Tool servers: which there are, how each is, and a catalogue to add from. */
import { PlaceHeader } from '../app/header.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';

export function McpPlace() {
  return (
    <>
      <PlaceHeader title="MCP servers" />
      <PlaceBody>
        <Skeleton lines={4} />
      </PlaceBody>
    </>
  );
}
