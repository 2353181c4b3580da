/** Similarities of typed texts by a model in the page, over a made-up engine. */

import { expect, test } from "vitest";
import type { Metadata } from "../../../src/features/engine/page/metadata";
import type { RequestQueue, Turn } from "../../../src/features/engine/page/request-queue";
import { type Embedder, SimilarSource } from "../../../src/features/engine/page/similar";
import type { Encoded } from "../../../src/features/engine/tokenizer";
import { fakeRun } from "../../fake";
import { metaOf } from "../../runs";

const embedder: Embedder = {
  kind: "cosine",
  pooling: "mean",
  unit: true,
  prompts: ["", ""],
  lowercase: false,
  longest: 8,
  notes: [],
  rounding: { score: 0, entry: 0 },
};

/** Each word is a token, and its hidden state is its length and 1. */
const engine = {
  async encode(text: string): Promise<Encoded & { names: string[] }> {
    const words = [...text.matchAll(/\w+/g)];
    return {
      names: words.map(([word]) => String(word.length)),
      ids: words.map(([word]) => word.length),
      typeIds: words.map(() => 0),
      offsets: words.map(({ 0: word, index }) => [index, index + word.length] as const),
    };
  },
  ran: [] as readonly number[],
  async hidden() {
    return Float32Array.from(this.ran.flatMap((id) => [id, 1]));
  },
};
const queue = {
  take: (work: (turn: Turn) => Promise<unknown>) =>
    work({
      engine,
      run: async ({ ids }: { ids: readonly number[] }) => {
        engine.ran = ids;
      },
    } as unknown as Turn),
} as unknown as RequestQueue;

test("exports name the texts that are shown, also of an answer that is kept", async () => {
  const saved = fakeRun(metaOf(["saved"]), () => ({ data: {}, arrays: new Map() })).source;
  const metadata = { model: { n_layers: 1 } } as unknown as Metadata;
  const source = new SimilarSource(saved, queue, metadata, embedder);
  const type = async (a: string, b: string) => {
    await source.ask({ kind: "similar", texts: [a, b] });
    return [source.meta.text, source.meta.text_pair];
  };
  expect(await type("a cat", "the dog")).toEqual(["a cat", "the dog"]);
  expect(await type("a cat", "the mat")).toEqual(["a cat", "the mat"]);
  expect(await type("a cat", "the dog")).toEqual(["a cat", "the dog"]);
});
