/** What the schema finds wrong with a value, in words for people: what is wrong, and what the setting takes. */

export interface Issue {
  code: string;
  path: (string | number)[];
  message: string;
  expected?: string;
  values?: unknown[];
  /** Of what a bound is: number, string, array. */
  origin?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  /** False: the bound itself is not allowed. */
  inclusive?: boolean;
  keys?: string[];
  errors?: Issue[][];
  issues?: Issue[];
}

/** Unions bury the useful issue one level down: it is in the branch that got furthest. */
export function deepest(issue: Issue): Issue[] {
  // A name that a map does not take: what is wrong with it stands inside.
  if (issue.code === 'invalid_key' && issue.issues?.[0]) return [{ ...issue, message: issue.issues[0].message }];
  const branches = issue.errors?.filter((branch) => branch.length > 0) ?? [];
  if (branches.length === 0) return [issue];
  const depth = Math.max(...branches.map((branch) => branch[0]!.path.length));
  const furthest = branches.filter((branch) => branch[0]!.path.length === depth);
  const inner = furthest[0]!.flatMap((one) => deepest({ ...one, path: [...issue.path, ...one.path] }));
  const types = furthest.flatMap((branch) => branch[0]!.expected ?? []);
  if (types.length < 2) return inner;
  const expected = types.map(articled).join(' or ');
  return [{ ...inner[0]!, expected, message: `Invalid input: expected ${expected}` }];
}

/** What is wrong, in place of the schema library's words; a message of the schema's own stays. */
export function wordsOf({ code, message, expected, values, origin, format }: Issue): string {
  if (expected && message.startsWith('Invalid input')) return `must be ${articled(expected)}`;
  if (values) return 'not a known value';
  if (/^Too (?:small|big)/.test(message)) {
    const isText = origin === 'string' || origin === 'array';
    return isText ? `too ${code === 'too_small' ? 'short' : 'long'}` : 'out of range';
  }
  return format === 'url' ? 'not an address' : message;
}

export function fixOf(key: string, issue: Issue): string {
  if (issue.values) return `write one of ${issue.values.map(String).join(', ')} for ${key}`;
  if (issue.expected) return `${key} takes ${articled(issue.expected)}`;
  if (issue.keys) return `remove ${issue.keys.join(', ')}, or correct the name`;
  if (issue.format === 'url') return `${key} takes an address such as https://example.org/v1`;
  const bound = boundOf(issue);
  return bound ? `${key} takes ${bound}` : `\`agent config explain\` says what ${key} takes`;
}

/** `a number of at most 65535`, `a number greater than 0`, `at least 1 sign`. */
function boundOf({ code, origin, minimum, maximum, inclusive = true }: Issue): string | undefined {
  const [words, size] = code === 'too_small' ? ['at least', minimum] : code === 'too_big' ? ['at most', maximum] : [undefined, undefined];
  if (words === undefined || size === undefined) return undefined;
  const unit = origin === 'string' ? 'sign' : origin === 'array' ? 'entry' : undefined;
  if (unit === undefined && !inclusive) return `a number ${code === 'too_small' ? 'greater' : 'less'} than ${size}`;
  if (unit === undefined) return `a number of ${words} ${size}`;
  return `${words} ${size} ${size === 1 ? unit : unit === 'entry' ? 'entries' : 'signs'}`;
}

export const articled = (type: string): string =>
  type.includes(' ')
    ? type
    : ({
        record: 'a map of names',
        object: 'a map of keys',
        array: 'a list, for example [a, b]',
        boolean: 'true or false',
        int: 'a whole number',
      }[type] ?? `a ${type}`);
