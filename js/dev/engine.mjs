/**
 * Run static/engine.js in Node: `node js/dev/engine.mjs JOB.json`.
 *
 * The job names the model's file and a folder, and holds either `texts` (ids and offsets of each text or pair, and its figures
 * as one file of float32), `lines` (ids and offsets alone), `masks` (ids and a position each: the id of the first
 * answer there), `openings` (texts or pairs: what each opens on, and the ms that choosing it took), or `lengths` to time.
 * Prints one JSON value.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import "../../attn_widget/static/engine.js";

const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
const engine = await globalThis.attnWidgetEngine.open(new Uint8Array(readFileSync(job.model)));
const { layers, tensors } = await engine.header();

async function figures(text, index) {
  const { ids, typeIds, offsets } = await engine.encode(...[text].flat());
  await engine.run({ ids, typeIds });
  const all = [await engine.attention()];
  for (let layer = 0; layer <= layers; layer++) all.push(await engine.hidden(layer));
  for (const which of ["query", "key", "value"]) all.push(await engine.projection(which, 1));
  const positions = [0, Math.floor(ids.length / 2), ids.length - 1];
  all.push(await engine.logits(positions));
  if ("next_sentence.weight" in tensors) all.push(await engine.nextSentence());
  const parts = all.map((values) => new Uint8Array(values.buffer));
  writeFileSync(join(job.folder, `${index}.bin`), Buffer.concat(parts));
  return { ids, offsets };
}

async function encoded(text) {
  const { ids, offsets } = await engine.encode(text);
  return { ids, offsets };
}

/** The page's own rule, which static/engine.js does not hold. */
async function ruleOfOpenings() {
  const source = new URL("../src/features/engine/page", import.meta.url).pathname;
  const { outputFiles } = buildSync({
    stdin: {
      contents:
        'export { openingOf } from "./opening/opening"; export { columnsOf } from "./metadata";',
      resolveDir: source,
    },
    ...{ bundle: true, format: "esm", write: false, absWorkingDir: source },
  });
  return import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
  );
}

async function opened(text, { openingOf, columnsOf }) {
  const texts = [text].flat();
  const encoded = await engine.encode(...texts);
  await engine.run({ ids: encoded.ids, typeIds: encoded.typeIds });
  const attention = await engine.attention();
  const tokens = columnsOf(encoded, await engine.tokens(encoded.ids), [...texts, ""]);
  const n = encoded.ids.length;
  const shape = [layers, attention.length / (layers * n * n)];
  const opening = openingOf(attention, shape, tokens);
  const taken = [];
  for (let i = 0; i < (job.repeats ?? 0); i++) {
    const start = performance.now();
    openingOf(attention, shape, tokens);
    taken.push(performance.now() - start);
  }
  return { ...opening, tokens: n, ms: taken.sort((a, b) => a - b)[taken.length >> 1] ?? null };
}

/** Times of a run in ms, sorted. */
async function times(length) {
  const ids = Array.from({ length }, (_, i) => 1000 + i * 7);
  const found = [];
  const repeats = length > 256 ? 7 : 31;
  for (let i = 0; i < repeats; i++) {
    const start = performance.now();
    await engine.run({ ids });
    found.push(performance.now() - start);
  }
  return found.sort((a, b) => a - b);
}

/** The likeliest token at a position that is masked. */
async function guess({ ids, position }) {
  await engine.run({ ids });
  const logits = await engine.logits([position]);
  return logits.indexOf(logits.reduce((most, one) => Math.max(most, one), -Infinity));
}

const made = [];
for (const [index, text] of (job.texts ?? []).entries()) made.push(await figures(text, index));
for (const text of job.lines ?? []) made.push(await encoded(text));
for (const mask of job.masks ?? []) made.push(await guess(mask));
const rule = job.openings === undefined ? null : await ruleOfOpenings();
for (const text of job.openings ?? []) made.push(await opened(text, rule));
for (const length of job.lengths ?? []) made.push({ length, times: await times(length) });
process.stdout.write(JSON.stringify(made));
