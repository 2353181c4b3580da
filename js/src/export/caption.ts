/** Caption of a saved view: model, text, layer, head, definition, options, versions. No links. */

import { hasHead, isRolled, mixingDefinition, mixingOf } from "../figures/quantities";
import type { HeadIndex, Meta } from "../protocol/types";
import type { Quantity, Selection } from "../state/selection";
import type { ViewDefinition } from "../views/contract";

type Option = string | number | boolean | null;

/** The fields, in their order in JSON; `attn_widget/export/caption.py` has the same. */
export interface Caption {
  readonly view: string;
  readonly model: string;
  readonly revision: string | null;
  readonly text: string;
  readonly text_pair: string | null;
  /** Tokens that this run read as the mask token. */
  readonly masked: readonly { readonly token: number; readonly text: string }[];
  /** Where heads are switched off. */
  readonly heads_off?: Meta["heads_off"];
  /** Set for many texts instead of one. */
  readonly profile: { readonly n_texts: number; readonly seed: number } | null;
  /** Null where the view is of no single layer or head. */
  readonly layer: number | null;
  readonly head: HeadIndex | null;
  readonly definition: string;
  readonly options: Readonly<Record<string, Option>>;
  readonly versions: Readonly<Record<string, string>>;
}

const ROLLOUT =
  "Attention rollout (Abnar & Zuidema 2020): the layers up to this one multiplied, each half its mean head, " +
  "half the identity.";
const SCORES = " Shown: scaled scores QKᵀ / √d_k, before the softmax.";

/** Facts about a view that its caption states. */
type CaptionedView = Pick<ViewDefinition, "name" | "definition" | "options" | "head" | "scores">;

function definitionOf(view: CaptionedView, { quantity }: Selection): string {
  if (view.head === "shown" && quantity === "rollout") return ROLLOUT;
  const mixing = view.head === "shown" ? mixingDefinition(quantity) : null;
  if (mixing !== null) return mixing;
  if (view.head === null && view.options.includes("quantity")) {
    const carried = quantity === "rollout" ? ROLLOUT : mixingDefinition(quantity);
    if (carried !== null) return `${view.definition} ${carried}`;
  }
  return view.scores && quantity === "scores" ? view.definition + SCORES : view.definition;
}

function plain(value: Selection[keyof Selection]): Option {
  if (value === null || typeof value !== "object") return value;
  if ("join" in value) return value.join(" ");
  const fields = Object.entries(value);
  return fields.map(([name, held]) => (held === true ? name : `${name} ${held}`)).join(" ");
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
    masked: meta.masked.map(({ token, text }) => ({ token, text })),
    ...(meta.heads_off?.length ? { heads_off: meta.heads_off } : {}),
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

export function cut(text: string, length = TEXT_LENGTH): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

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

/** An option in words; null where there is nothing to say. */
function spelled(key: string, value: Option): string | null {
  if (value === null || value === "") return null;
  switch (key) {
    case "special":
      return value === true ? "with special tokens" : "without special tokens";
    case "words":
      return value === true ? "subwords merged into words" : null;
    case "scale":
      return RAMPS[String(value)] ?? null;
    case "token":
      return `focus token ${value}`;
    case "pair":
      return `pair ${String(value).replace(" ", " → ")}`;
    case "group":
      return `group of tokens ${value}`;
    case "top_k":
      return `top ${value}`;
    case "depth":
      return value === 1 ? "1 level" : `${value} levels`;
    case "metric":
      return value === "thumbnails" ? null : `head grid by ${value}`;
    case "mode":
      return value === "masked" ? "each position masked in turn" : "input as is";
    case "quantity":
    case "over":
      return String(value);
    default:
      return `${key.replaceAll("_", " ")} ${value}`;
  }
}

/** The caption of a picture, a line each: which run, which text, what is shown and how, versions. */
export function captionLines(caption: Caption): string[] {
  const { model, revision, text, text_pair, masked, profile, options, versions } = caption;
  const off = (caption.heads_off ?? []).map(([layer, head]) => `L${layer} H${head}`).join(", ");
  const run = revision === null ? model : `${model} (${revision})`;
  const written = [text, text_pair].filter((part) => part !== null && part !== "").map(String);
  const of = profile ? `${profile.n_texts} texts, seed ${profile.seed}` : cut(written.join(" / "));
  const hidden = masked.map(({ token, text: word }) => `${token} ${word}`).join(", ");
  const chosen = Object.entries(options).map(([key, value]) => spelled(key, value));
  const known = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    [run, where(caption)].filter((part) => part !== "").join(" · "),
    of,
    caption.definition,
    [
      ...chosen,
      hidden === "" ? null : `masked ${hidden}`,
      off === "" ? null : `switched off ${off}`,
    ]
      .filter((part) => part !== null)
      .join(" · "),
    known.join(" · "),
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
