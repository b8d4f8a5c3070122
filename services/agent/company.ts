/** The agent of another profile starts on demand; it leaves when it has had neither work nor a person for a while. */
import { limits } from '../../base/limits.ts';
import type { Link } from '../../ipc/link.ts';
import type { WorkerContext } from '../worker.ts';
import { DEFAULT_PROFILE } from '../../state/home.ts';

export interface Company extends Disposable {
  enter(link: Link): void;
}

/** `work`: how much runs right now. */
export function watchCompany(context: WorkerContext, work: () => number): Company {
  // That of the default profile is wanted all the time, and without a supervisor nobody would start it again.
  if (context.profile === DEFAULT_PROFILE || context.external) return { enter() {}, [Symbol.dispose]() {} };
  const idleMs = context.config().config.supervisor?.workers?.agent?.idle_ms ?? limits.profiles.idleMs;
  const people = new Set<Link>();
  let quietSince = performance.now();
  const look = setInterval(
    () => {
      if (people.size > 0 || work() > 0) quietSince = performance.now();
      else if (performance.now() - quietSince >= idleMs) context.leave(`nobody has needed it for ${idleMs} ms`);
    },
    Math.max(100, idleMs / LOOKS),
  ).unref();
  return {
    enter(link) {
      quietSince = performance.now();
      // Other workers keep their links open for the next call and dial again when they need to.
      if (!link.peer.relay && link.peer.slot !== 'cli') return;
      people.add(link);
      void link.closed.then(() => {
        people.delete(link);
        quietSince = performance.now();
      });
    },
    [Symbol.dispose]: () => clearInterval(look),
  };
}

const LOOKS = 10;
