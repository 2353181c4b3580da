/** Slices of what attention carries (docs/influence.md, section 1), out of a saved page. */

import type { Mixing } from "../../catalog/selection";
import { f32 } from "../arrays";
import { spread } from "../cells";
import { needsKernel } from "../failure";
import { keysOf } from "../meta";
import { arrayOf } from "../required";
import { squaresOf } from "../saved/codes";
import { NAMES } from "../saved/names";
import type { SavedRun } from "../saved/run";
import type { Answers, NdArray, Rows, TypedArray } from "../slice";
import { rowsOf } from "./arrays";
import { checkRollout, matrixSlice } from "./attention";
import { rowsNormalized } from "./rollout";

type OfMixing = { readonly quantity: Mixing; readonly layer: number };

export interface MixingFields {
  readonly mixing: OfMixing & { readonly head?: number | null } & Rows;
  readonly mixing_rollout: OfMixing & Rows;
  readonly value_lengths: { readonly layer: number };
  /** Saved pages only, never asked for. */
  readonly mixing_code: OfMixing;
}

export const MIXING = {
  /** A layer's matrix from its code; a head's norms are its weights times the lengths of what they carry. */
  async mixing(run, request) {
    const { quantity, layer, head } = request;
    const { n } = run;
    const m = keysOf(run.meta).text.length;
    if (head != null) {
      const lengths = run.recorded({ kind: "value_lengths", layer });
      if (lengths === null) throw needsKernel(NAMES.mixing);
      const long = arrayOf(lengths, "lengths").data.subarray(head * m, (head + 1) * m);
      const slice = await run.ask({ kind: "weights", layer, head });
      const norms = Float32Array.from(
        arrayOf(slice, "weights").data as Float32Array,
        (weight, i) => weight * (long[i % m] as number),
      );
      const arrays = new Map([...slice.arrays, ["weights", f32(norms, n, m)] as const]);
      return rowsOf({ data: { longest: Math.max(0, ...long) }, arrays }, request);
    }
    const coded = run.recorded({ kind: "mixing_code", quantity, layer });
    if (coded === null) throw needsKernel(NAMES.mixing);
    const { largest, levels } = coded.data as { largest: number; levels: number };
    const masks = await run.layerArrays(layer);
    const allowed = masks.get("allowed")?.data;
    const whole = (codes: TypedArray): TypedArray =>
      codes.length === n * m ? codes : spread(codes, allowed, n, new Uint8Array(n * n));
    const fine = coded.arrays.get("fine")?.data;
    const codes = whole(arrayOf(coded, "codes").data);
    const weights = squaresOf(codes, fine && whole(fine), largest, levels);
    const arrays = new Map<string, NdArray>([["weights", f32(weights, n, m)]]);
    for (const name of ["allowed", "ratio"]) {
      const array = masks.get(name) ?? coded.arrays.get(name);
      if (array !== undefined) arrays.set(name, array);
    }
    return rowsOf({ data: {}, arrays }, request);
  },
  /** All quantities but `norms` contain the residual already. */
  async mixing_rollout(run, request) {
    const { quantity, layer } = request;
    checkRollout(run, quantity === "norms" ? layer : -1);
    const step = async (index: number): Promise<Float32Array> => {
      const slice = await run.ask({ kind: "mixing", quantity, layer: index });
      return rowsNormalized(arrayOf(slice, "weights").data as Float32Array, run.n);
    };
    const residual = quantity === "norms" ? 0.5 : 0;
    const rolled = await run.rollouts.through(quantity, layer, step, residual);
    return matrixSlice(rolled, run.n, request);
  },
} satisfies Answers<SavedRun, MixingFields>;
