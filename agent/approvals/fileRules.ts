/** Rules for commands that delete, write, move or read files. */
import { holdsSecrets, isDisk, wholeFolder } from './places.ts';
import { ask, never, trees, when, writes, type Rule } from './ruleForms.ts';
import { UNKNOWN, type Field } from './shellFields.ts';

export const rm: Rule = (call) => {
  const recursive = call.flag('rR', 'recursive');
  const noRoot = call.flag('', 'no-preserve-root') === true;
  return [
    noRoot ? never('rm --no-preserve-root deletes the root of the file system') : undefined,
    when(recursive, 'rm -r deletes folders with everything in them', 'rm -r'),
    ...(recursive === false ? [] : trees(call, call.operands, 'it deletes')),
    ...writes(call, recursive === false ? call.operands.filter(({ text }) => !text.startsWith(UNKNOWN)) : []),
  ];
};

export const find: Rule = (call) => {
  const isTest = ({ text }: Field) => text.startsWith('-') || text === '(' || text === '!';
  const start = call.args.findIndex(({ text }) => !/^-[HLPDO]/.test(text) && isTest({ text, glob: false }));
  const roots = (start < 0 ? call.args : call.args.slice(0, start)).filter(({ text }) => !text.startsWith('-'));
  const where = roots.length ? roots : [{ text: '.', glob: false }];
  const narrowed = call.args.some(({ text }) =>
    /^-(?:i?name|i?path|i?regex|[acm]time|[acm]min|newer|size|empty|user|perm|maxdepth)/.test(text),
  );
  const deletes = call.word('-delete');
  const runs = call.args.findIndex(({ text }) => /^-(?:exec|ok)/.test(text));
  const removes = runs >= 0 && /^(?:.*\/)?(?:rm|unlink|shred)$/.test(call.args[runs + 1]?.text ?? '');
  const output = call.args.flatMap(({ text }, at) => (/^-f(?:print0?|printf|ls)$/.test(text) ? call.args.slice(at + 1, at + 2) : []));
  return [
    when(deletes, 'find -delete deletes what it finds', 'find -delete'),
    removes ? ask('it deletes what find finds', 'find -exec rm') : undefined,
    ...((deletes === true || removes) && !narrowed ? trees(call, where, 'it deletes everything below') : []),
    ...writes(call, output),
  ];
};

/** Mode arguments that open a file to everybody, or let it run as its owner. */
const OPEN_MODE = /^(?:0?[0-7]?[0-7][0-7][2367]|[augo,]*(?:^|,)?[ao][ugoa]*[+=][rxXst]*w\w*|\+\w*w\w*)$/;
const SETUID_MODE = /^(?:[2-7][0-7]{3}|0[2-7][0-7]{3}|\w*[+=]\w*s\w*)$/;

export const chmod: Rule = (call) => {
  const [mode, ...targets] = call.args.filter(({ text }) => !/^-[cfvR]+$|^--/.test(text));
  const recursive = call.flag('R', 'recursive');
  const text = mode?.text ?? '';
  return [
    text.includes(UNKNOWN) ? ask('the mode that chmod sets is known only when it runs') : undefined,
    OPEN_MODE.test(text)
      ? ask('it lets everybody on this machine write', text === '777' ? 'chmod 777' : 'chmod world-writable')
      : undefined,
    SETUID_MODE.test(text) ? ask('it makes a program run with the rights of its owner', 'chmod setuid') : undefined,
    ...(recursive === false ? [] : trees(call, targets, 'it changes the rights of')),
    ...writes(
      call,
      targets.filter(({ text: target }) => !target.startsWith(UNKNOWN)),
    ),
  ];
};

export const chown: Rule = (call) => {
  const targets = call.operands.slice(1);
  const recursive = call.flag('R', 'recursive');
  return [
    when(recursive, `${call.name} -R changes the owner of whole folders`, `${call.name} -R`),
    ...(recursive === false ? [] : trees(call, targets, 'it changes the owner of')),
    ...writes(call, targets),
  ];
};

export const dd: Rule = (call) =>
  call.args.flatMap((arg) => {
    if (arg.text.startsWith(UNKNOWN)) return [ask('where dd writes is known only when it runs')];
    return arg.text.startsWith('of=') ? writes(call, [{ ...arg, text: arg.text.slice(3) }]) : [];
  });

