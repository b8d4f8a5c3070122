/** Schemas that are made when first asked: nothing before, and then what zod itself would have made. */
import t from 'tap';
import { z as zod } from 'zod';
import { z } from '../../base/lazyZod.ts';
import { Config } from '../../state/config/schema.ts';

t.test('a schema is made when something of it is first asked, once', async (t) => {
  let made = 0;
  const shape = {
    get name() {
      made++;
      return z.string();
    },
  };
  const schema = z.array(z.object(shape).optional()).min(1).nullable();
  t.equal(made, 0, 'not while it is declared');
  t.same(schema.parse([{ name: 'a' }]), [{ name: 'a' }]);
  t.same(schema.parse(null), null);
  t.equal(made, 1);
});

t.test('it checks, defaults and tells like the schema of zod', async (t) => {
  const of = (from: typeof z) =>
    from.object({
      mode: from.enum(['a', 'b']).default('a'),
      count: from.number().int().min(1).max(9).optional(),
      name: from
        .string()
        .regex(/^[a-z]+$/, 'small letters')
        .refine((name) => name !== 'root', 'taken'),
      either: from.union([from.literal('none'), from.strictObject({ at: from.url() })]).nullish(),
      more: from.record(from.string(), from.unknown()).optional(),
      env: from.record(from.string(), from.coerce.string()).catch({}),
      page: from.coerce.number().max(9).default(1),
      on: from.stringbool().optional(),
      at: from.union([from.iso.datetime(), from.null()]).optional(),
      kind: from
        .discriminatedUnion('is', [
          from.object({ is: from.literal('a') }).extend({ more: from.string().trim().readonly() }),
          from.object({ is: from.literal('b'), less: from.array(from.number()) }).partial({ less: true }),
        ])
        .optional(),
    });
  const [lazy, real] = [of(z), of(zod)];
  for (const value of [
    { name: 'x', count: 3, either: { at: 'http://a.b' }, env: { A: 1 } },
    { name: 'root', env: 4 },
    { name: 'X', count: 10, mode: 'c' },
    { either: { at: 'http://a.b', b: 1 } },
    { name: 'x', page: '3', on: 'yes', at: '2026-11-21T10:00:00Z', kind: { is: 'a', more: ' x ' } },
    { name: 'x', page: 10, on: 'perhaps', at: 'noon', kind: { is: 'a' } },
    { name: 'x', at: null, kind: { is: 'b' } },
    { name: 'x', kind: { is: 'c' } },
    undefined,
  ]) {
    const [a, b] = [lazy.safeParse(value), real.safeParse(value)];
    t.same(a.data, b.data);
    t.same(a.error?.issues, b.error?.issues);
  }
  t.same(zod.toJSONSchema(lazy, { io: 'input' }), zod.toJSONSchema(real, { io: 'input' }));
});

t.test('it can stand where a schema stands, and be looked into', async (t) => {
  const inner = z.object({ a: z.string() });
  t.ok(inner instanceof zod.ZodObject);
  t.same(zod.array(inner).parse([{ a: 'x' }]), [{ a: 'x' }]);
  t.ok(zod.object({ inner: inner.optional() }).safeParse({}).success);
  t.ok(Object.keys(Config.shape).includes('services'));
  t.ok(Config.shape.services instanceof zod.ZodOptional);
});
