/** Limits of the conversation engine and its worker (part of base/limits.ts), each beside its reason. */
import { sandboxLimits } from './sandboxLimits.ts';
import { toolLimits } from './toolLimits.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

export const engineLimits = {
  turn: {
    /** Interface spec, Limits: all tools except manage_connections. */
    toolGuardMs: 420_000,
    /** Model calls in one turn. */
    iterationsMax: 90,
    /** Answers in a row that reach the output limit within a tool call: a model that repeats itself is not paid for 90 times. */
    cutAnswersMax: 3,
    /** Characters of tool output given back to the model; the middle is cut and says so. */
    toolOutputMaxChars: 50_000,
    /** Prompts waiting behind a busy session. */
    queueMax: 50,
    promptMaxChars: 1_000_000,
    /** Events kept for replay per session. */
    eventsMax: 2_000,
    /** Longest pause between two flushes of streamed text under load; unseen by a reader. */
    flushPauseMaxMs: 20,
    /** Provider calls: time to the first byte, and between two chunks. A model on this machine or network may read a long prompt for minutes. */
    providerFirstByteMs: 120_000,
    providerFirstByteLocalMs: 900_000,
    /** What `first_byte_timeout_seconds` may be. */
    providerFirstByteMaxMs: 3_600_000,
    /** Comments and pings without content lengthen a wait up to this. */
    providerAliveMaxMs: 900_000,
    /** A request without an answer in time is sent again this often: each one is paid for. */
    providerSlowRetriesMax: 1,
    providerIdleMs: 120_000,
    /** Reference, Limits and retries. */
    providerRetriesMax: 3,
    /** Pause before a provider is asked again: doubles, with full jitter; a Retry-After of up to `providerRetryAfterMaxMs` is obeyed, a longer one is reported instead. */
    providerRetryBaseMs: 500,
    providerRetryMaxMs: 8_000,
    providerRetryAfterMaxMs: 60_000,
    /** Turns at once in one worker; more wait in their session's queue. 200 that stream at 50 tokens/s take half a core (measured). */
    parallelMax: 256,
    /** Calls of one answer that run side by side, of tools that only read. */
    parallelCallsMax: 8,
    /** An interrupt must be seen within 100 ms: a tool that has not ended by then ends behind the turn, … */
    interruptGraceMs: 50,
    /** … and kills its process group within this, before the next turn of the session begins. */
    toolStopMs: 2_000,
    /** A turn waits this long for the list of MCP tools, then goes on without. */
    mcpListMs: 10_000,
    /** Events over `eventsMax` before they are pruned, so that pruning is not paid for each event. */
    eventsSlack: 256,
    /** Events of a session that rests this long are forgotten; its transcript stays. */
    eventsKeepMs: 604_800_000,
    /** How often a running worker forgets what is too old. */
    housekeepingMs: 86_400_000,
    /** A session that never got a prompt is forgotten after this long. */
    emptySessionMs: 86_400_000,
    /** Rows and characters of a transcript in one answer; older rows are paged through session.history. */
    historyRowsMax: 1_000,
    historyMaxChars: 6_000_000,
    /** Conversations kept as the model reads them, so that a turn does not read 2,000 rows first (4 ms). */
    contextCacheSessions: 64,
    contextCacheMaxChars: 8_000_000,
    /** A title made from the first prompt. */
    titleMaxChars: 50,
  },
  models: {
    /** Interface spec, Limits: bounded fast window. */
    fastAutoSeconds: 60,
    /** Interface spec: lists of models are fetched again after this, in minutes. */
    catalogTtlMinutes: 20,
    /** A list of models is read within this; a server on this machine answers a probe at once or is not there. */
    catalogMs: 10_000,
    probeMs: 500,
    /** The largest public list (an aggregator's) has 3 MB and 600 models. */
    catalogMaxBytes: 16 * MiB,
    catalogModelsMax: 2_000,
    /** Lists kept on disk: providers of the past go first. */
    catalogProvidersMax: 50,
    /** A new session with a bare model name waits this long for the list of its provider: well below the limit of that call. */
    listPatienceMs: 2_000,
    /** Reference, Pools: a key that is over its rate rests, one that is out of money rests longer. */
    keyRestMs: 3_600_000,
    keyUnpaidRestMs: 86_400_000,
    /** The same 429 is asked again this often before another key takes over. */
    keyRetriesMax: 1,
    /** A prompt's image as it goes to a provider (their own limits lie between 5 and 20 MB). */
    imageMaxBytes: 20 * MiB,
    /** Images of tool results that go with one request, the newest: each costs some thousand tokens, every time. */
    toolImagesMax: 8,
    /** Messages at the end of a prompt that carry a cache mark, beside the system prompt (reference, Prompt caching). */
    cacheMarksMax: 3,
    /** Models of provider packages kept from turn to turn, for one model, its key pool and its fallbacks (about 100 KB each). */
    connectionsMax: 16,
    /** One frame of a stream: a picture in it has a few MB, a stream without a line's end none. */
    streamFrameMaxChars: 16 * MiB,
    /** Parts of a stream that wait to be taken; the connection is not read any further until they are. */
    streamPartsMax: 1_000,
    /** Of a refusal's body. */
    errorBodyMaxChars: 64 * 1_024,
    /** US dollars per million tokens from which a pick for good is asked about twice: the dearest reasoning models. */
    expensiveInput: 10,
    expensiveOutput: 50,
    /** An error's own words, of a provider that answers with a page. */
    errorTextMaxChars: 500,
  },
  providerSignIn: {
    /** A browser flow that nobody ends; the common lifetime of a device code. */
    flowMs: 600_000,
    /** A device code may name its own lifetime, up to this. */
    flowMaxMs: 1_800_000,
    /** Open or just ended flows; a person has one. */
    flowsMax: 8,
    /** RFC 8628: where the provider names no interval, and what `slow_down` adds. */
    pollMs: 5_000,
    slowDownMs: 5_000,
    /** An answer of the provider's endpoints: within this, and a few KB of JSON. */
    requestMs: 15_000,
    answerMaxBytes: 256 * KiB,
    /** A token that ends within this is renewed before it is used. */
    renewMs: 60_000,
  },
  compress: {
    /** Share of the model's window at which a turn makes room, and what is left after it (reference, Limits and retries). */
    threshold: 0.5,
    targetRatio: 0.2,
    protectLast: 20,
    protectFirst: 3,
    /** The protected beginning gives way when it takes more than this of the target, … */
    headShare: 0.5,
    /** … the protected end when it takes more than this of the threshold: it would be compressed again at once. */
    tailShare: 0.6,
    /** Interface spec, Limits: exchanges that `/compress here` keeps. */
    hereKeep: 2,
    /** Accepted only when the conversation becomes smaller by this share: a summary that saves little loses more. */
    shrinkMin: 0.1,
    /** In one turn; after that the provider's own refusal ends it. */
    perTurnMax: 3,
    /** A window nobody knows: what current models have at least. */
    unknownWindowTokens: 128_000,
    messageOverheadTokens: 4,
    /** A picture of common size, at the dearest of the providers. */
    imageTokens: 1_600,
    /** The whole of one compression; nothing else can end it, so it must end by itself. */
    totalMs: 300_000,
    /** Material of one summarising call, as a share of that model's window; the rest is for the summary. */
    chunkShare: 0.6,
    /** A piece this small is not halved again when a model calls it too long. */
    pieceMinTokens: 1_000,
    /** Characters of one message in the material; the middle of longer ones is cut. */
    materialMessageMaxChars: 8_000,
    /** A summary longer than this is cut. */
    summaryMaxChars: 40_000,
  },
  attachments: {
    /** One file, and those of one prompt together: below what a frame and a provider's request hold. */
    fileMaxBytes: 20 * MiB,
    promptMaxBytes: 40 * MiB,
    perPromptMax: 20,
    /** Handed out at once: as base64 a small part of a frame, so that a large file holds up nobody else on the socket. */
    partBytes: 1 * MiB,
    /** Named in one answer: far below what a frame holds. */
    listMax: 1_000,
    /** Shown by a browser: what was lost or replaced is asked for again after this. A copy is named by its content and never changes. */
    browserKeepS: 31_536_000,
    /** A file that no message names stays this long: its prompt may be on the way into the store. */
    orphanMs: 3_600_000,
  },
  /** base/toolLimits.ts: one file would be too long to read. */
  tools: toolLimits,
  sandbox: sandboxLimits,
  search: {
    /** Indexed of one message: its text, and the arguments of its tool calls. A log of megabytes is found by its beginning. */
    textMaxChars: 20_000,
    callsMaxChars: 4_000,
    /** Longer words are cut: keys and encoded data are nothing that anybody types. */
    wordMaxChars: 64,
    /** Terms of a query, and three-letter parts of one of them. */
    termsMax: 16,
    partsMax: 24,
    snippetBeforeChars: 60,
    snippetMaxChars: 200,
    /** Messages looked at for one answer, and the time for it: what is newest is found first. */
    candidatesMax: 2_000,
    budgetMs: 25,
    /** Messages indexed in one transaction, and the time before the thread looks for questions again. */
    batchMax: 500,
    sliceMs: 25,
    /** New messages are indexed this long after the last one; a question has them indexed first. */
    idleMs: 60_000,
    /** A question waits this long for new messages to be indexed before it is answered. */
    freshMs: 200,
    /** Rows under the mark that are indexed again at each start: a machine that lost power may have lost them and used their numbers again. */
    againMax: 500,
    /** A thread with nothing to do ends after this (it costs 10 MiB). */
    lingerMs: 20_000,
    answerMs: 20_000,
    /** Failures of the thread within the window after which it is left alone for as long. */
    failuresMax: 3,
    failuresWindowMs: 600_000,
  },
  sessions: {
    /** House: hidden sessions (cron, delegation, `/bg`) are kept for two weeks. */
    hiddenRetentionDays: 14,
    /** Reference, Retention. Only with `sessions.auto_prune`. */
    retentionDays: 90,
    /** A session without a prompt counts as left behind after this long: one that was just opened may get its prompt. */
    emptyMs: 300_000,
    /** Sessions removed in one transaction, and messages of them: the loop is held for some 20 ms. */
    pruneBatchMax: 20,
    pruneMessagesMax: 5_000,
    /** Sessions removed in one run of the housekeeping; the next run goes on. */
    pruneRunMax: 2_000,
    /** Pages given back to the system in one go: 1 MiB. */
    vacuumPages: 256,
    /** Characters of one exported session in one answer: under the frame limit when every one of them is escaped. */
    exportMaxChars: 10_000_000,
    /** Messages and characters of one imported session. */
    importRowsMax: 100_000,
    /** Rows in the first picture of a session; older ones are paged. 1,000 need 50 ms from the call to the drawn frame on a busy machine. */
    snapshotRowsMax: 400,
    /** Contract of session.title. */
    titleMaxChars: 200,
    /** Candidates named when the beginning of an id fits several sessions. */
    ambiguousMax: 5,
    /** Answers of slash commands of chats that are kept for a repetition of the same message. */
    commandAnswersMax: 1_000,
    /** A damaged store is recovered at start within this, else set aside for `agent sessions recover`. */
    recoverBootMs: 8_000,
    /** A damaged store larger than this is not tried at start. */
    recoverBootMaxBytes: 256 * MiB,
  },
  context: {
    /** Reference, Prompt assembly: characters of one context file; the head and the tail that stay of a longer one. */
    fileMaxChars: 20_000,
    headShare: 0.7,
    tailShare: 0.2,
    /** A larger file holds no instructions: it is named and left out unread. */
    fileMaxBytes: 4 * MiB,
    /** Directories looked through from the working directory up to the root of its repository. */
    upMax: 40,
    /** Files of `.cursor/rules`; together they share the room of one file. */
    rulesMax: 50,
    /** AGENTS.md of a subdirectory, given once a session with a tool result: characters of one, how many, and sessions remembered. */
    hintMaxChars: 8_000,
    hintsMax: 20,
    sessionsMax: 500,
    /** How long a look at the context waits for the tools of MCP servers. */
    toolsMs: 2_000,
  },
  skills: {
    /** Reference, Skills. */
    nameMaxChars: 64,
    descriptionMaxChars: 1_024,
    /** The frontmatter ends within this. */
    frontmatterMaxBytes: 16 * KiB,
    /** One file of a skill, as a tool gives or writes it. */
    fileMaxBytes: 256 * KiB,
    /** Files named with a skill, and how deep they lie. */
    filesMax: 200,
    filesDepthMax: 4,
    /** Skills kept, folders between a root and a skill, and entries looked at in one root: a mistaken path (`/`) must not be walked. */
    max: 5_000,
    depthMax: 3,
    foldersMax: 20_000,
    /** The index in a prompt: characters of one description and of all; with more, names alone, then numbers alone. */
    indexLineMaxChars: 160,
    indexMaxChars: 6_000,
    /** Read in one go while a start warms the library up (measured: 0.15 ms each). */
    warmBatch: 20,
    /** Deleted skills kept in `.deleted`. */
    deletedMax: 20,
    /** One file of an upstream skill, within a call of 10 s; and how long a copy is taken as fresh before it is asked for again. */
    upstreamMs: 8_000,
    upstreamFreshMs: 600_000,
    /** Copies of upstream files kept. */
    copiesMax: 500,
    blueprintSlotsMax: 20,
  },
  approvals: {
    /** A longer command line, or one of more nodes with all nested scripts, is asked about unread: bounds the time of a hostile one. */
    commandMaxChars: 20_000,
    nodesMax: 50_000,
    /** A longer call can be allowed once only: nobody reads such a rule. */
    ruleMaxChars: 2_000,
    /** From the moment a card is on a screen. */
    timeoutMs: 300_000,
    /** A card that nobody has seen; then it counts as not answered. */
    unseenMs: 86_400_000,
    /** Open questions of one session; a turn asks one at a time, sub-agents more. */
    openMax: 20,
    /** An auxiliary model says what it thinks of a command within this, or the owner is asked. */
    smartMs: 15_000,
    /** Rules that the owner, or one chat, keeps for good, and writes that wait for review; more are a list that no one reads. */
    rulesMax: 200,
    stagedMax: 100,
  },
} as const;
