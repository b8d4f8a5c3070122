/**
 * Looks through text that strangers may have written before it becomes part of a prompt: orders meant to
 * replace ours, characters nobody sees, commands that carry secrets away. A table of rules; the first
 * that fits names the line. Documentation about such things passes unless it spells the attack out.
 */

export interface Finding {
  /** Continues "it was left out: it …". */
  why: string;
  /** Counted from 1. */
  line: number;
}

interface Rule {
  why: string;
  pattern: RegExp;
  /** Looks again at what the pattern found; false = harmless. */
  really?: (found: string) => boolean;
  /** A method may say how an interface is called with its key; a file that is read unasked may not. */
  notInSkills?: true;
}

/** "never ignore previous instructions" asks for the opposite. */
const UNLESS_DENIED = String.raw`(?<!\b(?:never|do\s+not|don't|must\s+not|should\s+not|cannot)\s+)`;
const EARLIER = '(?:previous|prior|above|earlier|preceding|foregoing|system|developer|safety|original|initial)';
const ORDERS =
  '(?:instructions?|directions?|directives?|guidelines?|rules?|prompts?|commands?|messages?|policies|restrictions?|constraints?|context)';
const DROP = '(?:ignore|disregard|forget|override|bypass|discard)';
const OWNER = "(?:the\\s+)?(?:user|owner|human|operator)s?\\b(?!')";
const LIMITS = '(?:restrictions?|limits?|limitations|rules|filters?|guidelines|safety)';
const SENDERS = '(?:curl|wget|ncat|netcat|nc|socat|telnet)';
const SECRET_FILE = String.raw`(?:\.env(?![\w.]*(?:example|sample|template))\b|/\.ssh/id_\w+(?!\.pub)\b|\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|\.aws/credentials|\.netrc\b|\.pgpass\b|\.npmrc\b|/etc/shadow|\bauth\.json\b)`;
const SECRET_VARIABLE = String.raw`\$\{?\w*(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL)\w*`;

const over = (source: string, flags = 'i'): RegExp => new RegExp(source, `${flags}gu`);

const ORDER = 'tries to replace the instructions of the agent';
const HIDE = 'asks to keep something from the user';
const FREE = 'tries to talk the agent out of its limits';
const ROLES = 'imitates the markup of a chat';
const HIDDEN = 'hides text from whoever looks at it';
const LEAK = 'would carry secrets away';
const BACKDOOR = 'would open a back door';

