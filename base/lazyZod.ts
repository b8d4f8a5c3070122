/**
 * zod's builders for contracts and settings of which most processes use little: a call is only noted, and the
 * schema is made when something of it is first asked. Making them all took 22 of the 45 ms that the supervisor
 * needed to load, and 40 of the 250 ms of CPU that the dashboard worker starts with (measured), for checks that a
 * boot never makes. To its users a noted schema is the schema.
 */
import { z as zod } from 'zod';

/** What is used so far; a name that is missing here is added with its first use, so that a bundle holds no more of zod. */
const builders = {
  array: zod.array,
  boolean: zod.boolean,
  coerce: { number: zod.coerce.number, string: zod.coerce.string },
  discriminatedUnion: zod.discriminatedUnion,
  enum: zod.enum,
  iso: { datetime: zod.iso.datetime },
  literal: zod.literal,
  looseObject: zod.looseObject,
  null: zod.null,
  number: zod.number,
  object: zod.object,
  record: zod.record,
  strictObject: zod.strictObject,
  string: zod.string,
  stringbool: zod.stringbool,
  union: zod.union,
  unknown: zod.unknown,
  url: zod.url,
};

/** Methods that make another schema of one: noted too. Every other use makes the schema. */
const CHAINED: ReadonlySet<PropertyKey> = new Set([
  'optional',
  'nullable',
  'nullish',
  'default',
  'catch',
  'int',
  'min',
  'max',
  'positive',
  'regex',
  'refine',
  'extend',
  'omit',
  'partial',
  'readonly',
  'trim',
]);

type Schema = Record<PropertyKey, unknown>;
type Build = (...args: unknown[]) => Schema;

/** How to make it; then what was made. */
interface Noted {
  make: () => Schema;
  made: Schema | undefined;
}

const NOTED = Symbol('noted');

const handler: ProxyHandler<Noted> = {
  get(noted, name) {
    if (name === NOTED) return noted;
    if (CHAINED.has(name)) return (...args: unknown[]) => note(() => (schemaOf(noted)[name] as Build)(...args.map(resolved)));
    const value = schemaOf(noted)[name];
    return typeof value === 'function' ? value.bind(schemaOf(noted)) : value;
  },
  has: (noted, name) => name in schemaOf(noted),
  getPrototypeOf: (noted) => Object.getPrototypeOf(schemaOf(noted)),
};

const note = (make: () => Schema): unknown => new Proxy<Noted>({ make, made: undefined }, handler);

const schemaOf = (noted: Noted): Schema => (noted.made ??= noted.make());

/** With the schemas themselves where noted ones stand, also in a shape or a list. */
function resolved(arg: unknown): unknown {
  if (typeof arg !== 'object' || arg === null) return arg;
  const noted = (arg as { [NOTED]?: Noted })[NOTED];
  if (noted) return schemaOf(noted);
  if (Array.isArray(arg)) return arg.map(resolved);
  if (Object.getPrototypeOf(arg) !== Object.prototype) return arg;
  return Object.fromEntries(Object.entries(arg).map(([name, value]) => [name, resolved(value)]));
}

const noting =
  (build: Build) =>
  (...args: unknown[]) =>
    note(() => build(...args.map(resolved)));

const notingAll = (table: object): object =>
  Object.fromEntries(
    Object.entries(table).map(([name, build]) => [name, typeof build === 'function' ? noting(build as Build) : notingAll(build as object)]),
  );

export const z = notingAll(builders) as typeof builders;

export declare namespace z {
  type infer<T> = zod.infer<T>;
}
