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
  /**
   * Adds values that must never appear, also not as base64, cut by control sequences or line ends, or line by line;
   * short ones (under 6 characters) are ignored as too common.
   */
  learn(values: Iterable<string>): void;
}

/** What a terminal does not show may stand inside a value: colours and other control sequences, CR, NUL, marks without width. */
const INVISIBLE = '(?:\\x1b\\[|\\x9b)[0-9;:?]*[ -/]*[@-~]|[\\0\\r\\u00ad\\u200b\\u2060\\ufeff]';
const invisible = new RegExp(INVISIBLE, 'g');
/** The same, and line ends. */
const gap = new RegExp(`${INVISIBLE}|\\n`, 'g');

/** Below this a value, or a line of one, is too common. */
const VALUE_MIN = 6;
const LINE_MIN = 16;
/** Shorter values have no part in their base64 that is the same at every offset and rare. */
const ENCODED_MIN = 8;
/** Of longer ones the beginning is looked for; the rest of the run is hidden with it. */
const ENCODED_BYTES = 24;
/** Of so many values; each has up to six forms. */
const ENCODED_VALUES_MAX = 200;
/** A value of this length is looked for by both halves, so that one cut leaves one of them. */
const HALVES_MIN = 12;

export function createRedactor(): Redactor {
  const known = new Set<string>();
  const encoded = new Set<string>();
  let knownPattern: RegExp | undefined;
  const isKnown = (text: string): boolean => knownPattern !== undefined && text.search(knownPattern) >= 0;
  const values = (text: string): string => {
    if (!knownPattern) return text;
    const clean = text.replace(knownPattern, MARK);
    return clean.search(gap) < 0 ? clean : withoutCutValues(clean, knownPattern);
  };
  const redact = (text: string): string => {
    const clean = shapes(values(text));
    if (clean.search(invisible) < 0) return clean;
    // Where a shape shows only without them, they are left out of the whole text.
    const bare = clean.replace(invisible, '');
    const hidden = isSuspect(bare) ? shapes(bare) : bare;
    return hidden === bare ? clean : hidden;
  };
  let generation = 0;
  return Object.defineProperty(
    Object.assign(redact, {
      generation,
      values,
      suspects(text: string): boolean {
        if (isSuspect(text) || isKnown(text)) return true;
        return text.search(gap) >= 0 && (isSuspect(text.replace(invisible, '')) || isKnown(text.replace(gap, '')));
      },
      mark(pairs: Uint8Array, bit: number) {
        for (const sign of SIGNS) markSign(pairs, bit, sign.charCodeAt(0));
        for (const triple of TRIPLES) markTriple(pairs, bit, Buffer.from(triple));
        for (const value of [...known, ...encoded])
          for (const part of halvesOf(Buffer.from(value))) markTriple(pairs, bit, rareTriple(part));
      },
      learn(fresh: Iterable<string>) {
        const before = known.size;
        for (const value of fresh) for (const part of partsOf(value)) known.add(part);
        if (known.size === before) return;
        encoded.clear();
        for (const value of [...known].slice(0, ENCODED_VALUES_MAX)) for (const form of encodedForms(value)) encoded.add(form);
        knownPattern = new RegExp([anyOf(known), ...(encoded.size ? [`(?:${anyOf(encoded)})[A-Za-z0-9+/=_-]*`] : [])].join('|'), 'g');
        generation++;
      },
    }),
    'generation',
    { get: () => generation },
  );
}

function shapes(text: string): string {
  let clean = text;
  for (const [pattern, replacement] of PATTERNS) clean = clean.replace(pattern, replacement);
  return clean;
}

/** The longer ones first. */
const anyOf = (texts: Iterable<string>): string =>
  [...texts]
    .toSorted((a, b) => b.length - a.length)
    .map((text) => RegExp.escape(text))
    .join('|');

/** A value, and each line of one that has several, such as a private key. */
function partsOf(value: string): string[] {
  if (value.length < VALUE_MIN) return [];
  const lines = value.split(/\r?\n/);
  return lines.length === 1 ? [value] : [value, ...lines.filter((line) => line.length >= LINE_MIN && !line.startsWith('-----'))];
}

/** What the base64 of any text has that holds the value, whatever stands before it. */
function encodedForms(value: string): string[] {
  const bytes = Buffer.from(value);
  if (bytes.length < ENCODED_MIN || value.includes('\n')) return [];
  return [0, 1, 2].flatMap((offset) => {
    const some = Buffer.concat([Buffer.alloc(offset), bytes.subarray(0, ENCODED_BYTES)]);
    // The first and the last sign also hold bits of their neighbours.
    const form = some.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((some.length * 8) / 6));
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Hides known values that have something between their characters; line ends stay, so that lines can be counted. */
function withoutCutValues(text: string, pattern: RegExp): string {
  const whole = text.replace(gap, '');
  // Asked first: to list the matches compiles the expression again.
  if (whole.search(pattern) < 0) return text;
  const found = [...whole.matchAll(pattern)];
  const gaps = [...text.matchAll(gap)];
  let passed = 0;
  let removed = 0;
  /** Where a character of `whole` stands in `text`; asked in ascending order. */
  const placeOf = (index: number): number => {
    for (; passed < gaps.length && gaps[passed]!.index - removed <= index; passed++) removed += gaps[passed]![0].length;
    return index + removed;
  };
  let clean = '';
  let at = 0;
  for (const { index, 0: value } of found) {
    const start = placeOf(index);
    const end = placeOf(index + value.length - 1) + 1;
    const lines = text.slice(start, end).split('\n').length;
    clean += text.slice(at, start) + Array.from({ length: lines }, () => MARK).join('\n');
    at = end;
  }
  return clean + text.slice(at);
}

const halvesOf = (value: Buffer): Buffer[] =>
  value.length < HALVES_MIN ? [value] : [value.subarray(0, value.length >> 1), value.subarray(value.length >> 1)];

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
