/** An agent worker whose model is a provider that answers as told, and a client of it. */
import type { Test } from 'tap';
import { startOpenAi, type FakeOpenAi } from '../fakes/openaiServer.ts';
import { connect, type AgentClient } from './agentClient.ts';
import { testHome, type TestHome } from './home.ts';
import { startWorker, type TestWorker } from './worker.ts';

export interface ProviderStage {
  provider: FakeOpenAi;
  home: TestHome;
  worker: TestWorker;
  client: AgentClient;
}

/** `settings`: more lines of config.yaml. All of it ends with the test. */
export async function startProviderStage(t: Pick<Test, 'teardown'>, settings = ''): Promise<ProviderStage> {
  const provider = await startOpenAi();
  const home = testHome({ 'config.yaml': `model: { default: tiny-1 }\nproviders: { box: { base_url: "${provider.url}" } }\n${settings}` });
  const worker = await startWorker(home, 'agent');
  const client = await connect(worker);
  t.teardown(async () => {
    client[Symbol.dispose]();
    await worker[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });
  return { provider, home, worker, client };
}

/** The same stage as if it were new, for tests that share a worker which none of them kills. */
export function anew(stage: ProviderStage): ProviderStage {
  stage.provider.requests.length = 0;
  stage.client.events.length = 0;
  return stage;
}
