/** The embeddings: token, position, segment, their sum and its norm. */

import { at, type Content, ofDimensions, type StageContext, strip, type Term } from "../content";
import { firstWindow } from "../data";
import { positionTables } from "./positions";

const SUM = "embeddings, sum";

export async function embeddings(stage: StageContext): Promise<Content> {
  const { arch, box } = stage;
  const rows = [
    ["token", "token", SUM],
    ["position", "position", SUM],
    ["segment", "segment", SUM],
    ["sum", "sum", SUM],
    ["norm", arch.norm, arch.norm],
    ...(arch.embedding === arch.hidden ? [] : [["output", "projection", "projection"] as const]),
  ] as const;
  const strips = await Promise.all(
    rows.map(([tensor, label, group]) => strip(stage, tensor, label, group)),
  );
  const [, , , sum, norm, projection] = strips;
  const parts = strips.slice(0, 3).filter(({ missing }) => missing === null);
  const terms = (i: number): Term[] => [
    ...parts.map(
      (part, k): Term => ({ sign: k === 0 ? "" : "+", label: part.label, value: at(part, i) }),
    ),
    { sign: "=", label: "sum", value: at(sum, i) },
    ...(norm?.missing === null
      ? [{ sign: "→", label: arch.norm, value: at(norm, i) } as const]
      : []),
    ...(projection === undefined
      ? []
      : [{ sign: "→", label: "projection", value: at(projection, i) } as const]),
  ];
  const below = box.id === "position" ? await positionTables(stage) : null;
  return ofDimensions(strips, firstWindow("token"), terms, { below });
}
