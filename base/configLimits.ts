/** Limits of changing config.yaml and `.env` (part of base/limits.ts), each beside its reason. */

const KiB = 1024;
const MiB = 1024 * KiB;

export const configLimits = {
  configEdit: {
    /** config.yaml as a JSON string: each character may need two. */
    bodyMaxBytes: 2 * MiB + 64 * KiB,
    /** Versions of config.yaml that were handed out, to say what changed since; the dashboard keeps as many. */
    versionsKept: 8,
    /** Levels of a patch of values; the schema has six. Deeper ones would overflow the stack of whatever walks them. */
    depthMax: 64,
  },
  env: {
    /** A private key in PEM has 3 KB. */
    valueMaxBytes: 32 * KiB,
    /** `.env` is read whole by every worker when it changed. */
    fileMaxBytes: 1 * MiB,
    /** Values that a dashboard shows a minute: a person looks at one, a script takes all. */
    revealsPerMinute: 10,
  },
} as const;
