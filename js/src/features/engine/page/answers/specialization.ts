/** Specializations and roles: attn_widget/figures/specialization.py, attn_widget/language/keys.py. */

import type { NdArray, Slice, SliceRequest } from "../../../../protocol/types";
import type { EngineRun } from "../engine-run";
import type { Answers } from "./contract";
import { rolesOf } from "./roles";
import { NO_TAGS, wordsOfRun } from "./words";

const SYNTAX = new Set(["DET", "ADP", "AUX", "CCONJ", "SCONJ", "PART", "PRON"]);
const SEMANTICS = new Set(["NOUN", "PROPN", "VERB", "ADJ", "ADV", "NUM"]);
const PUNCTUATION = /^[\p{P}`]+$/u;
const KEYS = ["syntax", "semantics", "cls", "punctuation", "entities", "long_range", "self"];
/** Tokens between query and key from which a pair counts as long range. */
const LONG_RANGE = 5;
/** Figures closer than this differ by rounding alone. */
const EQUAL = 1e-6;

interface Specializations {
  /** `[L, H]` flat; NaN = N/A. */
  readonly raw: Readonly<Record<string, Float32Array>>;
  readonly chance: Readonly<Record<string, number | null>>;
  readonly reasons: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

/** Mean over queries of what each key receives, of the diagonal and of far pairs, by head. */
function marginals({ n, shape, attention }: EngineRun) {
  const heads = shape[0] * shape[1];
  const received = new Float64Array(heads * n);
  const self = new Float64Array(heads);
  const far = new Float64Array(heads);
  for (let head = 0; head < heads; head++) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const weight = attention[(head * n + i) * n + j] as number;
        received[head * n + j] = (received[head * n + j] as number) + weight;
        if (i === j) self[head] = (self[head] as number) + weight;
        if (Math.abs(i - j) >= LONG_RANGE) far[head] = (far[head] as number) + weight;
      }
    }
  }
  return { heads, received, self, far };
}

async function specializationsOf(run: EngineRun): Promise<Specializations> {
  const { n } = run;
  const { heads, received, self, far } = marginals(run);
  const { tokens } = run.meta;
  const { token_pos, notes } = await wordsOfRun(run);
  const tagged = token_pos.some((tag) => tag !== null);
  const sets: [key: string, members: boolean[], reason: string][] = [
    ["syntax", token_pos.map((tag) => SYNTAX.has(tag ?? "")), "The text has no function word."],
    [
      "semantics",
      token_pos.map((tag) => SEMANTICS.has(tag ?? "")),
      "The text has no content word.",
    ],
    [
      "punctuation",
      tokens.surface.map((surface, i) => {
        return !tokens.special[i] && PUNCTUATION.test(surface.replace(/\s/gu, ""));
      }),
      "The text has no punctuation.",
    ],
  ];
  const absent = (): Float32Array => new Float32Array(heads).fill(Number.NaN);
  const raw: Record<string, Float32Array> = Object.fromEntries(KEYS.map((key) => [key, absent()]));
  const chance: Record<string, number | null> = Object.fromEntries(KEYS.map((key) => [key, null]));
  const why: Record<string, string> = {
    entities: tagged ? "The tagger does not look for named entities." : NO_TAGS,
  };
  const each = (value: (head: number) => number): Float32Array =>
    Float32Array.from({ length: heads }, (_, head) => value(head));
  for (const [key, members, reason] of sets) {
    const count = members.filter((value) => value).length;
    if (count === 0) {
      why[key] = key === "punctuation" || tagged ? reason : NO_TAGS;
      continue;
    }
    chance[key] = count / n;
    raw[key] = each((head) => {
      const row = received.subarray(head * n, (head + 1) * n);
      const total = row.reduce((sum, value) => sum + value, 0);
      return row.reduce((sum, value, j) => sum + (members[j] ? value : 0), 0) / total;
    });
  }
  raw.cls = each((head) => (received[head * n] as number) / n);
  raw.self = each((head) => (self[head] as number) / n);
  chance.cls = chance.self = 1 / n;
  if (n > LONG_RANGE) {
    const pairs = (n - LONG_RANGE) * (n - LONG_RANGE + 1);
    raw.long_range = each((head) => (far[head] as number) / pairs);
    chance.long_range = 1 / n;
  } else {
    const count = n === 1 ? "There is 1 token" : `There are ${n} tokens`;
    why.long_range = `${count}; a pair ${LONG_RANGE} tokens apart needs ${LONG_RANGE + 1}.`;
  }
  const reasons = Object.fromEntries(
    KEYS.flatMap((key) => {
      const reason = why[key];
      return reason === undefined ? [] : [[key, reason]];
    }),
  );
  return { raw, chance, reasons, notes };
}

/** Each layer's heads between 0 and 1; NaN for a layer whose heads agree. */
function scaled(values: Float32Array, heads: number): Float32Array {
  return values.map((value, i) => {
    const layer = values.subarray(i - (i % heads), i - (i % heads) + heads);
    const low = Math.min(...layer);
    const spread = Math.max(...layer) - low;
    return spread > EQUAL ? (value - low) / spread : Number.NaN;
  });
}

/** Standard scores over all heads; NaN where they agree. */
function standardized(values: Float32Array): Float32Array {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  const deviation = Math.sqrt(variance);
  return values.map((value) => (deviation > EQUAL ? (value - mean) / deviation : Number.NaN));
}

async function specialization(run: EngineRun): Promise<Slice> {
  const { raw, chance, reasons, notes } = await specializationsOf(run);
  const { shape } = run;
  const forms: Readonly<Record<string, (values: Float32Array) => Float32Array>> = {
    raw: (values) => values,
    scaled: (values) => scaled(values, shape[1]),
    z: standardized,
  };
  const arrays = new Map<string, NdArray>();
  for (const [form, make] of Object.entries(forms))
    for (const [key, values] of Object.entries(raw))
      arrays.set(`${form}:${key}`, { data: make(values), shape });
  return { data: { keys: KEYS, chance, reasons, notes }, arrays };
}

async function roles(run: EngineRun, { seed = 0 }: SliceRequest<"roles">): Promise<Slice> {
  const { raw } = await specializationsOf(run);
  const scores = Object.entries(raw).map(([key, values]) => [key, standardized(values)] as const);
  const kept = scores.filter(([, values]) => values.every(Number.isFinite));
  return rolesOf(new Map(kept), run.shape, seed);
}

export const SPECIALIZATION: Answers = { specialization, roles };
