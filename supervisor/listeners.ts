/**
 * TCP addresses that outlive the workers that serve them (stack §4): bound here and never listened on
 * here; a worker inherits the descriptor and listens. While it is replaced, or after it was killed, new
 * connections wait in the kernel instead of being refused. A slot that is down or parked holds none.
 */
import net from 'node:net';
import type { Logger } from '../base/log.ts';
import type { ListenerSpec, SlotSpec } from './spec.ts';

/** What node's own cluster module uses; not in its types. Answers a handle, or a negative errno. */
type CreateServerHandle = (address: string, port: number, addressType: 4 | 6, fd: null, flags: number) => BoundHandle | number;

interface BoundHandle {
  fd: number;
  /** Fills in where it is bound; answers an errno. */
  getsockname(out: { port?: number }): number;
  unref(): void;
  close(): void;
}

export class Listeners implements Disposable {
  #bound = new Map<string, BoundHandle>();
  #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * The descriptors for the next incarnation of a slot. An address that cannot be bound (taken by a
   * stranger, or by a worker of an earlier supervisor) is left out: the worker tries by itself and says why.
   */
  of(spec: SlotSpec): { name: string; fd: number }[] {
    this.#drop(spec.slot, spec.listeners);
    return spec.listeners.flatMap((listener) => {
      const handle = this.#bind(spec.slot, listener);
      return handle ? [{ name: listener.name, fd: handle.fd }] : [];
    });
  }

  /** True when every address of the slot is held here, so that two of its processes can serve at once. */
  holds(spec: SlotSpec): boolean {
    return spec.listeners.length > 0 && spec.listeners.every((listener) => this.#bound.has(keyOf(spec.slot, listener)));
  }

  /**
   * A connection waits for a process that is being replaced. Of a slot that is down or parked the addresses are closed:
   * connections are refused until it starts again.
   */
  follow({ state, spec }: { state: string; spec: Pick<SlotSpec, 'slot'> }): void {
    if (state === 'down' || state === 'parked') this.#drop(spec.slot, []);
  }

  [Symbol.dispose](): void {
    for (const handle of this.#bound.values()) handle.close();
    this.#bound.clear();
  }

  #bind(slot: string, listener: ListenerSpec): BoundHandle | undefined {
    const key = keyOf(slot, listener);
    const held = this.#bound.get(key);
    if (held) return held;
    const create = (net as unknown as { _createServerHandle?: CreateServerHandle })._createServerHandle;
    const made = create?.(listener.host, listener.port, net.isIPv6(listener.host) ? 6 : 4, null, 0);
    if (typeof made !== 'object' || !isBound(made, listener.port)) {
      if (typeof made === 'object') made.close();
      this.#log.debug(`${listener.host}:${listener.port} is not held for ${slot}`);
      return undefined;
    }
    made.unref();
    this.#bound.set(key, made);
    return made;
  }

  #drop(slot: string, keep: readonly ListenerSpec[]): void {
    const kept = new Set(keep.map((listener) => keyOf(slot, listener)));
    for (const [key, handle] of this.#bound) {
      if (!key.startsWith(`${slot} `) || kept.has(key)) continue;
      handle.close();
      this.#bound.delete(key);
    }
  }
}

/** libuv keeps "address in use" to itself until somebody listens; an unbound socket would then listen anywhere. */
function isBound(handle: BoundHandle, port: number): boolean {
  const at: { port?: number } = {};
  return handle.getsockname(at) === 0 && (port === 0 ? Boolean(at.port) : at.port === port);
}

const keyOf = (slot: string, { name, host, port }: ListenerSpec): string => `${slot} ${name} ${host} ${port}`;
