/**
 * Every limit and default of the service, each beside its reason.
 * Times are milliseconds, sizes are bytes, unless the name says otherwise.
 */

import { configLimits } from './configLimits.ts';
import { dashboardLimits } from './dashboardLimits.ts';
import { engineLimits } from './engineLimits.ts';
import { gatewayLimits } from './gatewayLimits.ts';
import { signInLimits } from './signInLimits.ts';
import { stateLimits } from './stateLimits.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

export const limits = {
  /** Of one request with a key, within its origin: servers that add a slash or a version need one. */
  redirectsMax: 5,
  /** Until an answer begins, and between two pieces of it: over every limit that callers set themselves, such as `first_byte_timeout_seconds`. */
  answerWaitMaxMs: 3_660_000,
  ipc: {
    /** Contract §5: a larger frame is refused and its connection closed. */
    frameMaxBytes: 16 * MiB,
    /** A header block is two short lines; anything longer is not our protocol. */
    headerMaxBytes: 4 * KiB,
    /** A peer that connects and never says hello holds a descriptor; it gets this long. */
    helloMs: 5_000,
    /** Default limit of a call; methods with longer work name their own. */
    callMs: 10_000,
    /** How long a dial keeps trying while the peer is still starting (the startup budget of a worker). */
    startingMs: 20_000,
    /** First pause between two tries of a dial; doubles up to `redialMaxMs`. */
    redialMinMs: 10,
    redialMaxMs: 500,
    /** Unsent bytes after which a client that does not read is cut off. */
    sendQueueMaxBytes: 32 * MiB,
    /** Open connections one socket accepts: every browser socket is one at the agent. Idle ones cost it 20 kB each (measured). */
    connectionsMax: 2_560,
    /** Beyond that, callers who still get to hear why they are turned away. */
    refusalsMax: 64,
    /** Contract §2: a longer path does not fit `sun_path` on every platform (104 on macOS). */
    socketPathMaxBytes: 100,
    /** Raised when a frame or the hello changes shape. */
    protocol: 1,
  },
  restart: {
    /** Contract §4: an incarnation ready this long is replaced at once… */
    readyForMs: 1_000,
    /** …this many times… */
    immediateMax: 5,
    /** …within this window. */
    immediateWindowMs: 60_000,
    /** Then the delay starts here, doubles, with full jitter, up to `maxMs`. */
    baseMs: 500,
    maxMs: 60_000,
    /** The delay starts over after this long in health. */
    healthyMs: 300_000,
    /** Contract §4: parked after this many failed starts within the window. */
    failedStartsMax: 5,
    failedStartsWindowMs: 600_000,
    /** A death this soon after ready counts as a failed start (lessons 2). */
    diedSoonMs: 10_000,
    /** A parked slot is tried again this often. */
    parkedRetryMs: 900_000,
    /** Contract §4: the cause of a shortage is checked this often. */
    shortageCheckMs: 5_000,
    /** A missing program file is a shortage for this long: npm has a package away for some seconds while it replaces it. */
    programMissingMs: 60_000,
  },
  worker: {
    /** Contract §4, Readiness. */
    startupMs: 20_000,
    /** Default drain of an idle worker (lessons, defaults to start from). */
    drainMs: 20_000,
    /** Drain while a turn still makes progress. */
    drainBusyMs: 180_000,
    /** From SIGTERM to SIGKILL of the whole group. */
    termMs: 5_000,
    /** From SIGKILL to "this group cannot be killed": the kernel needs milliseconds. */
    killMs: 5_000,
    /** After its deadline a drain gets this long to interrupt what runs. */
    interruptMs: 1_000,
    /** A sign of life this often: six workers cost under 10 ms of CPU a minute at this rate. */
    heartbeatMs: 5_000,
    /** More often only where `supervisor.liveness.suspect_ms` asks for it. */
    heartbeatMinMs: 100,
    /** Contract §4, Liveness. */
    suspectMs: 10_000,
    hungMs: 30_000,
    /** Time in line for a processor does not count as silence, up to so many times the time to the kill (measured: at a load of 25 on two cores whole workers were silent for 3 s and lived). */
    starvedFactor: 4,
    /** Share of an interval above which a loop that makes no progress counts as spinning. */
    busyShare: 0.95,
    /**
     * Share of the time above which a silent main thread computes. One that waits for good has none; one that computes may
     * have little on a busy machine: it also waits for threads that collect its garbage (seen: less than half).
     */
    computesShare: 0.1,
    /** Names of units of work said with a heartbeat. */
    unitsMax: 20,
    unitNameMaxChars: 120,
    /** From SIGABRT to SIGKILL of a hung worker: a core dump, where somebody wants one, takes a while. */
    abortMs: 1_000,
    /** House: a worker without any supervisor drains and leaves after this long. */
    orphanMs: 900_000,
    /** A worker that saw the supervisor's socket change keeps dialling for this long. */
    redialMs: 2_000,
    /** How long a new supervisor waits for a worker of the old one to report back. */
    adoptMs: 10_000,
    /** What only start-up needed is given back to the system this long after ready (measured: 4 to 9 MiB a worker). */
    trimMs: 3_000,
    /** An on-demand worker with nothing to do leaves after this long. */
    idleMs: 60_000,
  },
  sidecar: {
    /** Contract §12, defaults. */
    stopGraceMs: 10_000,
    startupMs: 20_000,
    /** How often a port, address or file is looked at until the sidecar is ready: doubles from the first to the second. */
    probeMinMs: 10,
    probeMaxMs: 500,
    probeTimeoutMs: 2_000,
    /** Programs in `services:`; a home server has a handful, the benchmark 200. */
    max: 500,
    /** A slot named in `after` that is not ready by then is not waited for any longer. */
    afterMs: 60_000,
  },
  supervisor: {
    /** npm hands a ctrl-C on that the terminal has sent to the service as well: two so close are one. */
    sameSignalMs: 300,
    /** A control socket that was removed is there again after a pulse; with a margin. */
    mendedMs: 7_000,
    /** A snapshot older than two rounds of samples was not written when it should have been: ask the supervisor itself. */
    snapshotStaleMs: 75_000,
    /** How long `agent status` waits for it then. */
    snapshotAskMs: 2_000,
    /** A heartbeat of the supervisor in its lock (every `state.homeBeatMs`) that is older than this is late: with the question, `agent status` knows within 15 s. */
    beatLateMs: 12_000,
    /** Resource samples; `agent status` reads memory afresh by itself. Each sample costs 2 ms: the idle service stays under 0.1 % of a core. */
    sampleMs: 30_000,
    /** Samples kept in memory for the report of an abnormal end. */
    recentMs: 600_000,
    /** Contract §4: history of seven days, a point each ten minutes: 20 KB a slot. */
    historyMs: 604_800_000,
    historyPointMs: 600_000,
    /** The slope of memory is taken over the points of the last six hours. */
    leakMs: 21_600_000,
    /** Snapshot and black box are written this long after a change, once for all changes until then: a replacement that was just started gets the processor first. */
    writeAfterMs: 20,
    /** The same for the snapshot on the way down: all slots change, and most services are gone before a first one would be of use (measured: 5 ms for 200 slots). */
    downWriteAfterMs: 100,
    /** Receipts kept (contract §4). */
    receiptsMax: 1_000,
    /** Last lines of output kept in memory per incarnation for the report of its end. */
    tailLinesMax: 200,
    tailLineMaxChars: 2_000,
    /** `agent up` waits this long for every wanted slot. */
    upMs: 60_000,
    /** `agent up` waits this long for a service that is shutting down: the longest drain, and the workers after it. */
    endMs: 240_000,
    /** How often the end of another process is looked for. */
    endLookMs: 50,
    /** Evidence of a hung worker: from asking for the stack of its loop to going on without it (measured: 110 ms, seconds on a machine that is swamped). */
    evidenceMs: 5_000,
    evidenceFramesMax: 30,
    evidenceFilesMax: 50,
    evidenceThreadsMax: 40,
    evidenceChildrenMax: 40,
    /** From so many starts at once on, memory is given back first: each start copies the page tables of the supervisor (measured: 1 ms for each 28 MB). */
    manyStarts: 40,
    /** The files of the home are watched this long after the first programs were started; until then the pulse looks, and the watch itself once it stands. */
    watchAfterMs: 150,
    /** `ps` on systems without /proc. */
    psMs: 3_000,
    /** Pause between two looks at all processes for strays: 200 slots that stop at once share a few looks (measured: 6 ms each for 500 processes). */
    strayLookMs: 5,
    /** The look for strays after a stop of many waits this long for the last of them: a slow one holds the others up no longer. */
    strayGatherMs: 50,
    /** Life of the process that keeps the pipes of the slots open; it is replaced after half of it, so that it outlives its supervisor for as long as workers do (`worker.orphanMs`). */
    keeperMs: 1_800_000,
    /** It is replaced this long after the set of pipes changed, once for all changes until then. */
    keeperAfterMs: 20,
    /** It is started again this long after it ended, or could not be started. */
    keeperRetryMs: 1_000,
    /** An adopted process is looked at this often; its closed connection is heard at once. */
    adoptedLookMs: 1_000,
    /** Black boxes kept for a slot, and the size of one and of all together. */
    boxesPerSlotMax: 10,
    boxMaxBytes: 256 * KiB,
    boxesMaxBytes: 16 * MiB,
    /** Resources in a black box: the minutes before the end. */
    boxSamplesMs: 600_000,
    boxSamplesMax: 120,
    /** Changes of the liveness word kept per incarnation. */
    livenessHistoryMax: 20,
    /** Between two looks at what has a hard memory limit (10 µs each): a leak of 100 MB/s passes it by that much. */
    memoryLookMs: 1_000,
    /** A disk has room again when this much can be written: a log line, a page of a store and its journal. */
    roomBytes: 256 * KiB,
    /** Memory is short while less than this share of it is free. */
    shortMemoryShare: 0.05,
  },
  drill: {
    /** Recovery that docs/BENCHMARKS.md publishes: kill -9 of a worker → its successor answers. */
    killMs: 250,
    /** The supervisor is started again → it answers, every worker taken over. */
    supervisorMs: 1_000,
    /** A heartbeat after its socket file was taken away the worker has bound it again. */
    socketMs: 5_500,
    /** A recovery slower than its published figure by this factor has failed: a small machine is slow, a broken one does not come back. */
    slowFactor: 20,
    /** Beyond the liveness limit: looking every heartbeat, evidence, the kill and the start of the next. */
    freezeExtraMs: 20_000,
    /** Damaged records are left lying for this long while everything is asked to answer. */
    corruptMs: 3_000,
    /** What a flood prints, ten log files' worth, and how long its capture may take. */
    floodLines: 500_000,
    floodMs: 90_000,
    /** The control socket answers within this while a flood is captured. */
    floodAnswerMs: 2_000,
    /** A managed service that has not been started again by its manager after this long is not. */
    managerMs: 30_000,
    /** Pause between two looks at the service. */
    lookMs: 5,
  },
  logs: {
    /** Contract §7: 5 MB × 3 each. */
    fileMaxBytes: 5_000_000,
    filesMax: 3,
    /** errors.log: reference, Logs table. */
    errorsMaxBytes: 2_000_000,
    errorsFilesMax: 2,
    /** One line; the rest is cut and marked. */
    lineMaxBytes: 64 * KiB,
    /** Identical messages in a row collapse into one line with a count after this long. */
    repeatMs: 10_000,
    /** What a slot may print in one go before its flood is declared and cut, … */
    burstBytes: 256 * MiB,
    /** … and for ever: 86 GB a day pass through rotation, more is no log any more (lessons 19). */
    sustainedBytesPerSecond: 1 * MiB,
    /** `logs/` and `crash/` of a profile together; the oldest rotated files go first. */
    budgetBytes: 200_000_000,
    /** How often the budget is looked at; a slot writes at most a file's worth in seconds, rotation bounds each log meanwhile. */
    budgetMs: 3_600_000,
    /** Read from the pipe of a slot at once: what a pipe of Linux holds. */
    captureChunkBytes: 64 * KiB,
    /** An unfinished line that grows longer is passed on in pieces. */
    captureLineMaxBytes: 32 * KiB,
    /** A private key in the output is hidden for at most this many lines when its end never comes. */
    keyLinesMax: 200,
  },
  // base/engineLimits.ts: one file would be too long to read.
  ...engineLimits,
  cron: {
    /** Reference, Running a job. */
    scriptMs: 3_600_000,
    runIdleMs: 600_000,
    /** How often a job looks whether its turn moves. */
    turnLookMs: 60_000,
    leaseMs: 300_000,
    /** Grace of a late occurrence: half the period within these bounds. */
    graceMinMs: 120_000,
    graceMaxMs: 7_200_000,
    parallelMax: 4,
    jobsMax: 10_000,
    /** Of one chat: a user there must not fill the owner's list. */
    jobsPerChatMax: 20,
    /** Parsed patterns kept: one croner object holds 80 KB (measured). */
    patternsMax: 100,
    /** Output files kept per job. */
    outputFilesMax: 50,
    /** Contract §10: signature timestamps this far off are refused. */
    fireSkewMs: 300_000,
    /** Clocks of two machines that are kept by NTP; a token is short-lived, so not the 300 s of the signature. */
    fireTokenSkewSeconds: 30,
    /** A JWT of a scheduler is some 700 characters; beyond this nothing is decoded. */
    fireTokenMaxChars: 8_192,
    /** Keys of the issuer are asked for again after this, so that a withdrawn one is out soon. */
    fireKeysFreshMs: 10 * 60_000,
    /** Anybody can name a key that does not exist: that asks the issuer at most this often. */
    fireKeysPauseMs: 30_000,
    /** After a question that failed. */
    fireKeysRetryMs: 5_000,
    /** Interface spec, Limits: hint in the 503 of a paused fire. */
    pausedRetrySeconds: 60,
    /** Shortest and longest time in a schedule: a second costs one claim, ten years is a typing error. */
    intervalMinMs: 1_000,
    intervalMaxMs: 3_660 * 86_400_000,
    /** Later than this is `late`: a busy machine is a second behind now and then. */
    onTimeMs: 2_000,
    /** No timer is longer, so that a changed clock or a sleeping laptop is noticed. */
    tickMaxMs: 60_000,
    /** A clock set back by more than this was wrong before: fixed hours run again. As cron daemons have it. */
    setBackMaxMs: 3 * 3_600_000,
    /** Due jobs claimed in one transaction. */
    claimBatchMax: 50,
    /** Runs waiting behind a running one of the same job. */
    queuedPerJobMax: 10,
    /** Rows of history kept per job. */
    runsPerJobMax: 200,
    /** Standard output of a script that is kept; the rest is read, dropped and said. */
    scriptOutputMaxBytes: 256 * KiB,
    scriptErrorMaxBytes: 8 * KiB,
    /** A prompt run that has not ended by then is given up, whatever it does. */
    promptMs: 21_600_000,
    /** Hand-over to the gateway: first pause and longest pause while it is down. */
    handoverMinMs: 200,
    handoverMaxMs: 30_000,
    /** Characters of a message handed to the gateway; the output file holds all of it. */
    deliveryMaxChars: 20_000,
    /** Characters of a job's prompt (a long page), of its name, and of its other fields. */
    promptMaxChars: 20_000,
    nameMaxChars: 100,
    fieldMaxChars: 500,
    /** Of an output file that is shown at once; the file has all of it. */
    outputShownMaxBytes: 256 * KiB,
    /** Runs that a preview of a schedule names. */
    previewRuns: 3,
    /** A calendar reaches this far: two months on one screen. */
    calendarDaysMax: 62,
    /** A job that runs more often in a day is named once and not drawn: it would cover the others. */
    calendarPerDayMax: 6,
    /** Steps of arithmetic for one calendar: 0.1 ms each (measured, the slowest kind), and the worker has other things to do. */
    calendarStepsMax: 4_000,
    calendarJobsMax: 500,
  },
  mcp: {
    /** Reference, MCP client. From the start of a call, or from its last progress. */
    callMs: 300_000,
    /** A call that keeps reporting progress may take this long altogether. */
    callTotalMs: 1_800_000,
    connectMs: 60_000,
    reconnectMinMs: 1_000,
    reconnectMaxMs: 60_000,
    reconnectTriesMax: 5,
    /** Text of one tool result handed on; also its blocks, and its structured part, each as JSON. */
    resultMaxBytes: 4 * MiB,
    /** One message of a server; a line that never ends must not fill the memory. */
    messageMaxBytes: 16 * MiB,
    /** Pages of one list of tools: 500 tools, five at a time. */
    pagesMax: 100,
    /** Of what a server says about its use, in the prompt. */
    instructionsMaxChars: 2_000,
    /** Between two listings after `list_changed`, however often a server announces it. */
    refreshPauseMs: 1_000,
    /** A silent server is asked after this long whether it is still there (reference, MCP client; at least 5 s), … */
    keepaliveMs: 180_000,
    /** … and has this long to answer. */
    pingMs: 5_000,
    /** Connections in a row over which an answer that ended early is resumed, and the longest pause before one. A stream of notices is resumed without end. */
    resumeTriesMax: 5,
    resumePauseMaxMs: 30_000,
    /** Read of the body of an HTTP error, and shown of its message. */
    errorBodyBytes: 4 * KiB,
    errorShownChars: 300,
    retryAfterMaxMs: 3_600_000,
    /** A turn does not wait longer than this for a server that is still connecting; its tools come with the next one. */
    listWaitMs: 10_000,
    /** A connection this old counts as healthy: its next loss starts a new series of tries. */
    healthyMs: 60_000,
    /** Leaving: from the end of its standard input to SIGTERM, … */
    closeMs: 300,
    /** … to SIGKILL of the whole group; short, because the broker itself has 5 s after its SIGTERM. */
    termMs: 1_500,
    /** Calls in flight over all servers. */
    callsMax: 256,
    /** Tools taken from one server, and the size of their descriptions and schemas together. */
    toolsMax: 500,
    toolsMaxBytes: 2 * MiB,
    /** Model APIs refuse longer tool names. */
    toolNameMaxChars: 64,
    /** Lines of a server's stderr logged per minute; the rest is counted. */
    stderrLinesPerMinute: 120,
    /** Servers of one profile: each is a process or a connection. */
    serversMax: 100,
    /** Of a server's tools as they are shown to people: names and descriptions are a stranger's text. */
    shownToolsMax: 200,
    shownNameChars: 128,
    shownTextChars: 600,
    /** Fetching a package of the catalogue, and all it needs, over a slow line. */
    installMs: 600_000,
    /** Audit rows kept: two weeks at five calls a minute. */
    auditRowsMax: 100_000,
  },
  service: {
    /** systemd restarts a supervisor that says nothing for this long; workers go on meanwhile, and `agent status` answers, so it need not be short. Each word to systemd costs a process (measured: 5 ms of CPU). */
    watchdogMs: 120_000,
    /** One `systemd-notify` needs 13 ms. */
    notifyMs: 5_000,
    /** From the end of the supervisor to its next start: a blink, since its workers went on. */
    restartMs: 250,
    /** A supervisor that cannot start keeps its manager waiting this long, so that trying again costs nothing. */
    failedStartMs: 5_000,
    /** Beside the waits of the stop ladder: the request before each drain, writing state, leaving. */
    stopMarginMs: 15_000,
    /** No computed stop is shorter: reference, Drain timings. */
    stopMinMs: 60_000,
    /** `systemctl start` waits for ready slots (`supervisor.upMs`) and this. */
    startMarginMs: 30_000,
    /** systemd gives up a supervisor that it had to start this often within this time: half a minute of a missing package, longer than an installation takes. */
    startLimitMs: 60_000,
    startLimitBurst: 60,
    /** A question to a service manager. */
    commandMs: 20_000,
    commandOutputMaxChars: 1_000_000,
    /** launchctl answers EIO while an old registration goes away (lessons 5): tries, and the first pause, which doubles. */
    triesMax: 5,
    retryMs: 250,
    /** The manager said yes; so long until the job is seen. */
    verifyMs: 5_000,
    /** From SIGTERM to SIGKILL in the sweep after a stop: whoever is left has had the whole ladder already. */
    sweepTermMs: 500,
  },
  doctor: {
    /** Warned below this much room, failed below a tenth of it: SQLite and rotation need room to move. */
    diskFreeMinBytes: 500 * MiB,
    inodesFreeMin: 1_000,
    /** A supervisor answers in a millisecond; one that needs this long is frozen. */
    answerMs: 2_000,
    /** Seconds between the newest write in the home and the clock that count as a clock set back. */
    clockSkewMs: 300_000,
    /** Descriptors one process may open: sockets, logs and databases of the largest worker, with room. */
    filesMin: 1_024,
    /** Share of its own limit from which a running process is reported. */
    filesShare: 0.8,
    /** `--online` asks each provider for its address alone, this long. */
    onlineMs: 5_000,
  },
  side: {
    /** Side questions (`/btw`) under way: of one session, and in all; each is a whole model call. */
    perSessionMax: 4,
    allMax: 12,
    answerMs: 180_000,
    answerMaxChars: 60_000,
    /** Side questions and background work that are kept of a session, the newest; and those shown with one page of it: together half of what a frame holds. */
    keptMax: 500,
    shownMax: 50,
    /** Of the transcript that goes with one, where the model's window is unknown. */
    snapshotMaxChars: 200_000,
    /** Background sessions (`/bg`) that have not told their result yet. */
    backgroundMax: 16,
    /** Completion of paths: entries of one folder that are looked at, and those that are offered. */
    pathsReadMax: 5_000,
    pathsMax: 50,
  },
  chat: {
    /** Contract §4: a service started by `agent chat` leaves this long after its last client. */
    lingerMs: 600_000,
    /** Tries to reach a lost worker for this long: longer than its backoff takes to park it. */
    reconnectMs: 180_000,
    /** Without any supervisor for this long the service was taken down: a service manager starts one again sooner. */
    absentMs: 30_000,
    /** Prompts kept in the history of the terminal chat, and the longest that is worth keeping there. */
    historyMax: 1_000,
    historyEntryMaxChars: 10_000,
  },
  ...configLimits,
  ...dashboardLimits,
  ...gatewayLimits,
  ...signInLimits,
  ...stateLimits,
} as const;
