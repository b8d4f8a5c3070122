import t from 'tap';
import { setImmediate as tick } from 'node:timers/promises';
import type {
  Compressor,
  Model,
  ModelChunk,
  ModelMessage,
  ModelRequest,
  ToolCall,
  Tools,
  ToolResult,
  Transcript,
  Usage,
} from '../../agent/ports.ts';
import { runTurn, type TurnParts } from '../../agent/turn.ts';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { virtualClock } from '../harness/virtualClock.ts';

/** One entry per model call: chunks, or a function that makes them. */
type Script = (ModelChunk[] | ((request: ModelRequest) => AsyncIterable<ModelChunk>))[];

const text = (value: string): ModelChunk => ({ type: 'text', text: value });
const call = (id: string, name = 'echo', args: unknown = { value: id }): ModelChunk => ({ type: 'toolCall', call: { id, name, args } });
const finish = (reason: 'stop' | 'tool_calls' = 'stop'): ModelChunk => ({ type: 'finish', reason, usage: { input: 10, output: 2 } });

/** A turn against fakes; `story` is everything that happened, in order. */
function stage(script: Script, more: Partial<TurnParts> & { run?: Tools['run']; steer?: string[][] } = {}) {
  const story: string[] = [];
  const requests: ModelRequest[] = [];
  const controller = new AbortController();
  let rows = 0;
  const model: Model = {
    provider: 'fake',
    id: 'fake',
    scripted: false,
    contextWindow: null,
    vision: false,
    effortFor: () => undefined,
    async *stream(request) {
      requests.push({ ...request, messages: [...request.messages] });
      const next = script.shift() ?? [text('out of script'), finish()];
      yield* typeof next === 'function' ? next(request) : next;
    },
  };
  const transcript: Transcript = {
    messages: () => [{ role: 'user', content: 'hi' }],
    openAssistant: () => (story.push(`open ${++rows}`), rows),
    closeAssistant: (id, end) =>
      void story.push(
        `close ${id} ${end.finishReason} "${end.text}"${end.toolCalls.length ? ` calls ${end.toolCalls.map((c) => c.id).join()}` : ''}`,
      ),
    takeSteer: () => more.steer?.shift() ?? [],
    toolsStarting: () => void story.push('tools starting'),
    addToolResult: (c, result) => void story.push(`result ${c.id} ${result.isError ? 'error ' : ''}"${result.text}"`),
  };
  const tools: Tools = {
    specs: [{ name: 'echo', description: 'echoes', parameters: {} }],
    readsOnly: (name) => name.startsWith('look'),
    guarded: (name) => name !== 'unguarded',
    run: more.run ?? (async (c): Promise<ToolResult> => ({ text: `echo ${c.id}`, isError: false })),
  };
  const parts: TurnParts = {
    model,
    system: 'be brief',
    tools,
    transcript,
    events: {
      emit: (type, payload) =>
        void story.push(
          `event ${type}${'tool_id' in payload ? ` ${String(payload.tool_id)}` : ''}${'text' in payload ? ` "${String(payload.text)}"` : ''}`,
        ),
    },
    signal: controller.signal,
    ...more,
  };
  return { story, requests, controller, end: runTurn(parts) };
}

t.test('a turn asks the model, runs its tools in order, and asks again until it is done', async (t) => {
  const { end, story, requests } = stage([
    [text('Let me '), text('look.'), call('a'), call('b'), finish('tool_calls')],
    [text('Done.'), finish()],
  ]);
  t.same(await end, {
    status: 'complete',
    messageId: 2,
    text: 'Done.',
    error: null,
    usage: { input: 20, output: 4 },
    modelCalls: 2,
    toolCalls: 2,
    contextTokens: 10,
  });
  t.same(story, [
    'open 1',
    'event message.start',
    'event message.delta "Let me "',
    'event message.delta "look."',
    'close 1 tool_calls "Let me look." calls a,b',
    'event message.interim "Let me look."',
    'tools starting',
    'event tool.start a',
    'result a "echo a"',
    'event tool.complete a',
    'event tool.start b',
    'result b "echo b"',
    'event tool.complete b',
    'open 2',
    'event message.start',
    'event message.delta "Done."',
    'close 2 stop "Done."',
  ]);
  t.same(
    requests[1]!.messages.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'tool'],
    'the second call sees what the tools said',
  );
});

t.test('a turn that never stops calling tools is stopped at its limit', async (t) => {
  const endless: Script = Array.from({ length: 10 }, (_, n) => [call(`c${n}`), finish('tool_calls')]);
  const { end, requests } = stage(endless, { iterationsMax: 3 });
  t.match(await end, { status: 'error', error: { code: 'ITERATION_LIMIT' }, modelCalls: 3, toolCalls: 3 });
  t.equal(requests.length, 3);
});

