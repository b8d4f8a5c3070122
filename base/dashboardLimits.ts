/** Limits of the dashboard and of what it shows (part of base/limits.ts), each beside its reason. */

const KiB = 1024;
const MiB = 1024 * KiB;

export const dashboardLimits = {
  dashboard: {
    port: 9_119,
    host: '127.0.0.1',
    bodyMaxBytes: 1 * MiB,
    /** Conversations taken over HTTP: under the frame limit between workers. */
    importMaxBytes: 12 * MiB,
    /** Ping of an idle browser socket; two misses close it. */
    heartbeatMs: 20_000,
    /** Bytes waiting for a tab that does not read before it is cut (it replays on return). */
    socketQueueMaxBytes: 8 * MiB,
    /** Bytes waiting for a tab above which its source is no longer read: a quarter second of a slow line. */
    socketPauseBytes: 256 * KiB,
    /** Browser sockets of all kinds. Idle ones cost 16 kB each (measured), a loop that reconnects has thousands. */
    socketsMax: 2_048,
    /** Sockets being told why they are turned away; more strangers are refused without words. */
    strangersMax: 64,
    /** All connections: the sockets, and 576 beside them for pages that fetch and for whatever only connects. */
    connectionsMax: 2_624,
    /** Accepted beyond that for as long as it takes to close an older one. */
    connectionsSpare: 64,
    /** From one address of the network (IPv6: one /64): a browser holds six and its sockets, an office behind one address some dozens. */
    connectionsPerAddress: 256,
    /** The head of a request must have arrived by then; looked at every `headCheckMs`, so none is open for longer than 10 s. */
    headMs: 7_500,
    headCheckMs: 2_500,
    /** A refused request whose body still arrives: time for the client to read the answer before the connection is closed. */
    unreadMs: 1_000,
    /** A log with its rotated files holds about so many lines (15 MB of 150 characters); the page scrolls them all. */
    logLinesMax: 100_000,
    /** Read from the end of a log in steps of this. */
    logChunkBytes: 256 * KiB,
    /** Status asked of the supervisor at most this often, however many tabs look. */
    statusCacheMs: 500,
    /** Status is answered from the last snapshot when the supervisor takes longer. */
    statusMs: 2_000,
    /** A test of a platform waits this long for a gateway that is being restarted: by the save before it. */
    gatewayRestartMs: 10_000,
    /** Requests still answered while the worker leaves. */
    closeMs: 2_000,
    /** A page that looks every two seconds finds its kept connection closed by an answer, not under its request. */
    keptMs: 2_500,
    /** A whole HTTP request must have arrived by then. */
    requestMs: 30_000,
    /** Calls of one page in flight at the agent; a page has a handful, a runaway script has thousands. */
    callsMax: 256,
    /** One message of a terminal page: a large paste. */
    terminalInputMaxBytes: 1 * MiB,
    /** Memory and disk of the machine are looked at this often at most, however many tabs look. */
    hostLookMs: 5_000,
    /** A session counts as active this long after its last word (reference/clients §1.3). */
    sessionActiveMs: 300_000,
    /** Reference/clients §1.3: below so much memory or this share of it, and below so much room on the disk. */
    memoryElevated: { bytes: 128 * MiB, share: 0.15 },
    memoryCritical: { bytes: 64 * MiB, share: 0.05 },
    diskElevatedBytes: 512 * MiB,
    diskCriticalBytes: 256 * MiB,
    /** A command that the page started (doctor, an installation): none takes longer unless it says so. */
    actionMs: 600_000,
    /** Commands of the page that run at the same time, and those whose end is remembered. */
    actionsMax: 4,
    actionsKeptMax: 30,
    /** Lines of such a command that are kept, and the longest of them. */
    actionLinesMax: 2_000,
    actionLineMaxChars: 4_000,
    /** What it prints as JSON is handed on whole up to this size. */
    actionResultMaxBytes: 1 * MiB,
  },
  files: {
    /** Entries of one folder that are listed. */
    entriesMax: 5_000,
    /** A file shown in the page comes whole, as text of four thirds its size. */
    readMaxBytes: 5 * MiB,
    uploadMaxBytes: 512 * MiB,
    /** An upload over a slow line; other requests have `dashboard.requestMs`. */
    uploadMs: 1_800_000,
    /** What a killed process left of a file it was writing is removed after this; a living one shows four times within it that it lives. */
    asideMs: 3_600_000,
    /** What was deleted stays in the trash so long, and so many of it. */
    trashKeepMs: 30 * 86_400_000,
    trashMax: 1_000,
    /** Of a name in the trash: 255 less the time before it, and what a file written aside has behind it. */
    trashNameMaxBytes: 210,
  },
  analytics: {
    daysDefault: 30,
    /** Two years: what a page can draw. */
    daysMax: 732,
    /** A store of 200,000 turns takes about a second in its thread; one that takes this long is sick. */
    threadMs: 30_000,
    answerMs: 35_000,
    heapMb: 128,
    /** An answer is given again this long. */
    keepMs: 3_000,
  },
  terminal: {
    /** All shells of the machine, and those of one person. */
    sessionsMax: 32,
    sessionsPerOwnerMax: 8,
    /** A shell whose page was lost without a word (a dead line, a dashboard that restarts) waits so long for it. */
    keepMs: 60_000,
    /** Output waiting for a page above which the shell is held. */
    outputPauseBytes: 256 * KiB,
    /** From the hang-up to SIGKILL of everything in the terminal's session. */
    hangupMs: 1_000,
    /** Output kept for a page that reconnects. */
    scrollbackMaxBytes: 256 * KiB,
  },
  profiles: {
    /** Deleted profiles kept in backups/profiles. */
    deletedMax: 10,
    /** A profile that is still being made after this long was left by a killed process; a large copy takes seconds. */
    asideMs: 3_600_000,
    descriptionMaxChars: 500,
    /** SOUL.md: five times what a prompt takes of a context file. */
    soulMaxChars: 100_000,
    /** The agent of another profile leaves when it has had neither work nor a person for this long; it starts in under a second. */
    idleMs: 600_000,
  },
} as const;
