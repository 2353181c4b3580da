/** Everything that runs where the model runs: in a worker, or on the page's main thread. */

export { EngineError } from "./errors";
export { readFile } from "./file";
export { loadModel, openSession } from "./open";
export { serve } from "./serve";
export { Tokenizer } from "./tokenizer";