t.test('an interrupt during the stream ends the turn at once and keeps the text, also when the model ignores the signal', async (t) => {
  const { end, story, controller } = stage([
    async function* () {
      yield text('half an ans');
      await new Promise(() => {});
    },
  ]);
  await tick();
  controller.abort(new AgentError('CANCELLED', 'interrupted by the user'));
  t.match(await end, { status: 'interrupted', text: 'half an ans', error: null });
  t.ok(story.includes('close 1 interrupted "half an ans"'));
});

t.test('an interrupt during a tool gives that call and the ones after it a result, and asks the model nothing more', async (t) => {
  const { end, story, controller, requests } = stage([[call('a'), call('b'), finish('tool_calls')]], {
    run: (_call, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({ text: 'killed', isError: true }))),
  });
  await tick();
  controller.abort(new AgentError('CANCELLED', 'interrupted by the user'));
  t.match(await end, { status: 'interrupted', error: null });
  t.same(
    story.filter((line) => line.startsWith('result')),
    ['result a error "Interrupted before it finished."', 'result b error "Not run: the turn was interrupted."'],
  );
  t.equal(requests.length, 1);
});

t.test('an interrupt by the service says why', async (t) => {
  const { end, controller } = stage([
    async function* () {
      yield text('x');
      await new Promise(() => {});
    },
  ]);
  await tick();
  controller.abort(new AgentError('DRAINING', 'the worker leaves', { fix: 'send it again' }));
  t.match(await end, { status: 'interrupted', error: { code: 'DRAINING', message: 'the worker leaves', fix: 'send it again' } });
});

t.test('a tool over the deadline guard is stopped, and the model is told TOOL_TIMEOUT and goes on', async (t) => {
  const clock = virtualClock();
  let stopped = false;
  const { end, story } = stage(
    [
      [call('slow'), finish('tool_calls')],
      [text('It hung.'), finish()],
    ],
    {
      clock,
      run: (_call, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => ((stopped = true), resolve({ text: 'first lines', isError: false }))),
        ),
    },
  );
  await tick();
  await clock.advance(limits.turn.toolGuardMs - 1);
  t.notOk(stopped, 'not a millisecond early');
  await clock.advance(1);
  t.match(await end, { status: 'complete', text: 'It hung.' });
  t.match(
    story.find((line) => line.startsWith('result')),
    /error "TOOL_TIMEOUT \(tool_timeout\): echo took longer than 420 s and was stopped\nOutput until then:\nfirst lines"/,
  );
});

t.test('a tool that ignores being stopped is left behind after a bounded wait', async (t) => {
  const clock = virtualClock();
  const { end, story } = stage(
    [
      [call('deaf'), finish('tool_calls')],
      [text('ok'), finish()],
    ],
    { clock, run: () => new Promise(() => {}) },
  );
  await tick();
  await clock.advance(limits.turn.toolGuardMs);
  await clock.advance(limits.turn.toolStopMs);
  t.match(await end, { status: 'complete' });
  t.match(
    story.find((line) => line.startsWith('result')),
    /TOOL_TIMEOUT/,
  );
});

t.test('the deadline guard does not apply to a tool that is not guarded', async (t) => {
  const clock = virtualClock();
  const gate = Promise.withResolvers<ToolResult>();
  const { end, story } = stage(
    [
      [call('card', 'unguarded'), finish('tool_calls')],
      [text('ok'), finish()],
    ],
    { clock, run: () => gate.promise },
  );
  await tick();
  await clock.advance(2 * limits.turn.toolGuardMs);
  gate.resolve({ text: 'answered late', isError: false });
  await end;
  t.ok(story.includes('result card "answered late"'));
});

