/** Limits of the stores and files of a home, part of `limits`, each beside its reason. */

const MiB = 1024 * 1024;

export const stateLimits = {
  state: {
    /** A copy of the code takes milliseconds; one that was begun longer ago was given up. */
    codeCopyMs: 60_000,
    /** SQLite busy timeout: one writer per store, so a wait means a checkpoint or another program. It blocks the loop. */
    busyMs: 3_000,
    /** A prompt that meets a locked store is tried again for this long before it is refused. */
    promptRetryMs: 20_000,
    /** Between two such tries. */
    lockedPauseMs: 250,
    /** A write that must not be lost is tried again this often while the disk is full or the file is locked. */
    storeRetryMs: 2_000,
    /** A store up to this size is checked page by page when it is opened (35 ms; measured 4.4 ms per MiB, which 1 GiB must not cost at every start). */
    integrityCheckMaxBytes: 8 * MiB,
    /** Daily copies of a store: kept, first made so long after a start (a start is busy enough), tried again after a failure, free space left over. */
    copiesKept: 3,
    copyDelayMs: 20_000,
    copyRetryMs: 3_600_000,
    copyReserveBytes: 64 * MiB,
    /** The clocks are noted this often for `state/confirmedTime.ts`; a clock that far ahead is logged (computers that are off at night are less). */
    clockRecordMs: 600_000,
    clockAheadMs: 86_400_000,
    /** A lock on a file that is read, changed and written back. */
    fileLockMs: 5_000,
    /** Heartbeat of the owner of a home, for containers that share one; after so many missed ones the owner is gone. */
    homeBeatMs: 10_000,
    /** A temporary file of a write that is older than this was left by a killed process; a write takes milliseconds. */
    leftoverMs: 60_000,
    homeBeatsMissed: 3,
    /** config.yaml larger than this is refused before parsing (a real one has 20 KB). */
    configMaxBytes: 1 * MiB,
    /** Checked on its tokens, before it is parsed: comparing keys is quadratic (4,000 in one map take 0.6 s, 10,000 take 10 s). */
    configKeysMax: 4_000,
    configItemsMax: 20_000,
    /** Words, signs and line ends together: a million empty lines take 1.8 s. */
    configTokensMax: 150_000,
    /** Anchors and aliases together: 1,000 in a chain take 1.2 s. */
    configAnchorsMax: 200,
    /** Levels of brackets, and of list entries in one line; the schema has six. */
    configDepthMax: 64,
    /** Problems of one config.yaml that are named at once: nobody reads more before correcting some. */
    configProblemsMax: 100,
    /** Aliases expanded per document: stops a YAML bomb. */
    yamlAliasesMax: 100,
    /** While something waits for the end of a pause, the sentinel is read at least this often (its watcher is a hint). */
    pauseRecheckMs: 5_000,
  },
} as const;
