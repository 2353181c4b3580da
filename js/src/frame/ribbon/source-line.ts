/** The source of an encoder-decoder, above the text that is written from it; its colors and its events come later. */

import { h, setAttributes } from "../../draw/dom";
import { buildLine, directionOf, sameUnits } from "../../draw/text-line";
import { type Unit, unitsOf } from "../../figures/derive/units";
import type { TokenRow } from "../../figures/row";
import { type ViewContext, withLazyCode } from "../../views/contract";
import { askCode } from "../../views/lazy-views";
import type { Signed } from "./paint";

export interface SourceLine {
  readonly element: HTMLElement;
  readonly tokens: ViewContext["source"]["meta"]["tokens"];
  /** True where the focus token's row is over these tokens. */
  readonly keys: boolean;
  units: readonly Unit[];
  buttons: HTMLElement[];
  /** Painted colors, so that only changes touch the page; empty on new buttons. */
  colors: string[];
  /** The source's units, as the matrix has them where they are its keys. */
  unitsOf(shown: TokenRow | null): readonly Unit[];
  paint(shown: TokenRow | null, signed: Signed | null): void;
}

/** Null for a run of one text, and for the encoder, whose own text is the source. */
export function createSourceLine(
  context: ViewContext,
  mode: () => "light" | "dark",
): SourceLine | null {
  const { source, state, signal: until } = context;
  const { meta } = source;
  const tokens = meta.keys ?? meta.source_tokens;
  if (!tokens || meta.part === "encoder") return null;
  const text = meta.source_text ?? "";
  const about = { ...meta, tokens, text, text_pair: null, masked: [] };
  const keys = meta.keys != null;
  let shown: Parameters<SourceLine["paint"]> = [null, null];
  let paint: SourceLine["paint"] | null = null;

  function build(next: readonly Unit[]): void {
    if (line.buttons.length > 0 && sameUnits(line.units, next)) return;
    const { nodes, buttons } = buildLine(next, about, null);
    Object.assign(line, { units: next, buttons, colors: [] });
    // Without a row over them they lead nowhere.
    if (!keys)
      for (const button of buttons)
        setAttributes(button, { role: null, tabindex: null, "aria-pressed": null });
    line.element.replaceChildren(...nodes);
  }

  const line: SourceLine = {
    element: h("div", {
      class: "aw-ribbon-line aw-source-line",
      role: "group",
      "aria-label": keys ? "Source tokens: pin the link from the focus token" : "Source tokens",
      "data-aw-part": "source",
      dir: directionOf(text),
    }),
    ...{ tokens, keys, units: [], buttons: [], colors: [] },
    unitsOf: (row) =>
      keys && row !== null ? row.keys : unitsOf(tokens, { special: state.get().special }),
    paint(row, signed) {
      shown = [row, signed];
      build(line.unitsOf(row));
      paint?.(row, signed);
    },
  };
  askCode(source, until).catch((error: unknown) => console.debug("attn-widget:", error));
  withLazyCode((code) => {
    paint = code.sourcePainter(line, context, mode);
    if (line.buttons.length > 0) paint(...shown);
  }, until);
  return line;
}