t.test('what a provider or a tool does wrong becomes an outcome, never an exception', async (t) => {
  const cases: { name: string; script: Script; run?: Tools['run']; want: object; wantResult?: string }[] = [
    {
      name: 'a refusal before the first word',
      script: [
        async function* () {
          throw new AgentError('PROVIDER_FAILED', 'it answered 400', { fix: 'look' });
        },
      ],
      want: { status: 'error', text: '', error: { code: 'PROVIDER_FAILED', message: 'it answered 400', fix: 'look' } },
    },
    {
      name: 'a cut keeps the text',
      script: [
        async function* () {
          yield text('so far');
          throw new AgentError('PROVIDER_CUT', 'cut');
        },
      ],
      want: { status: 'error', text: 'so far', error: { code: 'PROVIDER_CUT' } },
    },
    {
      name: 'a cut after a tool call does not run the call',
      script: [
        async function* () {
          yield call('never');
          throw new AgentError('PROVIDER_CUT', 'cut');
        },
      ],
      want: { status: 'error', toolCalls: 0 },
    },
    {
      name: 'a defect in a model adapter',
      script: [
        async function* () {
          throw new TypeError('x is undefined');
        },
      ],
      want: { status: 'error', error: { code: 'INTERNAL', message: 'x is undefined' } },
    },
    {
      name: 'a tool that throws',
      script: [
        [call('a'), finish('tool_calls')],
        [text('noted'), finish()],
      ],
      run: async () => {
        throw new AgentError('NOT_FOUND', 'no such file', { fix: 'name another' });
      },
      want: { status: 'complete', text: 'noted' },
      wantResult: 'result a error "NOT_FOUND: no such file (name another)"',
    },
  ];
  for (const { name, script, run, want, wantResult } of cases) {
    const { end, story } = stage(script, run ? { run } : {});
    t.match(await end, want, name);
    if (wantResult) t.ok(story.includes(wantResult), name);
  }
});

t.test('tool calls whose ids repeat in the conversation get ids of their own', async (t) => {
  const { end, story } = stage([[call('call_0'), finish('tool_calls')], [call('call_0'), call(''), finish('tool_calls')], [finish()]]);
  await end;
  t.same(
    story.filter((line) => line.startsWith('result')).map((line) => line.split(' ')[1]),
    ['call_0', 'call_2_0', 'call_2_1'],
  );
});

t.test('lesson 25: a store that is locked ends the turn as what it is; no model is asked because of it', async (t) => {
  const { end, requests } = stage([[call('a'), finish('tool_calls')]], {
    transcript: {
      messages: () => [{ role: 'user', content: 'hi' }],
      openAssistant: () => 1,
      closeAssistant: () => {
        throw new AgentError('STORE_BUSY', 'another process holds the store');
      },
      takeSteer: () => [],
      toolsStarting: () => {},
      addToolResult: () => {},
    },
  });
  await t.rejects(end, { code: 'STORE_BUSY' });
  t.equal(requests.length, 1);
});

// --- tools side by side ---

/** Runs that end when told, in the order they began. */
function gates() {
  const open = new Map<string, PromiseWithResolvers<ToolResult>>();
  return {
    started: () => [...open.keys()],
    run: (c: ToolCall) => {
      const gate = Promise.withResolvers<ToolResult>();
      open.set(c.id, gate);
      return gate.promise;
    },
    async end(id: string) {
      open.get(id)!.resolve({ text: `done ${id}`, isError: false });
      await tick();
    },
  };
}

t.test(
  'neighbouring calls that only read run side by side, all others one after the other, results in the order of the calls',
  async (t) => {
    const { run, started, end: finishOne } = gates();
    const { end, story } = stage(
      [
        [call('a', 'look'), call('b', 'look'), call('w'), call('c', 'look'), finish('tool_calls')],
        [text('ok'), finish()],
      ],
      { run },
    );
    await tick();
    t.same(started(), ['a', 'b'], 'two at once, the writer waits');
    await finishOne('b');
    t.notOk(
      story.some((line) => line.startsWith('result')),
      'the second waits for the first one',
    );
    await finishOne('a');
    t.same(started(), ['a', 'b', 'w']);
    await finishOne('w');
    t.same(started(), ['a', 'b', 'w', 'c']);
    await finishOne('c');
    t.match(await end, { status: 'complete', toolCalls: 4 });
    t.same(
      story.filter((line) => /^(result|event tool)/.test(line)),
      [
        'event tool.start a',
        'event tool.start b',
        'result a "done a"',
        'event tool.complete a',
        'result b "done b"',
        'event tool.complete b',
        'event tool.start w',
        'result w "done w"',
        'event tool.complete w',
        'event tool.start c',
        'result c "done c"',
        'event tool.complete c',
      ],
    );
  },
);

t.test('not more than the limit run side by side', async (t) => {
  const { run, started, end: finishOne } = gates();
  const ids = Array.from({ length: limits.turn.parallelCallsMax + 2 }, (_, n) => `p${n}`);
  const { end } = stage([[...ids.map((id) => call(id, 'look')), finish('tool_calls')]], { run });
  await tick();
  t.equal(started().length, limits.turn.parallelCallsMax);
  await finishOne('p0');
  t.equal(started().length, limits.turn.parallelCallsMax + 1);
  for (const id of ids.slice(1)) await finishOne(id);
  t.match(await end, { toolCalls: ids.length });
});