const rules: readonly Rule[] = [
  {
    why: ORDER,
    pattern: over(
      `${UNLESS_DENIED}\\b${DROP}\\s+(?:(?:all|any|every|the|of|these|those|your|my|everything|in)\\s+){0,4}${EARLIER}\\s+(?:\\w+\\s+){0,2}${ORDERS}\\b`,
    ),
  },
  {
    why: ORDER,
    pattern: over(
      `${UNLESS_DENIED}\\b${DROP}\\s+(?:all|any)\\s+(?:of\\s+)?(?:your\\s+|the\\s+|other\\s+)?(?:instructions|guidelines|directives)\\b`,
    ),
  },
  {
    why: ORDER,
    pattern: over(
      `${UNLESS_DENIED}\\b${DROP}\\s+your\\s+(?:\\w+\\s+)?(?:instructions|guidelines|directives|rules|training|programming)\\b`,
    ),
  },
  {
    why: ORDER,
    pattern: over(
      `${UNLESS_DENIED}\\b(?:ignore|disregard|forget)\\s+everything\\s+(?:above|before|prior|previously|you\\s+(?:were|have\\s+been|know))`,
    ),
  },
  { why: ORDER, pattern: over('\\bsystem\\s+prompt\\s+(?:override|update|replacement)\\b') },
  { why: ORDER, pattern: over('\\bnew\\s+system\\s+(?:prompt|instructions?|message)\\s*:') },
  {
    why: ORDER,
    pattern: over(
      '\\b(?:reveal|print|output|repeat|leak|dump|disclose)\\s+(?:me\\s+)?your\\s+(?:\\w+\\s+){0,2}(?:system\\s+prompt|instructions)\\b',
    ),
  },
  {
    why: HIDE,
    pattern: over(
      `\\b(?:do\\s+not|don't|never)\\s+(?:tell|inform|notify|alert)\\s+${OWNER}\\s*(?:about\\s+(?:this|it|these|that|what)|of\\s+this|that\\s+(?:you|this)|anything|what\\s+you|[.!;]|$)`,
      'im',
    ),
  },
  {
    why: HIDE,
    pattern: over(`(?<!\\b(?:never|not|don't)\\b[^.\\n]{0,80})\\bwithout\\s+(?:telling|informing|notifying|alerting)\\s+${OWNER}`),
  },
  {
    why: HIDE,
    pattern: over(
      `\\b(?:hide|conceal|keep)\\s+(?:this|it|these|that|the\\s+(?:fact|following|instructions?))\\b[^.\\n]{0,40}\\bfrom\\s+${OWNER}`,
    ),
  },
  {
    why: FREE,
    pattern: over(
      '\\byou\\s+are\\s+now\\s+(?:in\\s+)?(?:dan\\b|(?:developer|god|jailbreak)\\s+mode|jailbroken|(?:an?\\s+)?(?:unrestricted|uncensored|unfiltered|jailbroken))',
    ),
  },
  {
    why: FREE,
    pattern: over(
      `\\b(?:act|behave|respond|answer|pretend)\\s+(?:as\\s+(?:if|though)\\s+|that\\s+)?you\\s+(?:have|had|are\\s+under|were\\s+under)\\s+no\\s+(?:\\w+\\s+)?${LIMITS}`,
    ),
  },
  { why: FREE, pattern: over('\\b(?:enable|enter|activate)\\s+(?:jailbreak|god|dan)\\s+mode\\b') },
  { why: ROLES, pattern: over('<\\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id)\\|>') },
  { why: ROLES, pattern: over('\\[/?INST\\]|<</?SYS>>|</?(?:system|assistant)[-_](?:prompt|message|reminder|instructions?)>', '') },
  { why: HIDDEN, pattern: over('<!--[^>]{0,400}\\b(?:secretly|hidden\\s+instructions?)\\b') },
  {
    why: HIDDEN,
    pattern: over(
      '<(?:div|span|p|font)\\b[^>]{0,200}(?:display\\s*:\\s*none|visibility\\s*:\\s*hidden|font-size\\s*:\\s*0(?![.\\d])|opacity\\s*:\\s*0(?![.\\d]))',
    ),
  },
  { why: LEAK, pattern: over(`\\b${SENDERS}\\b[^\\n]{0,400}${SECRET_VARIABLE}[^\\n]{0,400}`), really: leavesMachine, notInSkills: true },
  { why: LEAK, pattern: over(`\\b${SENDERS}\\b[^\\n]{0,400}(?:@|<\\s*|-T\\s*|--upload-file[ =]|cat\\s+)\\S*${SECRET_FILE}`) },
  { why: LEAK, pattern: over(`\\b${SENDERS}\\b[^\\n]{0,400}(?:\\$\\(|\`)\\s*(?:printenv|env|set)\\b`) },
  {
    why: LEAK,
    pattern: over(
      `(?:^|[;&\`(])[ \\t]*(?:printenv|env|set|cat[ \\t]+\\S*${SECRET_FILE})[ \\t]*\\|[ \\t]*(?:[\\w-]+(?:[ \\t][^|\\n]{0,60})?\\|[ \\t]*)?(?:${SENDERS}|base64|openssl|xxd)\\b`,
      'im',
    ),
  },
  { why: LEAK, pattern: over('\\bcat\\s+\\S*(?:/\\.ssh/id_\\w+\\b(?!\\.pub)|\\.aws/credentials|/\\.netrc\\b|/\\.pgpass\\b|/etc/shadow)') },
  {
    why: LEAK,
    pattern: over(
      "\\b(?:send|post|upload|transmit|exfiltrate|forward|leak|e-?mail)\\b[^.\\n]{0,60}\\b(?:your|all|any|every|their|the\\s+user'?s?|environment)\\s+(?:\\w+\\s+){0,2}(?:api[\\s_-]?keys?|secrets?|tokens?|passwords?|credentials?|(?:private|ssh)\\s+keys?|variables|conversation|history|files|memory)\\b[^\\n]{0,80}(?:https?://|[\\w.+-]+@[\\w-]+\\.\\w)",
    ),
  },
  {
    why: LEAK,
    pattern: over(
      '!\\[[^\\]\\n]{0,200}\\]\\(https?://[^)\\s]{0,300}(?:\\{\\{?|\\$\\{|<)[^)]{0,60}(?:secret|token|key|password|conversation|history|prompt|env|data)',
    ),
  },
  { why: BACKDOOR, pattern: over('/dev/(?:tcp|udp)/|\\b(?:nc|ncat)\\b[^\\n]{0,80}\\s-[a-z]*e\\s|>>?\\s*\\S*/?authorized_keys\\b') },
  { why: BACKDOOR, pattern: over('\\bbase64\\s+(?:-d|-D|--decode)\\b[^\\n|]{0,80}\\|\\s*(?:sudo\\s+)?(?:ba|z|da)?sh\\b') },
];

