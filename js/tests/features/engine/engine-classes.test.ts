/** Classifiers in the page give what PyTorch gives (tests/golden/make_engine_classes.py). */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { compileKernels } from "../../../engine/compile.mjs";
import { openEngine } from "../../../src/features/engine/client";
import { openSession, serve } from "../../../src/features/engine/core";
import type { Metadata } from "../../../src/features/engine/page/metadata";
import { specialIds } from "../../../src/features/engine/page/metadata";
import { RequestQueue } from "../../../src/features/engine/page/request-queue";
import { EngineSource } from "../../../src/features/engine/page/source";
import { headsOff } from "../../../src/protocol/meta";
import type { Meta, SliceRequest } from "../../../src/protocol/types";

interface Written {
  shape: number[];
  data: (number | null)[];
}
interface Golden {
  file: string;
  facts: Required<Pick<Metadata, "classifier" | "architecture">>;
  runs: {
    meta: Meta;
    arrays: Record<string, Written>;
    slices: {
      request: SliceRequest;
      data: Record<string, unknown>;
      arrays: Record<string, Written>;
    }[];
  }[];
}

const path = new URL("../../../../tests/golden/engine_classes.json", import.meta.url);
const golden: Golden[] = JSON.parse(readFileSync(path, "utf8").replaceAll("NaN", "null"));
const kinds = golden.map((one) => [one.facts.classifier!.kind, one] as const);

function close(found: ArrayLike<number>, { data }: Written, where: string): void {
  expect(found.length, where).toBe(data.length);
  data.forEach((value, i) => {
    if (value === null) expect(found[i], where).toBeNaN();
    else
      expect(Math.abs(found[i]! - value), `${where}[${i}]`).toBeLessThanOrEqual(
        1e-5 * Math.max(1, Math.abs(value)),
      );
  });
}

test.each(kinds)(
  "a classifier of kind %s",
  { timeout: 60_000 },
  async (_, { file, facts, runs }) => {
    const bytes = new Uint8Array(Buffer.from(file, "base64"));
    const kernels = await compileKernels();
    const turns = new RequestQueue(
      await openEngine(() => ({ serve, openSession }), kernels, bytes),
    );
    const ids = await specialIds(turns);
    for (const { meta, arrays, slices } of runs) {
      const about = { model: meta.model, versions: {}, ids, ...facts };
      const source = await EngineSource.open(turns, about, meta, { off: headsOff(meta.heads_off) });
      expect(source.meta.predictions).toBeNull();
      expect([...source.arrays.keys()].sort()).toEqual(Object.keys(arrays).sort());
      expect(source.has({ kind: "predictions" })).toBe(false);
      for (const { request, data, arrays: expected } of slices) {
        const answer = await source.ask(request);
        const { classes, ...rest } = answer.data as { classes?: { probability: number } };
        const { classes: known, ...others } = data as { classes?: { probability: number } };
        expect(rest).toEqual(others);
        if (known) expect(classes!.probability).toBeCloseTo(known.probability, 5);
        for (const [name, values] of Object.entries(expected)) {
          expect(answer.arrays.get(name)!.shape).toEqual(values.shape);
          close(answer.arrays.get(name)!.data, values, `${request.kind} ${name}`);
        }
      }
    }
  },
);