t.test('an interrupt ends all calls that run side by side; each has its result and its paired events', async (t) => {
  const left: Promise<unknown>[] = [];
  const { end, story, controller, requests } = stage([[call('a', 'look'), call('b', 'look'), call('c'), finish('tool_calls')]], {
    run: (c, { signal }) =>
      c.id === 'a'
        ? new Promise(() => {})
        : new Promise((resolve) => signal.addEventListener('abort', () => resolve({ text: 'cut', isError: true }))),
    onLeft: (running) => void left.push(running),
  });
  await tick();
  controller.abort(new AgentError('CANCELLED', 'interrupted by the user'));
  t.match(await end, { status: 'interrupted', error: null, toolCalls: 3 });
  t.equal(left.length, 1, 'the one that does not end is handed to the host');
  t.equal(requests.length, 1);
  t.same(
    story.filter((line) => /^(result|event tool)/.test(line)),
    [
      'event tool.start a',
      'event tool.start b',
      'result a error "Interrupted before it finished."',
      'event tool.complete a',
      'result b error "Interrupted before it finished."',
      'event tool.complete b',
      'event tool.start c',
      'result c error "Not run: the turn was interrupted."',
      'event tool.complete c',
    ],
  );
});

// --- steering ---

t.test('a text of the user joins the turn after the tool results', async (t) => {
  const { end, requests } = stage(
    [
      [call('a'), finish('tool_calls')],
      [text('As you like.'), finish()],
    ],
    { steer: [['rather in blue']] },
  );
  t.match(await end, { status: 'complete', text: 'As you like.', modelCalls: 2 });
  t.match(requests[1]!.messages, [
    { role: 'user', content: 'hi' },
    { role: 'assistant' },
    { role: 'tool' },
    { role: 'user', content: 'rather in blue' },
  ]);
});

t.test('a text that comes when the turn is about to end gets one more model call', async (t) => {
  const { end, requests, story } = stage(
    [
      [text('Done.'), finish()],
      [text('In blue then.'), finish()],
    ],
    { steer: [['rather in blue']] },
  );
  t.match(await end, { status: 'complete', text: 'In blue then.', modelCalls: 2, messageId: 2 });
  t.match(requests[1]!.messages.slice(1), [
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'rather in blue' },
  ]);
  t.ok(story.includes('event message.interim "Done."'), 'what was said before is a segment of its own');
});

t.test('a turn at its limit takes no text up: it stays for the queue', async (t) => {
  const steer = [['rather in blue']];
  const { end } = stage([[text('Done.'), finish()]], { steer, iterationsMax: 1 });
  t.match(await end, { status: 'complete', text: 'Done.' });
  t.same(steer, [['rather in blue']], 'not taken');
});

// --- making room ---

const overflow = async function* (): AsyncGenerator<ModelChunk> {
  throw new AgentError('CONTEXT_OVERFLOW', 'too long: 9 tokens');
};

/** A compressor that notes why it was asked. */
function compressor(due: boolean[], answers: (ModelMessage[] | null)[]) {
  const asked: string[] = [];
  const counts: (number | null)[] = [];
  const port: Compressor = {
    due: (_messages, tokens) => (counts.push(tokens), due.shift() ?? false),
    compress: async (reason) => (asked.push(reason), answers.shift() ?? null),
  };
  return { asked, counts, port };
}

t.test('a conversation over the threshold is compressed before the model is asked, also in the middle of a turn', async (t) => {
  const { asked, counts, port } = compressor([false, true], [[{ role: 'summary', content: 'short' }]]);
  const { end, requests } = stage(
    [
      [call('a'), finish('tool_calls')],
      [text('ok'), finish()],
    ],
    { compressor: port },
  );
  t.match(await end, { status: 'complete', modelCalls: 2 });
  t.same(asked, ['threshold']);
  t.same(counts[0], null, 'nothing was counted yet');
  t.ok(counts[1]! > 10, 'what came after the count of the provider is added');
  t.same(requests[1]!.messages, [{ role: 'summary', content: 'short' }]);
});

t.test('a prompt that the provider finds too long is compressed once and asked again, into the same row', async (t) => {
  const { asked, port } = compressor([], [[{ role: 'summary', content: 'short' }]]);
  const { end, story, requests } = stage([overflow, [text('ok'), finish()]], { compressor: port });
  t.match(await end, { status: 'complete', text: 'ok', messageId: 1, modelCalls: 2 });
  t.same(asked, ['overflow']);
  t.same(requests[1]!.messages, [{ role: 'summary', content: 'short' }]);
  t.equal(story.filter((line) => line.startsWith('open')).length, 1);
});

