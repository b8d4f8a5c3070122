/**
 * Keeps secrets out of everything that reaches disk or a screen: values known to be secret, and
 * patterns of common credentials. Applied at the log writer, so no caller can forget it.
 */

export const MARK = '[redacted]';

/** Names before the value of a credential. */
const FIELD = 'api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|client[_-]?secret|password|passwd';

/** Shapes of credentials that are recognisable without knowing their value. */
const PATTERNS: [RegExp, string][] = [
  [/\b(sk|pk|rk)-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}/g, MARK],
  [/\bgh[pousr]_[A-Za-z0-9]{20,}/g, MARK],
  [/\bxox[abeprs]-[A-Za-z0-9-]{10,}/g, MARK],
  [/\bAKIA[0-9A-Z]{16}\b/g, MARK],
  [/\bAIza[0-9A-Za-z_-]{30,}/g, MARK],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g, MARK],
  [/\b\d{6,}:[A-Za-z0-9_-]{30,}/g, MARK],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, MARK],
  // A credential has a digit, a `=` or a capital inside; the word after "basic" in a sentence has none.
  [/\b([Bb]earer|[Bb]asic|BEARER|BASIC)\s+(?=[A-Za-z+/._~-]*(?:[0-9=]|[a-z][A-Z]))[A-Za-z0-9+/._~=-]{12,}/g, `$1 ${MARK}`],
  [/([?&](?:token|ticket|key|secret|password|access_token|api_key)=)[^&\s"']+/gi, `$1${MARK}`],
  [/\b([A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD))=("[^"]*"|'[^']*'|[^\s"']+)/g, `$1=${MARK}`],
  // Bodies and options of other programs: --password=…, api_key: …, "client_secret":"…"; a colon alone is also prose.
  [new RegExp(`((?:\\b|_)(?:${FIELD})=\\\\?["']?)(?!\\[redacted\\])[^\\s"',;}&\\\\]+`, 'gi'), `$1${MARK}`],
  [
    new RegExp(`((?:\\b|_)(?:${FIELD})\\\\?["']?\\s?:\\s?\\\\?["']?)(?=[^\\s"',;}&\\\\]*\\d|[^\\s"',;}&\\\\]{16})[^\\s"',;}&\\\\]+`, 'gi'),
    `$1${MARK}`,
  ],
  [/(:\/\/[^/\s:@"']+:)[^@\s/"']+@/g, `$1${MARK}@`],
];

/** Names of log fields whose text is always a secret; narrower than SECRET_NAME, which would hide `session_key`. */
export const SECRET_FIELD = /(?:^|[_-])(?:api_?key|token|secret|password|passwd|cookie|authorization|credentials?)$/i;

/** Names of variables and fields whose values are secrets. */
export const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|COOKIE)S?$/i;

export interface Redactor {
  (text: string): string;
  /** Adds values that must never appear; short ones (under 6 characters) are ignored as too common. */
  learn(values: Iterable<string>): void;
}

export function createRedactor(): Redactor {
  const known = new Set<string>();
  let knownPattern: RegExp | undefined;
  const redact = (text: string): string => {
    let clean = knownPattern ? text.replace(knownPattern, MARK) : text;
    for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement);
    return clean;
  };
  return Object.assign(redact, {
    learn(values: Iterable<string>) {
      for (const value of values) if (value.length >= 6) known.add(value);
      const sources = [...known].toSorted((a, b) => b.length - a.length).map((v) => RegExp.escape(v));
      knownPattern = sources.length ? new RegExp(sources.join('|'), 'g') : undefined;
    },
  });
}
