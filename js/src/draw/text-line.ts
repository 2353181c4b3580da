/** The text as nodes: one button a unit, joined and separated as the text joins and separates them. */

import { partOf, type Unit, unitsOf } from "../figures/derive/units";
import { visible } from "../figures/format";
import { type Sections, sectionAt } from "../figures/sections";
import { itemAt } from "../protocol/required";
import type { Meta } from "../protocol/types";
import { h } from "./dom";

/** Line under a word. */
export interface Tag {
  readonly pos: string | null;
  /** The entity that the word belongs to. */
  readonly entity: string | null;
  /** The entity's name, where it ends. */
  readonly label: string | null;
}

export interface Tags {
  /** The word of a token, or null. */
  wordOf(token: number): number | null;
  of(word: number): Tag | null;
  /** Who tagged, for titles. */
  readonly tagger: string;
}

const SEGMENT_NAMES = ["A", "B"];
const MASK = "[MASK]";

/** Right to left when the first letter with a direction says so (Unicode Bidirectional Algorithm, P2). */
export function directionOf(text: string): "ltr" | "rtl" {
  const letter = /\p{L}/u.exec(text)?.[0] ?? "";
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(
    letter,
  )
    ? "rtl"
    : "ltr";
}

/** The text behind a unit that is read as the mask token; null for any other unit. */
function maskedText(unit: Unit, meta: Meta): string | null {
  const hidden = meta.masked.some(({ token }) => token >= unit.token && token < unit.end);
  return hidden ? unit.surface : null;
}

/** On the button of a token that only goes on with the character before it. */
const CONTINUED = "·";

/** True if a unit is a further byte of a character that stands on the button before it. */
const continues = (unit: Unit, { tokens }: Meta): boolean =>
  unit.end - unit.token === 1 && unit.surface !== "" && partOf(tokens, unit.token) === "";

/** Label of an unmasked unit's button. */
export function unitFace(unit: Unit, meta: Meta): string {
  if (unit.special) return visible(unit.text);
  if (continues(unit, meta)) return CONTINUED;
  return visible(unit.end - unit.token === 1 ? partOf(meta.tokens, unit.token) : unit.surface);
}

/** Accessible name of a unit: its label and, if different, the tokenizer's text. */
export function spokenUnit(unit: Unit, meta: Meta, label: string): string {
  const was = maskedText(unit, meta);
  if (was !== null) return `${MASK} ${visible(was)}`;
  if (continues(unit, meta)) return `${label}, continues with ${visible(unit.surface)}`;
  const face = unitFace(unit, meta);
  return label.toLowerCase().includes(face.toLowerCase()) ? label : `${face} (${label})`;
}

function tokenButton(unit: Unit, meta: Meta): HTMLElement {
  const was = maskedText(unit, meta);
  const special = unit.special && was === null;
  // Inline text, not a button element: a word of several pieces keeps its direction and its joins.
  return h(
    "span",
    {
      role: "button",
      class: `aw-ribbon-token${special ? " aw-special" : ""}${was === null ? "" : " aw-masked"}`,
      "data-token": unit.token,
      "data-aw-segment": unit.segment,
      "data-aw-masked": was !== null,
      "aria-pressed": "false",
      tabindex: -1,
    },
    ...(was === null
      ? [unitFace(unit, meta)]
      : [`${MASK} `, h("s", { class: "aw-was" }, visible(was))]),
  );
}

/** The units of a run before anything was asked: single tokens. */
export const firstUnits = (meta: Meta, special: boolean): Unit[] =>
  unitsOf(meta.tokens, { special });

export const sameUnits = (a: readonly Unit[], b: readonly Unit[]): boolean =>
  a.length === b.length &&
  a.every((unit, i) => unit.token === b[i]?.token && unit.end === b[i]?.end);

/** Punctuation that belongs to the word before it. */
const CLOSING = /^[\p{Pe}\p{Pf}\p{Po}]+$/u;

/** Buttons of all units, and the nodes of the line in which they stand. */
export function buildLine(
  units: readonly Unit[],
  meta: Meta,
  tags: Tags | null,
  sections: Sections | null = null,
): { nodes: Node[]; buttons: HTMLElement[] } {
  const { tokens } = meta;
  /** Sections, and the count of nodes before each. */
  const cuts: (readonly [section: number, at: number])[] = [];
  const nodes: Node[] = [];
  let segment = -1;
  /** Pieces of one tagged word stand in one box, over the tag. */
  let box: { readonly word: number; readonly pieces: HTMLElement } | null = null;
  const buttons = units.map((unit, i) => {
    const before = itemAt(tokens.before, unit.token);
    const word = tags?.wordOf(unit.token) ?? null;
    const section = sections === null ? -1 : sectionAt(sections, unit.token);
    const begins = section >= 0 && section !== cuts.at(-1)?.[0];
    if (begins) cuts.push([section, nodes.length]);
    if (begins) box = null;
    if (box !== null && box.word !== word) box = null;
    if (meta.text_pair !== null && unit.segment !== segment && !unit.special) {
      segment = unit.segment;
      const name = SEGMENT_NAMES[segment] ?? String(segment);
      nodes.push(h("span", { class: "aw-segment", title: `Segment ${name}` }, name));
    }
    const button = tokenButton(unit, meta);
    const gap: Node[] = [];
    if (begins) {
      // It stands on a line of its own.
    } else if (/[\n\r]/.test(before) && i > 0) gap.push(h("span", { class: "aw-ribbon-break" }));
    else if (i > 0) {
      // The ribbon separates tokens where the text does, and breaks lines where the text may.
      const apart = /\s/.test(before) || unit.special || units[i - 1]?.special === true;
      if (apart) gap.push(document.createTextNode(" "));
    }
    if (box !== null) {
      box.pieces.append(...gap, button);
      return button;
    }
    nodes.push(...gap);
    const tag = word === null ? null : (tags?.of(word) ?? null);
    let standing: HTMLElement = button;
    if (word !== null && tag !== null) {
      const pieces = h("span", { class: "aw-pieces" }, button);
      box = { word, pieces };
      standing = h(
        "span",
        {
          class: "aw-word",
          "data-aw-pos": tag.pos,
          "data-aw-entity": tag.entity,
          "data-aw-label": tag.label,
        },
        pieces,
      );
    }
    const last = nodes.at(-1);
    if (
      !begins &&
      gap.length === 0 &&
      last instanceof HTMLElement &&
      CLOSING.test(itemAt(tokens.text, unit.token))
    ) {
      // Boxes over tags may be parted anywhere; a full stop begins no line.
      const unbroken = last.classList.contains("aw-unbroken")
        ? last
        : h("span", { class: "aw-unbroken" }, last);
      unbroken.append(standing);
      nodes[nodes.length - 1] = unbroken;
    } else nodes.push(standing);
    return button;
  });
  return { nodes: sections === null ? nodes : ruledOff(nodes, cuts, sections), buttons };
}

/** The nodes of a line in a group for each section, under its name. */
const ruledOff = (
  nodes: readonly Node[],
  cuts: readonly (readonly [section: number, at: number])[],
  { names }: Sections,
): Node[] =>
  cuts.map(([section, at], i) => {
    const name = names[section] ?? "";
    const mark = h("bdi", { class: "aw-section-name", title: name, "aria-hidden": "true" }, name);
    const text = h("span", {}, ...nodes.slice(at, cuts[i + 1]?.[1]));
    return h("span", { class: "aw-section", role: "group", "aria-label": name }, mark, text);
  });
