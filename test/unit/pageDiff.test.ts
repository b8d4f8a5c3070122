/** Diffs in what tools say, files that go with a message, and the rows of a conversation. */
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { FILES_MAX, FILES_MAX_BYTES, fitting } from '../../web/chat/attachmentLimits.ts';
import { readDiff } from '../../web/chat/diff.ts';

t.test('the result of an edit becomes lines with their numbers, file by file', async (t) => {
  const files = readDiff(
    [
      '/a/one.ts changed',
      '@@ -3,3 +3,4 @@',
      ' same',
      '-old',
      '+new',
      '+more',
      ' end',
      '/a/two.ts changed (white space differed)',
      '@@ -1,1 +1,1 @@',
      '-x',
      '+y',
      '/a/three.ts created',
    ].join('\n'),
  );
  t.match(files, [
    { title: '/a/one.ts changed', added: 2, removed: 1 },
    { title: '/a/two.ts changed (white space differed)', added: 1, removed: 1 },
    { title: '/a/three.ts created', hunks: [] },
  ]);
  t.same(files![0]!.hunks[0]!.lines, [
    { kind: 'same', old: 3, now: 3, text: 'same' },
    { kind: 'removed', old: 4, now: null, text: 'old' },
    { kind: 'added', old: null, now: 4, text: 'new' },
    { kind: 'added', old: null, now: 5, text: 'more' },
    { kind: 'same', old: 5, now: 6, text: 'end' },
  ]);
});

t.test('a line that looks like a head of a file is content where the hunk says so', async (t) => {
  const [file] = readDiff(['--- a/x', '+++ b/x', '@@ -1,2 +1,2 @@', '--- old rule', '+++ new rule', ' @@ -1 +1 @@'].join('\n'))!;
  t.equal(file!.title, 'x');
  t.same(
    file!.hunks.map(({ lines }) => lines.map(({ kind, text }) => `${kind} ${text}`)),
    [['removed -- old rule', 'added ++ new rule', 'same @@ -1 +1 @@']],
  );
});

t.test('text without hunks is no diff, and a diff that was cut in its middle is read as far as it goes', async (t) => {
  t.equal(readDiff('nothing here\n+ one\n- two'), null);
  t.equal(readDiff('the words @@ - are not a head'), null);
  const [file] = readDiff('x changed\n@@ -1,9 +1,9 @@\n a\n-b\n[… 4000 characters left out …]\n+z')!;
  t.equal(file!.hunks[0]!.lines.length, 2);
});

t.test('files of one message are few and small enough for one frame, and the reason is said before anything is sent', async (t) => {
  t.ok((FILES_MAX_BYTES * 4) / 3 + limits.turn.promptMaxChars < limits.ipc.frameMaxBytes, 'as base64, with the longest text beside them');
  const file = (name: string, size: number) => ({ name, size });
  t.match(fitting([], [file('a', 1), file('b', 2)]), { taken: [{ name: 'a' }, { name: 'b' }], refused: null });
  t.match(fitting([file('there', FILES_MAX_BYTES - 5)], [file('big', 6), file('small', 5)]), {
    taken: [{ name: 'small' }],
    refused: /^big \(6 bytes\) does not fit/,
  });
  t.match(fitting([], [file('none', 0)]), { taken: [], refused: 'none is empty.' });
  const many = Array.from({ length: FILES_MAX + 1 }, (_, n) => file(`f${n}`, 1));
  const { taken, refused } = fitting([], many);
  t.equal(taken.length, FILES_MAX);
  t.match(refused, /^f20 is one too many/);
});
