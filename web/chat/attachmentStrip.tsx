/** The files that will go with the next message, each with its picture or sign, its size and a way out. */
import { FileText, X } from 'lucide-react';
import { visibleText } from '../../base/visibleText.ts';
import { fileSize } from '../app/format.ts';
import { FILES_TAKEN } from './attachmentLimits.ts';
import type { Attachments } from './attachments.ts';

export function AttachmentStrip({ attachments: { files, refusal, remove } }: { attachments: Attachments }) {
  if (files.length === 0 && !refusal) return null;
  return (
    <div className="grid gap-1.5 px-3 pt-3">
      {files.length > 0 && (
        <ul aria-label="Files of this message" className="flex flex-wrap gap-2">
          {files.map(({ id, name, size, preview }) => (
            <li key={id} className="flex max-w-56 items-center gap-2 rounded-lg border border-line bg-paper py-1 pr-1 pl-1.5 text-sm">
              {preview ? (
                <img src={preview} alt="" className="size-8 shrink-0 rounded object-cover" />
              ) : (
                <FileText size={18} className="mx-1.5 shrink-0 text-soft" />
              )}
              <span className="grid min-w-0 leading-tight">
                <span className="truncate">{visibleText(name)}</span>
                <span className="text-xs text-faint">{fileSize(size)}</span>
              </span>
              <button
                type="button"
                aria-label={`Leave out ${name}`}
                onClick={() => remove(id)}
                className="inline-flex size-7 shrink-0 items-center justify-center rounded-md text-soft hover:bg-sunken hover:text-ink"
              >
                <X size={14} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <p role={refusal ? 'alert' : undefined} className={`text-xs ${refusal ? 'text-bad' : 'text-faint'}`}>
        {refusal ?? FILES_TAKEN}
      </p>
    </div>
  );
}