t.test('when compression does not help, the turn ends with CONTEXT_EXHAUSTED and the ways out', async (t) => {
  const want = { status: 'error', error: { code: 'CONTEXT_EXHAUSTED', message: /too long: 9 tokens/, fix: /\/compress.*\/new.*\/model/ } };
  const cases: { name: string; answers?: (ModelMessage[] | null)[]; calls: number }[] = [
    { name: 'nothing could be made smaller', answers: [null], calls: 1 },
    { name: 'smaller, and still too long', answers: [[], []], calls: 2 },
    { name: 'compression is switched off', calls: 1 },
  ];
  for (const { name, answers, calls } of cases) {
    const { end, requests } = stage([overflow, overflow, overflow], answers ? { compressor: compressor([], answers).port } : {});
    t.match(await end, want, name);
    t.equal(requests.length, calls, name);
  }
});

t.test('a turn compresses three times at most', async (t) => {
  const { asked, port } = compressor(
    Array.from({ length: 10 }, () => true),
    Array.from({ length: 10 }, () => [{ role: 'summary' as const, content: 'short' }]),
  );
  const { end } = stage([...Array.from({ length: 5 }, (_, n) => [call(`c${n}`), finish('tool_calls')]), overflow], { compressor: port });
  t.match(await end, { status: 'error', error: { code: 'CONTEXT_EXHAUSTED' } });
  t.equal(asked.length, limits.compress.perTurnMax);
});

t.test('an interrupt that comes while the conversation is compressed ends the turn after it', async (t) => {
  const gate = Promise.withResolvers<ModelMessage[] | null>();
  const { end, controller, requests } = stage([], { compressor: { due: () => true, compress: () => gate.promise } });
  await tick();
  controller.abort(new AgentError('CANCELLED', 'interrupted by the user'));
  gate.resolve([]);
  t.match(await end, { status: 'interrupted', modelCalls: 0 });
  t.equal(requests.length, 0);
});

t.test('retries, another model and the beginning of a call are said while they last', async (t) => {
  const taken: string[] = [];
  const { end, story } = stage(
    [
      [
        { type: 'retry', attempt: 1, waitMs: 20, reason: 'box: it answered 500' },
        { type: 'fallback', provider: 'spare', model: 'm2', reason: 'box: it answered 500' },
        { type: 'toolStart', name: 'echo' },
        call('a'),
        finish('tool_calls'),
      ],
      [text('ok'), finish()],
    ],
    { onFallback: ({ provider, model }) => void taken.push(`${provider}/${model}`) },
  );
  await end;
  t.same(taken, ['spare/m2']);
  t.same(story.slice(2, 5), [
    'event status.update "box: it answered 500; asking again (1) in 20 ms"',
    'event status.update "box: it answered 500; asking spare/m2 instead"',
    'event tool.generating',
  ]);
});

t.test('tokens and money of all model calls are added up; what nobody counts stays unknown', async (t) => {
  const used = (usage: Usage): ModelChunk => ({ type: 'finish', reason: 'tool_calls', usage });
  const { end } = stage([
    [call('a'), used({ input: 10, output: 1, costUsd: 0.5 })],
    [call('b'), used({ input: 20, output: 2, cacheRead: 15, costUsd: 0.25 })],
    [text('ok'), { type: 'finish', reason: 'stop', usage: null }],
  ]);
  t.same((await end).usage, { input: 30, output: 3, cacheRead: 15, costUsd: 0.75 });
});

t.test('an answer that the provider withheld ends the turn with CONTENT_FILTERED; what had arrived is kept', async (t) => {
  const { end, story } = stage([[text('So far'), { type: 'finish', reason: 'content_filter', usage: null }]]);
  t.match(await end, { status: 'error', text: 'So far', error: { code: 'CONTENT_FILTERED', fix: /other words/ } });
  t.ok(story.includes('close 1 content_filter "So far"'));
});

t.test('an answer that stops at the limit of output, and one that is empty, are complete and say so', async (t) => {
  const cut = stage([[text('A long'), { type: 'finish', reason: 'length', usage: null }]]);
  t.match(await cut.end, { status: 'complete', text: 'A long', error: null });
  t.match(cut.story.at(-1), /^event notice "The answer stops here/);
  const empty = stage([[finish()]]);
  t.match(await empty.end, { status: 'complete', text: '' });
  t.equal(empty.story.at(-1), 'event notice "The model gave no answer."');
});
