/** The embeddings: token, position, segment, their sum and its norm. */

import {
  at,
  type Content,
  ofDimensions,
  type Place,
  type Sized,
  strip,
  type Term,
} from "../content";
import { firstWindow } from "../data";
import { positionTables } from "./positions";

export async function embeddings(place: Place): Promise<Content> {
  const { arch, box } = place;
  const names = ["token", "position", "segment", "sum", "norm"] as const;
  const labels = {
    token: "token",
    position: "position",
    segment: "segment",
    sum: "sum",
    norm: "LayerNorm",
  };
  const strips: Sized[] = await Promise.all(
    names.map((name) =>
      strip(place, name, labels[name], name === "norm" ? "LayerNorm" : "embeddings, sum"),
    ),
  );
  if (arch.embedding !== arch.hidden)
    strips.push(await strip(place, "output", "projection", "projection"));
  const [, , , sum, norm] = strips;
  const terms = (i: number): Term[] => {
    const parts = strips.slice(0, 3).filter(({ missing }) => missing === null);
    return [
      ...parts.map(
        (part, k): Term => ({ sign: k === 0 ? "" : "+", label: part.label, value: at(part, i) }),
      ),
      { sign: "=", label: "sum", value: at(sum, i) },
      { sign: "→", label: "LayerNorm", value: at(norm, i) },
      ...(strips[5] === undefined
        ? []
        : [{ sign: "→", label: "projection", value: at(strips[5], i) } as const]),
    ];
  };
  const below = box.id === "position" ? [positionTables(place)] : [];
  return ofDimensions(strips, firstWindow("token"), terms, { below });
}
