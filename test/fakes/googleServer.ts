/** A server that speaks the generateContent stream of Google Gemini, and its list of models. */
import { pieces, startModels, usageOf, type FakeAnswer, type FakeModels, type Vendor } from './modelServer.ts';

export interface GoogleBody {
  contents: { role: string; parts: Record<string, unknown>[] }[];
  systemInstruction?: { parts: { text: string }[] };
  tools?: unknown;
  generationConfig?: { thinkingConfig?: { thinkingBudget?: number; thinkingLevel?: string; includeThoughts?: boolean } };
  [key: string]: unknown;
}

export type FakeGoogle = FakeModels<GoogleBody>;

export const startGoogle = (...script: FakeAnswer[]): Promise<FakeGoogle> => startModels(google, script);

const google: Vendor<GoogleBody> = {
  base: '/v1beta',
  list: (path) =>
    path.startsWith('/v1beta/models')
      ? {
          models: [
            {
              name: 'models/gemini-2.5-flash',
              displayName: 'Gemini 2.5 Flash',
              inputTokenLimit: 1_048_576,
              outputTokenLimit: 65_536,
              supportedGenerationMethods: ['generateContent', 'countTokens'],
            },
            { name: 'models/text-embedding-004', displayName: 'Embedding', supportedGenerationMethods: ['embedContent'] },
          ],
        }
      : undefined,
  refusal: (status) => ({ error: { code: status, message: `scripted ${status}`, status: 'SCRIPTED' } }),
  async stream(answer, _request, send) {
    const parts = (list: Record<string, unknown>[], more: Record<string, unknown> = {}) =>
      send({ candidates: [{ index: 0, content: { role: 'model', parts: list }, ...more }] });
    for (const text of pieces(answer.reasoning ?? '')) await parts([{ text, thought: true }]);
    for (const text of pieces(answer.text ?? '')) await parts([{ text }]);
    for (const { name, args } of answer.toolCalls ?? [])
      await parts([{ functionCall: { name, args: JSON.parse(args) as unknown }, thoughtSignature: 'c2lnbmVk' }]);
    return async () => {
      const { input, output, reasoning, cacheRead } = usageOf(answer);
      await send({
        candidates: [{ index: 0, content: { role: 'model', parts: [{ text: '' }] }, finishReason: answer.finish ?? 'STOP' }],
        usageMetadata: {
          promptTokenCount: input,
          candidatesTokenCount: output - reasoning,
          thoughtsTokenCount: reasoning,
          cachedContentTokenCount: cacheRead,
          totalTokenCount: input + output,
        },
      });
    };
  },
};
