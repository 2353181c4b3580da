/** Header of a profile, in place of the text: the corpus that it was made from. */

import { h } from "../draw/dom";
import { formatCount } from "../figures/format";
import type { ViewContext } from "../views/contract";

const counted = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

export function profileHead(element: HTMLElement, { source }: ViewContext): () => void {
  const { profile, model } = source.meta;
  if (profile === null) return () => undefined;
  const facts: readonly (readonly [string, string])[] = [
    ["model", model.name],
    ["tagger", profile.tagger ?? "none"],
    ["seed", String(profile.seed)],
    ...(profile.interval_note ? [["note", profile.interval_note] as const] : []),
  ];
  element.append(
    h(
      "div",
      { class: "aw-profile", "data-aw-part": "profile" },
      h(
        "strong",
        {},
        `Profile of ${counted(profile.n_texts, "text")}, ${counted(profile.n_tokens, "token")}`,
      ),
      h(
        "dl",
        {},
        ...facts.map(([name, value]) =>
          h("div", {}, h("dt", {}, name), h("dd", {}, h("bdi", {}, value))),
        ),
      ),
    ),
  );
  return () => element.replaceChildren();
}