/** The first thing wrong with a text, or undefined. `skill`: it is read on purpose, as a method to follow. */
export function scanText(text: string, kind: 'prompt' | 'skill' = 'prompt'): Finding | undefined {
  const unseen = invisible(text);
  if (unseen) return unseen;
  const plain = comparable(text);
  for (const { why, pattern, really, notInSkills } of rules) {
    if (notInSkills && kind === 'skill') continue;
    for (const match of plain.matchAll(pattern)) {
      if (!really || really(match[0])) return { why, line: lineOf(plain, match.index) };
    }
  }
  return undefined;
}

/** A command that names addresses of this machine alone carries nothing away. */
function leavesMachine(command: string): boolean {
  const hosts = [...command.matchAll(/\bhttps?:\/\/(\[[^\]]*\]|[^/\s:"'`]+)/gu)].map(([, host]) => host!);
  return hosts.length === 0 || !hosts.every((host) => /^(?:localhost|127\.[\d.]+|\[::1\])$/u.test(host));
}

// --- characters nobody sees ---

/** Also two variation selectors in a row: one is part of a letter, more are bytes in disguise. */
const UNSEEN =
  /[\u00AD\u061C\u115F\u1160\u180E\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]|\u034F|\u17B4|\u17B5|[\uFE00-\uFE0F]{2,}/gu;
/** Scripts whose spelling needs joiners. */
const JOINED_SCRIPT =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Mongolian}]/u;
/** Scripts written without spaces, where U+200B marks a place to break. */
const UNSPACED_SCRIPT = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const RTL_SCRIPT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u;
const EMOJI = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F]/u;
/** Flags of Scotland and its like: a black flag and letters as tags. */
const TAGGED_FLAG = /^\u{1F3F4}[\u{E0061}-\u{E007A}\u{E0030}-\u{E0039}]{2,6}\u{E007F}/u;

function invisible(text: string): Finding | undefined {
  for (const { 0: char, index } of text.matchAll(UNSEEN)) {
    if (harmless(text, char, index)) continue;
    const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    return { why: `holds a character that nobody sees (U+${code})`, line: lineOf(text, index) };
  }
  return undefined;
}

function harmless(text: string, char: string, index: number): boolean {
  const before = Array.from(text.slice(Math.max(0, index - 2), index)).at(-1) ?? '';
  const after = String.fromCodePoint(text.codePointAt(index + char.length) ?? 0x20);
  switch (char) {
    case '\u00AD':
      return /\p{L}/u.test(before) && /\p{L}/u.test(after);
    case '\u200B':
      return UNSPACED_SCRIPT.test(before) || UNSPACED_SCRIPT.test(after);
    case '\u200C':
      return JOINED_SCRIPT.test(before);
    case '\u200D':
      return JOINED_SCRIPT.test(before) || (EMOJI.test(before) && EMOJI.test(after));
    case '\u061C':
    case '\u200E':
    case '\u200F':
      return RTL_SCRIPT.test(text.slice(Math.max(0, index - 40), index + 40));
    default:
      // Written forms of names in Chinese and Japanese.
      return isInFlag(text, index) || (/^[\u{E0100}-\u{E01EF}]$/u.test(char) && /\p{Script=Han}/u.test(before));
  }
}

function isInFlag(text: string, index: number): boolean {
  const start = text.lastIndexOf('\u{1F3F4}', index);
  if (start < 0) return false;
  const flag = TAGGED_FLAG.exec(text.slice(start, start + 20));
  return flag !== null && index < start + flag[0].length;
}

// --- text as it is compared ---

/** Letters of other alphabets that look like ours; the usual disguise of a word. */
const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    а: 'a',
    е: 'e',
    о: 'o',
    р: 'p',
    с: 'c',
    х: 'x',
    у: 'y',
    і: 'i',
    ѕ: 's',
    ԁ: 'd',
    ɡ: 'g',
    ո: 'n',
    ν: 'v',
    ο: 'o',
    ι: 'i',
    α: 'a',
    '’': "'",
  }),
);
const LOOKALIKE = new RegExp(`[${[...LOOKALIKES.keys()].join('')}]`, 'gu');

/** Wide, styled and look-alike letters as plain ones, without emphasis; a command over several lines as one (a vertical tab keeps the count). */
function comparable(text: string): string {
  const plain = /^[\n -~]*$/u.test(text) ? text : text.normalize('NFKC').replaceAll(LOOKALIKE, (char) => LOOKALIKES.get(char)!);
  return plain.replaceAll('\\\n', ' \v').replaceAll('*', '');
}

function lineOf(text: string, index: number): number {
  let line = 1;
  for (let at = 0; at < index; at++) if (text[at] === '\n' || text[at] === '\v') line++;
  return line;
}
