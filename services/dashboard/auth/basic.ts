/**
 * User name and password, for trusted networks: one user, kept as a scrypt hash. A wrong name costs what a
 * wrong password costs, and checks are queued, because each takes memory and a thread.
 */
import { timingSafeEqual } from 'node:crypto';
import { AgentError } from '../../../base/errors.ts';
import { digest } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';
import { dummyHash, verifyPassword } from '../../../base/passwordHash.ts';
import type { BasicSettings } from '../../../state/config/signIn.ts';
import type { PasswordProvider } from './provider.ts';

export function createBasic(settings: BasicSettings): PasswordProvider {
  const { username, hash, password, sessionSeconds } = settings;
  const nobody = dummyHash(hash);
  const inTurn = createTurns();
  return {
    kind: 'password',
    id: settings.id,
    label: 'User name and password',
    fingerprint: digest(JSON.stringify([username, hash?.key.toString('hex') ?? digest(password ?? '')])),
    sessionSeconds,
    async check(name, given) {
      const knownName = same(name, username);
      const right = await inTurn(async () => {
        if (hash) return verifyPassword(given, knownName ? hash : nobody);
        // In plain text there is nothing to compute; the dummy keeps the cost of a guess.
        await verifyPassword(given, nobody);
        return same(given.normalize('NFC'), (password ?? '').normalize('NFC'));
      });
      if (!knownName || !right) return null;
      return { user_id: username, email: '', display_name: username, org_id: '', provider: settings.id };
    },
  };
}

/** Compared by digest: neither length nor content shows in the time it takes. */
const same = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(digest(a)), Buffer.from(digest(b)));

/** Runs a few at once, lets a few wait. Errors: QUEUE_FULL for the rest. */
function createTurns(): <T>(run: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (run) => {
    if (running >= limits.signIn.checksAtOnce) {
      if (waiting.length >= limits.signIn.checksWaiting)
        throw new AgentError('QUEUE_FULL', 'too many sign-ins at once', { retryAfterMs: 2_000, fix: 'try again in a moment' });
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
