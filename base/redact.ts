/**
 * Keeps secrets out of everything that reaches disk or a screen: values known to be secret, and
 * patterns of common credentials. Applied at the log writer, so no caller can forget it.
 */

export const MARK = '[redacted]';

/** Names before the value of a credential. */
const FIELD = 'api[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|client[_-]?secret|password|passwd';

/** A value that is to be filled in (`…`, `...`, `<your key>`, `${NAME}`) is advice and not a secret. */
const PLACEHOLDER = '(?:…|\\.\\.\\.)(?=[\\s"\'),;]|$)|<[^<>]*>|\\$\\{[A-Za-z_][A-Za-z0-9_:]*\\}';

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
  [new RegExp(`\\b([A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD))=(?!${PLACEHOLDER})("[^"]*"|'[^']*'|[^\\s"']+)`, 'g'), `$1=${MARK}`],
  // Bodies and options of other programs: --password=…, api_key: …, "client_secret":"…"; a colon alone is also prose.
  [new RegExp(`((?:\\b|_)(?:${FIELD})=\\\\?["']?)(?!\\[redacted\\]|${PLACEHOLDER})[^\\s"',;}&\\\\]+`, 'gi'), `$1${MARK}`],
  [
    new RegExp(
      `((?:\\b|_)(?:${FIELD})\\\\?["']?\\s?:\\s?\\\\?["']?)(?!${PLACEHOLDER})(?=[^\\s"',;}&\\\\]*\\d|[^\\s"',;}&\\\\]{16})[^\\s"',;}&\\\\]+`,
      'gi',
    ),
    `$1${MARK}`,
  ],
  [/(:\/\/[^/\s:@"']+:)[^@\s/"']+@/g, `$1${MARK}@`],
];

/**
 * What some part of any text that PATTERNS change must match: small expressions, which the engine scans with vector
 * instructions (measured: 100 MB in 15 to 50 ms each; all of PATTERNS take twenty times as long, and one expression
 * of all these ten times). Prose may match too.
 */
const SUSPECTS: RegExp[] = [
  /[Bb]earer|[Bb]asic|BEARER|BASIC/,
  /AKIA|AIza|eyJ/,
  /[spr]k-/,
  /gh[pousr]_/,
  /xox[a-z]-|-BEGIN/,
  /\d\d\d\d\d\d:/,
  /:\/\/[^/\s:@"']+:[^@\s/"']+@/,
];
const WORD = /key|token|ticket|secret|passw/i;
/** Of the words alone only those count that have a value. */
const WORD_WITH_VALUE = /(?:key|token|ticket|secret|password|passwd)(?:=|\\?["']?\s?:)/i;

/** Every text that PATTERNS change has one of these signs, … */
const SIGNS = '-_:=';
/** … or one of these letters in a row. */
const TRIPLES = ['KIA', 'Iza', 'eyJ', 'ear', 'EAR', 'asi', 'ASI'];

const isSuspect = (text: string): boolean =>
  SUSPECTS.some((pattern) => pattern.test(text)) || (WORD.test(text) && WORD_WITH_VALUE.test(text));

/** Names of log fields whose text is always a secret; narrower than SECRET_NAME, which would hide `session_key`. */
export const SECRET_FIELD = /(?:^|[_-])(?:api_?key|token|secret|password|passwd|cookie|authorization|credentials?)$/i;

/** Names of variables and fields whose values are secrets. */
export const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|COOKIE)S?$/i;

export interface Redactor {
  (text: string): string;
  /** Only the values it was told of: for texts in which what merely looks like a credential must stay, such as files. */
  values(text: string): string;
  /** False when the text certainly stays as it is: a scan of whole blocks, far cheaper than redacting them. */
  suspects(text: string): boolean;
  /**
   * Sets `bit` in a table of all pairs of bytes (low byte first) so that a text without a marked pair at its even
   * offsets certainly stays as it is: for those who look at every byte anyway.
   */
  mark(pairs: Uint8Array, bit: number): void;
  /** Counts up with every `learn`: what was marked before is out of date. */
  readonly generation: number;
  /** Adds values that must never appear; short ones (under 6 characters) are ignored as too common. */
  learn(values: Iterable<string>): void;
}

export function createRedactor(): Redactor {
  const known = new Set<string>();
  let knownPattern: RegExp | undefined;
  const values = (text: string): string => (knownPattern ? text.replace(knownPattern, MARK) : text);
  const redact = (text: string): string => {
    let clean = values(text);
    for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement);
    return clean;
  };
  let generation = 0;
  return Object.defineProperty(
    Object.assign(redact, {
      generation,
      values,
      suspects: (text: string) => isSuspect(text) || (knownPattern !== undefined && text.search(knownPattern) >= 0),
      mark(pairs: Uint8Array, bit: number) {
        for (const sign of SIGNS) markSign(pairs, bit, sign.charCodeAt(0));
        for (const triple of TRIPLES) markTriple(pairs, bit, Buffer.from(triple));
        for (const value of known) markTriple(pairs, bit, rareTriple(Buffer.from(value)));
      },
      learn(values: Iterable<string>) {
        const before = known.size;
        for (const value of values) if (value.length >= 6) known.add(value);
        if (known.size === before) return;
        const sources = [...known].toSorted((a, b) => b.length - a.length).map((v) => RegExp.escape(v));
        knownPattern = sources.length ? new RegExp(sources.join('|'), 'g') : undefined;
        generation++;
      },
    }),
    'generation',
    { get: () => generation },
  );
}

function markSign(pairs: Uint8Array, bit: number, byte: number): void {
  for (let other = 0; other < 256; other++) {
    pairs[byte | (other << 8)]! |= bit;
    pairs[other | (byte << 8)]! |= bit;
  }
}

/** Three bytes in a row have a whole pair of theirs at an even offset, wherever they begin. */
function markTriple(pairs: Uint8Array, bit: number, [a, b, c]: Uint8Array): void {
  pairs[a! | (b! << 8)]! |= bit;
  pairs[b! | (c! << 8)]! |= bit;
}

/** Of a known value the three bytes that prose has least: a digit beside a letter, else whatever comes first. */
function rareTriple(value: Buffer): Uint8Array {
  const at = /[a-z]\d[a-z]|\d[a-z]\d|[A-Z]\d|\d[A-Z]|[a-z][A-Z]/.exec(value.toString('latin1'))?.index ?? 0;
  return value.subarray(Math.min(at, value.length - 3));
}
