/** Caption of a saved view: model, text, layer, head, definition, options, versions. No links. */

import { DEFINITIONS } from "../../catalog/definitions";
import { shorten, tokenLabel } from "../../figures/format";
import { schemeOf } from "../../figures/names";
import { hasHead, isRolled, mixingOf } from "../../figures/quantities";
import { keysOf, placeOff } from "../../protocol/meta";
import type { HeadIndex, Meta, TokenColumns } from "../../protocol/types";
import type { Quantity, Selection } from "../../state/selection";
import type { ViewDefinition } from "../../views/contract";

type Option = string | number | boolean | null;

/** The fields, in their order in JSON; `attn_widget/features/exports/caption.py` gives the same values. */
export interface Caption {
  readonly view: string;
  readonly model: string;
  readonly revision: string | null;
  readonly text: string;
  readonly text_pair: string | null;
  /** Part of an encoder-decoder, and the text that its encoder reads where `text` is written. */
  readonly part?: Meta["part"];
  readonly source_text?: string | null;
  /** Tokens that this run read as the mask token. */
  readonly masked: readonly { readonly token: number; readonly text: string }[];
  /** Heads that are switched off. */
  readonly heads_off?: Meta["heads_off"];
  /** Set where the mask was found in the weights. */
  readonly mask?: string;
  /** Set for many texts instead of one. */
  readonly profile: { readonly n_texts: number; readonly seed: number } | null;
  /** Null where the view is of no single layer or head. */
  readonly layer: number | null;
  readonly head: HeadIndex | null;
  readonly definition: string;
  readonly options: Readonly<Record<string, Option>>;
  readonly versions: Readonly<Record<string, string>>;
}

/** Facts about a view that its caption states. */
type CaptionedView = Pick<ViewDefinition, "name" | "definition" | "options" | "head" | "scores">;

/** Definition of a view's numbers, in a quantity where it shows one. */
function definitionOf(view: CaptionedView, { quantity }: Selection): string {
  const { definition, options } = view;
  if (quantity === "scores") {
    return view.scores ? `${definition} ${DEFINITIONS[quantity]}` : definition;
  }
  if (quantity === "weights" || !options.includes("quantity")) return definition;
  return view.head === "shown" ? DEFINITIONS[quantity] : `${definition} ${DEFINITIONS[quantity]}`;
}

function plain(value: Selection[keyof Selection]): Option {
  if (value === null || typeof value !== "object") return value;
  if ("join" in value) return value.join(" ");
  const fields = Object.entries(value);
  return fields.map(([name, value]) => (value === true ? name : `${name} ${value}`)).join(" ");
}

/** The caption of a view; `own` is what its own switches say. */
export function captionOf(
  meta: Meta,
  selection: Selection,
  view: CaptionedView,
  own: Readonly<Record<string, Option>> = {},
): Caption {
  const { model, profile, versions } = meta;
  const headless = view.head === "shown" && !hasHead(selection.quantity);
  const selected = view.head !== null;
  const chosen = view.options.map((key) => [key, plain(selection[key])] as const);
  return {
    view: view.name,
    model: model.name,
    revision: model.revision,
    text: meta.text,
    text_pair: meta.text_pair,
    ...(meta.part ? { part: meta.part, source_text: meta.source_text ?? null } : {}),
    masked: meta.masked.map(({ token, text }) => ({ token, text })),
    ...(meta.heads_off?.length ? { heads_off: meta.heads_off } : {}),
    ...(meta.mask?.found ? { mask: "causal, as found in the weights" } : {}),
    profile: profile && { n_texts: profile.n_texts, seed: profile.seed },
    layer: selected ? selection.layer : null,
    head: selected && !headless ? selection.head : null,
    definition: definitionOf(view, selection),
    options: { ...Object.fromEntries(chosen), ...own },
    versions,
  };
}

/** Code points of the text that a picture's caption repeats. */
const TEXT_LENGTH = 120;

export const cut = (text: string): string => shorten(text, TEXT_LENGTH);

/** `L3 H5`, `L3 mean head`, `norms L3 H5`, `alti L3`, `rollout to L3`; empty where the view is of no single layer. */
function where({ layer, head, options }: Caption): string {
  if (layer === null) return "";
  const quantity = String(options.quantity ?? "weights") as Quantity;
  const kind = mixingOf(quantity);
  if (isRolled(quantity)) return `rollout ${kind === null ? "" : `of ${kind} `}to L${layer}`;
  const place =
    head === null ? "" : head === "mean" ? (kind === null ? " mean head" : "") : ` H${head}`;
  return `${kind === null ? "" : `${kind} `}L${layer}${place}`;
}

