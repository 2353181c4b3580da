/** The golden encoder-decoder: its three parts, as a kernel packs and answers them (tests/golden/make_parts.py). */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SliceFailure } from "../src/protocol/failure";
import { KernelSource, readReply } from "../src/protocol/kernel";
import type { Part } from "../src/protocol/meta";
import { readPack } from "../src/protocol/pack";
import { requestKey } from "../src/protocol/slice";
import type { Slice, SliceRequest, Source } from "../src/protocol/types";

interface Golden {
  readonly first_paint: string;
  readonly slices: readonly {
    readonly request: SliceRequest;
    readonly reply: unknown;
    readonly buffers: readonly string[];
  }[];
}

const golden: Readonly<Record<Part, Golden>> = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../tests/golden/parts.json"), "utf8"),
);
const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));

/** The pack of a part. */
export const paintOf = (part: Part): Uint8Array => bytes(golden[part].first_paint);

/** A part whose kernel has the golden answers, and those that `more` gives. */
export function openPart(
  part: Part,
  more: (request: SliceRequest, part: Part) => Slice | null = () => null,
): Source {
  const { slices } = golden[part];
  const kernel = new KernelSource(readPack(paintOf(part)), async () => {
    throw new Error("The kernel was asked.");
  });
  const known = new Map(
    slices.map(({ request, reply, buffers }) => [requestKey(request), { reply, buffers }]),
  );
  return {
    live: true,
    meta: kernel.meta,
    arrays: kernel.arrays,
    async part(other) {
      return openPart(other, more);
    },
    async ask(request) {
      const given = more(request, part);
      if (given !== null) return given;
      const answer = known.get(requestKey(request));
      if (answer !== undefined) return readReply(answer.reply, answer.buffers.map(bytes));
      if (request.kind === "weights") return kernel.ask(request);
      throw new SliceFailure(`Unexpected: ${request.kind}`);
    },
  };
}
