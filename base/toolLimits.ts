/** Limits of the agent's tools (part of base/limits.ts), each beside its reason. */

const MiB = 1024 * 1024;

export const toolLimits = {
  /** Reference, Conflicts: 120 s or 300 s; the shorter, since the model may ask for more. */
  terminalMs: 120_000,
  /** The longest a command may ask for: the guard of 420 s must not fire first. */
  terminalMaxMs: 410_000,
  /** From SIGTERM to SIGKILL of a command's group: an interrupt must feel immediate. */
  terminalTermMs: 300,
  /** What is left of a command's group after its shell ended gets this long to flush its output. */
  terminalFlushMs: 250,
  /** Lines of a file given at once, and the largest file that is looked into. */
  readLinesMax: 2_000,
  readLineMaxChars: 2_000,
  readFileMaxBytes: 64 * MiB,
  /** Reference, Memory: characters of MEMORY.md and USER.md. */
  memoryMaxChars: 2_200,
  userMaxChars: 1_375,
  /** Folders of notes, one a conversation of a chat: 4 MB at most. */
  chatNotesMax: 1_000,
  /** After SIGKILL to a command's group: what left the group is looked for, and must be gone, within this. */
  treeMs: 1_500,
  /** Background commands of one session, and of all, that run at once; ended ones stay readable up to this many. */
  backgroundPerSessionMax: 8,
  backgroundMax: 32,
  backgroundKeepMax: 16,
  /** Recent output of a background command that is held in memory; all of it is in its file. */
  backgroundTailChars: 40_000,
  /** Text written to a background command in one call. */
  processInputMaxChars: 100_000,
  /** A pseudoterminal of the model: a common size, since programs wrap at it. */
  ptyCols: 120,
  ptyRows: 40,
  /** Full outputs on disk: of one command, of all together, and for how long. A build log has a few MiB. */
  spillFileMaxBytes: 16 * MiB,
  spillFolderMaxBytes: 128 * MiB,
  spillFilesMax: 200,
  spillKeepMs: 86_400_000,
  /** Text that write_file takes, and files that patch changes in one call. */
  writeMaxChars: 2_000_000,
  patchFilesMax: 50,
  /** Characters and lines of a diff in a result: enough to check an edit by. */
  diffMaxChars: 6_000,
  /** search_files: hits given by default and at most, time, files looked at, and the largest file it opens. */
  searchDefault: 50,
  searchMax: 500,
  searchMs: 20_000,
  searchFilesMax: 200_000,
  searchFileMaxBytes: 4 * MiB,
  searchLineMaxChars: 300,
  /** Memory of the thread that scans and converts. */
  threadHeapMb: 256,
  /** Items of a todo list, and characters of one. */
  todoMax: 100,
  todoMaxChars: 500,
  /** Children of one delegate_task call, those at once, their model calls and depth (reference, Limits and retries). */
  delegateTasksMax: 8,
  delegateParallel: 3,
  delegateTurnsMax: 50,
  delegateDepth: 1,
  /** A child without any event for this long is stalled (reference, Limits and retries), looked at this often. */
  delegateStallMs: 600_000,
  delegateLookMs: 5_000,
  /** Characters of a child's report. */
  delegateSummaryMaxChars: 16_000,
  /** send_message. */
  messageMaxChars: 20_000,
  messageMs: 10_000,
  /** Interface spec, Limits: results of a web search. */
  webResultsMax: 20,
  webResultsDefault: 8,
  /** One page: time in all, redirects, bytes after decompression, and characters of its text in a result. */
  webMs: 30_000,
  webRedirectsMax: 5,
  webMaxBytes: 5 * MiB,
  webTextMaxChars: 40_000,
  /** Pages of one web_extract call. */
  webPagesMax: 5,
  /** HTML that is converted to Markdown, and how long that may take in its thread. */
  webHtmlMaxChars: 2_000_000,
  webConvertMs: 10_000,
  /** execute_code: the script. Its time is that of a command. */
  codeMaxChars: 200_000,
  /** Checks of foreign tools' arguments that are kept compiled. */
  schemasMax: 300,
  /** A check of arguments in a thread: starting it takes 60 ms, a sensible schema 1 ms. */
  schemaMs: 2_000,
} as const;
