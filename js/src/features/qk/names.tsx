/** Names of the entries of a sum. */

import { headName, schemeOf, tokenName } from "../../figures/names";
import { keysOf, type Meta, type TokenColumns } from "../../protocol/meta";
import { TokenName } from "../../ui/token";
import type { Part, SideName } from "./data";

const OF_EMBEDDING: Partial<Readonly<Record<Part["kind"], string>>> = {
  word: "embedding of the word",
  position: "embedding of the position",
  segment: "embedding of the segment",
  embedding: "embedding",
  bias: "biases",
  distance: "distance",
};

/** Tokens by side, with their names. */
export interface Names {
  /** Name of a token that a side of the score has, or that its heads read. */
  readonly token: (side: SideName, token: number) => string;
  readonly part: (side: SideName, part: Part) => string;
  readonly columns: (side: SideName) => TokenColumns;
}

export function namesOf(meta: Meta): Names {
  const texts = { query: meta.tokens, key: keysOf(meta) };
  const schemes = { query: schemeOf(texts.query), key: schemeOf(texts.key) };
  const token = (side: SideName, at: number): string => tokenName(texts[side], at, schemes[side]);
  return {
    token,
    columns: (side) => texts[side],
    part(side, { kind, layer, head, token: at, text }) {
      if (kind === "token") return token(textSide(side, text), at ?? 0);
      if (kind === "head") return headName(layer ?? 0, head ?? 0);
      return kind === "ffn" ? `L${layer} FFN` : (OF_EMBEDDING[kind] ?? kind);
    },
  };
}

/** The side whose text a token is of. */
const textSide = (side: SideName, text: Part["text"]): SideName =>
  text === undefined ? side : text === 0 ? "key" : "query";

/** A token of a side, with its position. */
export const SideToken = ({
  names,
  side,
  token,
}: {
  readonly names: Names;
  readonly side: SideName;
  readonly token: number;
}) => <TokenName name={names.token(side, token)} token={token} />;

/** A part as text, a token with its position. */
export function PartName({
  names,
  side,
  part,
}: {
  readonly names: Names;
  readonly side: SideName;
  readonly part: Part;
}) {
  if (part.kind !== "token") return <span>{names.part(side, part)}</span>;
  const of = textSide(side, part.text);
  return (
    <>
      <SideToken names={names} side={of} token={part.token ?? 0} />
      {of !== side && <span class="aw-muted"> of the source</span>}
    </>
  );
}