const RAMPS: Readonly<Record<string, string>> = {
  head: "ramp from 0 to the largest weight",
  unit: "ramp from 0 to 1",
  sqrt: "ramp by square root, to the largest weight",
};

const MODES: Readonly<Record<string, string>> = {
  masked: "each position masked in turn",
  next: "next token after each position",
};

type Texts = Pick<Meta, "tokens" | "keys">;

/** Tokens at the positions `value`, `drink 12`. */
function named(value: Option, tokens: TokenColumns): string[] {
  const scheme = schemeOf(tokens);
  return String(value)
    .split(" ")
    .map((position) => {
      const text = tokens.text[Number(position)];
      if (text === undefined) return position;
      return `${tokenLabel(text, scheme, tokens.surface[Number(position)]).text} ${position}`;
    });
}

/** An option in words; null where there is nothing to say. */
function spelled(key: string, value: Option, texts: Texts): string | null {
  if (value === null || value === "") return null;
  switch (key) {
    case "special":
      return value === true ? "with special tokens" : "without special tokens";
    case "words":
      return value === true ? "subwords merged into words" : null;
    case "scale":
      return RAMPS[String(value)] ?? null;
    case "token":
      return `focus token ${named(value, texts.tokens)[0]}`;
    case "pair": {
      const [[query], [, key]] = [named(value, texts.tokens), named(value, keysOf(texts))];
      return `pair ${query} → ${key}`;
    }
    case "group":
      return `group of tokens ${named(value, keysOf(texts)).join(", ")}`;
    case "top_k":
      return `top ${value}`;
    case "depth":
      return value === 1 ? "1 level" : `${value} levels`;
    case "metric":
      return value === "thumbnails" ? null : `head grid by ${value}`;
    case "words_only":
      return value === true ? "without special tokens and punctuation below the root" : null;
    case "mode":
      return MODES[String(value)] ?? "input as is";
    case "quantity":
    case "over":
      return String(value);
    default:
      return `${key.replaceAll("_", " ")} ${value}`;
  }
}

/** The caption of a picture, a line each: which run, which text, what is shown and how, versions; `texts` are those of its run. */
export function captionLines(caption: Caption, texts: Texts): string[] {
  const { model, revision, text, text_pair, masked, profile, options, versions } = caption;
  const off = (caption.heads_off ?? []).map((head) => {
    const [of, layer, index] = placeOff(head);
    return `${of === null ? "" : `${of} `}L${layer} H${index}`;
  });
  const run = revision === null ? model : `${model} (${revision})`;
  const { part, source_text } = caption;
  const given = (texts: readonly (string | null | undefined)[]): string[] =>
    texts.filter((text) => text !== null && text !== undefined && text !== "") as string[];
  const written = given([text, text_pair]).join(" / ");
  const read = given([source_text, written]).join(" → ");
  const of = profile ? `${profile.n_texts} texts, seed ${profile.seed}` : cut(read);
  const hidden = masked.map(({ token, text: word }) => `${token} ${word}`).join(", ");
  // A target in words stands in place of its ids.
  const { explained = null, target, ...others } = options;
  const asIds = explained === null ? { target: target ?? null } : {};
  const chosen = [
    explained,
    ...Object.entries({ ...asIds, ...others }).map(([key, value]) => spelled(key, value, texts)),
  ];
  const stated = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    given([run, part, where(caption)]).join(" · "),
    of,
    caption.definition,
    [
      ...chosen,
      hidden === "" ? null : `masked ${hidden}`,
      off.length === 0 ? null : `switched off ${off.join(", ")}`,
      caption.mask === undefined ? null : `mask ${caption.mask}`,
    ]
      .filter((part) => part !== null)
      .join(" · "),
    stated.join(" · "),
  ].filter((line) => line !== "");
}

const NAME_LENGTH = 80;

/** `attn_widget-tree-L3H5.png`: letters, digits, `_`, `-` and the dot alone. */
export function fileName(caption: Caption, suffix: string): string {
  const place = where(caption)
    .replace(" mean head", "mean")
    .replaceAll(/ (?:of|to) /g, "-")
    .replace(/^([a-z_]+) L/, "$1-L");
  const parts = ["attn_widget", caption.view, place].filter((part) => part !== "");
  const stem = parts
    .join("-")
    .replaceAll(" ", "")
    .replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return `${stem.slice(0, NAME_LENGTH - suffix.length - 1)}.${suffix}`;
}