/** Programs that make a disk or file system anew. */
export const format: Rule = (call) => {
  const disk = call.operands.some((field) => (call.path(field) ?? '').startsWith('/dev/'));
  return [disk ? never(`${call.name} destroys everything on a disk`) : ask(`${call.name} destroys what it is pointed at`, call.name)];
};

export const partition: Rule = (call) => {
  if (call.flag('lpLV', 'list', 'print', 'help', 'version') === true || call.word('print') === true) return [];
  return [ask(`${call.name} changes how a disk is divided`, call.name)];
};

export const shred: Rule = (call) => [
  ask('shred destroys files for good', 'shred'),
  ...call.operands.map((field) => (isDisk(call.path(field) ?? '') ? never('shred destroys everything on a disk') : undefined)),
  ...writes(call, call.operands),
];

export const awk: Rule = (call) => [
  call.args.some(({ text }) => /\bsystem\s*\(|\|\s*"|"\s*\|\s*getline|ENVIRON/.test(text))
    ? ask('the awk program runs commands or reads variables', 'awk system()')
    : undefined,
];
export const sed: Rule = (call) => [
  call.args.some(({ text }) => /(?:^|[;{}\n])\s*[0-9$,/]*e(?:\s|$)|^s(.).*\1.*\1[gpiIm0-9]*e/.test(text))
    ? ask('the sed program runs commands', 'sed e')
    : undefined,
  ...(call.flag('i', 'in-place') === false
    ? []
    : writes(call, call.operands.slice(call.flag('ef', 'expression', 'file') === true ? 0 : 1))),
];
export const tar: Rule = (call) => [
  call.args.some(({ text }) => /^--(?:checkpoint-action|to-command|use-comp|rsh-command|info-script)/.test(text)) ||
  call.args.some(({ text }) => /^-[IF]/.test(text))
    ? ask('tar is told to run a command', 'tar with a command')
    : undefined,
  ...call.args.flatMap(({ text }, at) => (text === '-C' || text === '--directory' ? writes(call, call.args.slice(at + 1, at + 2)) : [])),
];

export const mv: Rule = (call) => [...trees(call, call.operands.slice(0, -1), 'it moves away'), ...writes(call, call.operands)];
/** Writes to its last operand, or to `-t`. */
export const copy: Rule = (call) => {
  const into = call.args.flatMap(({ text }, at) => {
    const joined = /^--target-directory=(.*)/.exec(text)?.[1];
    return joined !== undefined
      ? [{ text: joined, glob: false }]
      : /^-t$|^--target-directory$/.test(text)
        ? call.args.slice(at + 1, at + 2)
        : [];
  });
  return writes(call, into.length ? into : call.operands.slice(-1).filter(({ text }) => !/^[\w.@-]+:/.test(text)));
};
export const writesOperands: Rule = (call) =>
  writes(
    call,
    call.operands.filter(({ text }) => !text.startsWith('+') && !text.startsWith('|')),
  );

export const rsync: Rule = (call) => [
  call.args.some(({ text }) => /^--(?:del|delete|remove-source)/.test(text))
    ? ask('rsync deletes what the other side does not have', 'rsync --delete')
    : undefined,
  ...copy(call),
];

export const download: Rule = (call) => {
  const isWget = call.name === 'wget';
  const files = call.args.flatMap(({ text }, at) => {
    const joined = /^(?:--output(?:-document)?=|-[oO](?=.))(.+)/.exec(text)?.[1];
    if (joined) return [{ text: joined, glob: false }];
    const takes = isWget ? /^(?:-O|--output-document|-P|--directory-prefix)$/ : /^(?:-\w*o|--output)$/;
    return takes.test(text) ? call.args.slice(at + 1, at + 2) : [];
  });
  return writes(
    call,
    files.filter(({ text }) => text !== '-'),
  );
};

export const readsTree: Rule = (call) => {
  const recursive = /^(?:rg|ag|ack|zip|tar|rsync|scp|7z)$/.test(call.name) ? true : call.flag('rRa', 'recursive', 'archive');
  if (recursive === false) return [];
  const secret = call.operands.some((field) => {
    const path = call.path(field);
    return path !== undefined && holdsSecrets(wholeFolder(path), call.places);
  });
  return [secret ? ask('it would read the secrets of this service too') : undefined];
};
