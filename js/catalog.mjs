/**
 * From the declarations of figures (JSON on standard input, `python -m attn_widget.figures.catalog.manifest`) to the
 * modules that the page imports: js/src/figures/catalog/{names,cards}.ts. Formulas come in TeX and leave as trees.
 *
 * `node js/catalog.mjs [FOLDER]`; `make catalog` does both.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { JSDOM } from "jsdom";
import temml from "temml";

const root = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2] ?? join(root, "src", "figures", "catalog");
const { names, cards, specializations, patterns } = JSON.parse(readFileSync(0, "utf8"));

/** Functions of js/src/figures/math.ts by the element that they make. */
const LEAVES = new Set(["mi", "mn", "mo", "mtext"]);
const LAYOUTS = {
  mrow: "row",
  mfrac: "frac",
  msub: "sub",
  msup: "sup",
  munder: "under",
  msqrt: "sqrt",
};

/** The calls that make an element; spaces are left to the browser. */
function calls(element) {
  const tag = element.localName;
  if (LEAVES.has(tag)) return `${tag}(${JSON.stringify(element.textContent)})`;
  if (!(tag in LAYOUTS)) throw new Error(`A formula needs <${tag}>, which the page cannot draw.`);
  const children = [...element.children].filter((child) => child.localName !== "mspace").map(calls);
  if (tag === "mrow" && children.length === 1) return children[0];
  return `${LAYOUTS[tag]}(${children})`;
}

function compile(tex) {
  const markup = temml.renderToString(tex, { displayMode: true, throwOnError: true });
  const { document } = new JSDOM(`<body>${markup}</body>`).window;
  return calls(document.querySelector("math").firstElementChild);
}

const HEAD = "/** Written by `make catalog` from attn_widget/figures/catalog. Do not edit. */\n\n";
const constant = (name, type, value) => `export const ${name}: ${type} = ${value};\n`;
const line = (value) => JSON.stringify(value);
/** A figure with its formula as calls, in one line. */
const declared = ({ formula, ...texts }) =>
  `{"formula":${compile(formula)},${line(texts).slice(1)}`;
const lines = (figures) => `[\n${figures.map(declared).join(",\n")},\n]`;
const keys = (figures) => figures.map(({ key }) => key);

mkdirSync(folder, { recursive: true });
writeFileSync(
  join(folder, "names.ts"),
  HEAD +
    constant("NAMES", "Readonly<Record<string, string>>", line(names)) +
    constant("SPECIALIZATION_KEYS", "readonly string[]", line(keys(specializations))) +
    constant("PATTERN_KEYS", "readonly string[]", line(keys(patterns))),
);
writeFileSync(
  join(folder, "cards.ts"),
  HEAD +
    'import { frac, mi, mn, mo, row, sqrt, sub, sup, under } from "../math";\n' +
    'import type { Aim, Metric } from "./types";\n\n' +
    constant("METRICS", "readonly Metric[]", lines(cards)) +
    constant("SPECIALIZATIONS", "readonly Aim[]", lines(specializations)) +
    constant("PATTERNS", "readonly Aim[]", lines(patterns)),
);
