/** Files below one root (`dashboard.files_root`) over HTTP (reference/clients §1.4): nothing outside of it, no secret of the service. */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { Profile } from './profileField.ts';

/** Absolute, or from the root on. */
const Path = z
  .string()
  .max(4_096)
  .refine((path) => !path.includes('\0'), 'a path holds no NUL');
const refusals = ['PATH_REFUSED', 'NOT_FOUND', 'FILE_FAILED'] as const;

const Entry = z.object({
  name: z.string(),
  path: z.string(),
  is_directory: z.boolean(),
  /** A link; followed only where it stays below the root. */
  is_link: z.boolean(),
  /** Bytes; 0 for a folder. */
  size: z.number(),
  mtime: z.string(),
  mime_type: z.string().nullable(),
});

export const listFiles = httpRoute('GET /api/files', {
  tag: 'Files',
  summary: 'A folder: its folders first, then its files. Without `path` the root.',
  query: z.looseObject({ path: Path.default(''), hidden: z.stringbool().default(false) }),
  result: z.object({
    root: z.string(),
    path: z.string(),
    parent: z.string().nullable(),
    /** Nothing above the root is shown. */
    locked_root: z.literal(true),
    can_change_path: z.boolean(),
    entries: z.array(Entry),
    /** There are more than are listed. */
    truncated: z.boolean(),
  }),
  errors: refusals,
});

export const readFile = httpRoute('GET /api/files/read', {
  tag: 'Files',
  summary: 'A whole file as a data URL, up to a few megabytes; larger ones are downloaded.',
  query: z.looseObject({ path: Path }),
  result: z.object({
    path: z.string(),
    name: z.string(),
    data_url: z.string(),
    size: z.number(),
    mime_type: z.string(),
    mtime: z.string(),
  }),
  errors: [...refusals, 'FILE_TOO_LARGE'],
});

export const downloadFile = httpRoute('GET /api/files/download', {
  tag: 'Files',
  summary: 'The bytes of a file, or the part that `Range` asks for. Never shown by a browser, always saved.',
  query: z.looseObject({ path: Path }),
  type: 'application/octet-stream',
  errors: refusals,
});

/** Fields of the form, before its file. */
export const uploadFile = httpRoute('POST /api/files/upload-stream', {
  tag: 'Files',
  summary: 'Puts a file into a folder (`multipart/form-data`: path, overwrite, file). It appears once all of it has come.',
  body: z.object({ path: Path, overwrite: z.enum(['true', 'false']).optional(), file: z.string() }),
  upload: true,
  bodyMaxBytes: limits.files.uploadMaxBytes + 64 * 1024,
  result: z.object({ ok: z.literal(true), path: z.string(), name: z.string(), size: z.number() }),
  status: 201,
  errors: [...refusals, 'FILE_EXISTS', 'FILE_TOO_LARGE', 'DISK_FULL'],
});

export const makeFolder = httpRoute('POST /api/files/mkdir', {
  tag: 'Files',
  summary: 'Makes a folder; the one above it must be there.',
  body: z.strictObject({ path: Path.min(1), profile: Profile }),
  result: z.object({ ok: z.literal(true), path: z.string() }),
  status: 201,
  errors: [...refusals, 'FILE_EXISTS', 'DISK_FULL'],
});

export const deleteFile = httpRoute('DELETE /api/files', {
  tag: 'Files',
  summary:
    'Puts a file or folder into the trash of the root; `permanent` deletes it for good. A folder that holds something needs `recursive`.',
  body: z.strictObject({ path: Path.min(1), recursive: z.boolean().optional(), permanent: z.boolean().optional(), profile: Profile }),
  /** `trashed`: where it lies now; null = it is gone. */
  result: z.object({ ok: z.literal(true), trashed: z.string().nullable() }),
  errors: [...refusals, 'FILE_EXISTS'],
});

const Deleted = z.object({
  /** In the trash: the time of the deletion, then what it was called. */
  name: z.string(),
  path: z.string(),
  /** Where it lay, from the root on; null where nobody wrote it down. */
  origin: z.string().nullable(),
  deleted_at: z.string(),
  is_directory: z.boolean(),
  /** Bytes; 0 for a folder. */
  size: z.number(),
});
export type Deleted = z.infer<typeof Deleted>;

export const listTrashRoute = httpRoute('GET /api/files/trash', {
  tag: 'Files',
  summary: 'What was deleted and can be brought back, the latest first.',
  result: z.object({ root: z.string(), path: z.string(), entries: z.array(Deleted) }),
  errors: refusals,
});

export const restoreFile = httpRoute('POST /api/files/restore', {
  tag: 'Files',
  summary:
    'Brings back what was deleted, named by where it lies in the trash or by the path it had; into `folder` instead of where it lay. Nothing is replaced.',
  body: z.strictObject({ path: Path.min(1), folder: Path.optional(), profile: Profile }),
  result: z.object({ ok: z.literal(true), path: z.string() }),
  errors: [...refusals, 'FILE_EXISTS'],
});
