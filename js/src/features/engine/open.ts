/** Opens a file of weights and vocabulary. */

import { readFile } from "./file";
import { startKernels } from "./kernels";
import { Model } from "./model";
import { Session } from "./session";
import { Tokenizer } from "./tokenizer";

/** The model in a file, as attn_widget/features/engine/packing.py writes it. */
export async function loadModel(file: Uint8Array, kernels: BufferSource): Promise<Model> {
  return new Model(await startKernels(kernels), readFile(file));
}

/** Model and tokenizer of a file. */
export async function openSession(file: Uint8Array, kernels: BufferSource): Promise<Session> {
  const parts = readFile(file);
  const model = new Model(await startKernels(kernels), parts);
  return new Session(model, new Tokenizer(parts.vocabulary, parts.header.positions));
}
