/**
 * The language models of the provider packages, kept from turn to turn: to make one builds the schemas of its answers
 * anew (2 ms, measured), on the path of a turn's first byte.
 */
import { fetchAtOrigin } from '../../base/fetchAtOrigin.ts';
import { limits } from '../../base/limits.ts';
import type { Adapter, LanguageModel } from './endpoint.ts';
import type { EndpointSettings } from './kinds.ts';

interface Kept {
  adapter: Adapter;
  settings: EndpointSettings;
  apiKey: string | undefined;
  model: LanguageModel;
}

export class Connections {
  /** The least recently used first. */
  #kept: Kept[] = [];

  open(adapter: Adapter, settings: EndpointSettings, apiKey: string | undefined): LanguageModel {
    const index = this.#kept.findIndex((one) => one.adapter === adapter && one.apiKey === apiKey && isSame(one.settings, settings));
    const found = this.#kept.splice(index, index < 0 ? 0 : 1)[0];
    const { model } = found ?? { model: adapter.languageModel({ settings, apiKey, fetch: fetchAtOrigin }) };
    this.#kept.push(found ?? { adapter, settings, apiKey, model });
    if (this.#kept.length > limits.models.connectionsMax) this.#kept.shift();
    return model;
  }
}

const isSame = (a: EndpointSettings, b: EndpointSettings): boolean =>
  a.kind === b.kind && a.baseUrl === b.baseUrl && a.model === b.model && JSON.stringify(a.headers) === JSON.stringify(b.headers);
