/** Names of the files in the home that hold secrets, as they are and as editors and people leave copies of them beside. */

/** `.env`, `.env~`, `.env.bak`, `.env.swp`, `..env.un~`, `#.env#`, `.#.env`, `.env_old`, `.auth.json.swp`; for `.envrc` the name goes on. */
const SECRET = /^(?:#|\.#?)?(?:\.env|auth\.json)(?:[^a-z].*)?$/i;

/** What is written to be filled in holds none. */
const TEMPLATE = /^\.env[._-](?:example|sample|template|dist)$/i;

/** By the last part of a path; a shell pattern counts as what it begins with. */
export const isSecretFileName = (name: string): boolean => SECRET.test(name) && !TEMPLATE.test(name);

/** Copies that a pattern may mean (`*~`, `.e*.bak`). */
export const secretFileNames: readonly string[] = ['.env', 'auth.json'].flatMap((name) => [
  name,
  ...['~', '.bak', '.old', '.orig', '.save', '.swp', '.tmp'].map((ending) => name + ending),
  `#${name}#`,
]);
