/**
 * From the declarations in Python (JSON on standard input, `python -m scripts.manifest`) to the modules that
 * the page imports: js/src/catalog/{selection,definitions,function-words}.ts, js/src/views/{core,lazy-code}.ts and
 * js/src/figures/catalog/{names,cards}.ts. Formulas come in TeX and leave as trees.
 *
 * `node js/catalog.mjs [FOLDER]`; `make catalog` does both. Without a folder js/src/features/lazy.ts is written, too.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { JSDOM } from "jsdom";
import temml from "temml";
import { writeLazyFeatures } from "./features.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const source = process.argv[2] ?? join(root, "src");
const declared = JSON.parse(readFileSync(0, "utf8"));
const { names, cards, specializations, patterns, alignment, first_token } = declared;

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

const HEAD =
  "/** Written by `make catalog` from the declarations in attn_widget. Do not edit. */\n\n";
const constant = (name, type, value) => `export const ${name}: ${type} = ${value};\n`;
const line = (value) => JSON.stringify(value);
/** Texts of a figure that a view shows at once; the others come with its explanation. */
const SHOWN = ["key", "name", "short", "unit", "summary", "warning", "meaning"];
const part = (figure, shown) =>
  Object.fromEntries(Object.entries(figure).filter(([key]) => SHOWN.includes(key) === shown));
const lines = (figures) => `[\n${figures.map((one) => line(part(one, true))).join(",\n")},\n]`;
/** The texts of a figure with its formula as calls, in one line. */
const explained = ({ formula, by_row, ...texts }) =>
  `{"formula":${compile(formula)},${byRow(by_row)}${line(part(texts, false)).slice(1)}`;
const byRow = (texts) =>
  texts ? `"by_row":{"formula":${compile(texts[0])},"spoken":${line(texts[1])}},` : "";
const byKey = (figures) =>
  `{\n${figures.map((one) => `${line(one.key)}: ${explained(one)}`).join(",\n")},\n}`;
const keys = (figures) => figures.map(({ key }) => key);

/** A list or record with each entry in one line. */
const open = (value) =>
  Array.isArray(value)
    ? `[\n${value.map(line).join(",\n")},\n]`
    : `{\n${Object.entries(value)
        .map(([key, entry]) => `${key}: ${line(entry)}`)
        .join(",\n")},\n}`;
const literal = (name, value) => `export const ${name} = ${value} as const;\n`;
/** A view without flags that are off; a lazy one has its code elsewhere. */
const entry = ({ lazy, ...view }) => ({
  ...Object.fromEntries(Object.entries(view).filter(([, value]) => value !== false)),
  ...(lazy ? { draw: null } : {}),
});

function write(path, text) {
  const file = join(source, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, HEAD + text);
}

const { views, lists, mixing_labels, definitions, methods, selection, function_words } = declared;
write(
  "catalog/selection.ts",
  literal("VIEWS", open(Object.fromEntries(Object.entries(views).map(([k, v]) => [k, entry(v)])))) +
    Object.entries(lists)
      .map(([name, values]) => literal(name, line(values)))
      .join("") +
    "export type Mixing = (typeof MIXINGS)[number];\n" +
    "export type Quantity = (typeof QUANTITIES)[number];\n" +
    "export type Scale = (typeof SCALES)[number];\n" +
    "export type Theme = (typeof THEMES)[number];\n" +
    constant("MIXING_LABELS", "Readonly<Record<Mixing, string>>", open(mixing_labels)) +
    literal("DEFAULTS", open(selection)),
);
/** Not needed for the first picture. */
write(
  "catalog/definitions.ts",
  'import type { Quantity } from "./selection";\n\n' +
    constant(
      "DEFINITIONS",
      'Readonly<Record<Exclude<Quantity, "weights">, string>>',
      open(definitions),
    ) +
    "export interface Method {\n" +
    "  readonly key: string;\n  readonly name: string;\n  /** In a sentence and in tables. */\n  readonly short: string;\n" +
    "  /** Short description, in a line. */\n  readonly about: string;\n" +
    "  /** It takes one or two passes of the model, whatever the text's length. */\n  readonly quick: boolean;\n}\n" +
    constant("METHODS", "readonly Method[]", open(methods)),
);
write(
  "catalog/function-words.ts",
  'const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));\n\n' +
    Object.entries(function_words)
      .map(
        ([name, set]) =>
          `export const ${name} = /* @__PURE__ */ words(${JSON.stringify(set.join(" "))});\n`,
      )
      .join(""),
);
/** Views of features are listed by those (js/src/features/index.ts). */
const named = Object.keys(views).filter((name) => existsSync(join(root, "src", "views", name)));
const imported = [
  'import type { ViewDefinition } from "./contract";\n',
  ...named.map((name) => `import { ${name} } from "./${name}";\n`),
].sort((a, b) => (a.split('"')[1] < b.split('"')[1] ? -1 : 1));
write(
  "views/core.ts",
  `${imported.join("")}\nexport const CORE: readonly ViewDefinition[] = [${named.join(", ")}];\n`,
);
write(
  "views/lazy-code.ts",
  named
    .filter((name) => views[name].lazy)
    .map((name) => `export { ${name} } from "./${name}/view";\n`)
    .join(""),
);
write(
  "figures/catalog/names.ts",
  constant("NAMES", "Readonly<Record<string, string>>", line(names)) +
    constant("SPECIALIZATION_KEYS", "readonly string[]", line(keys(specializations))) +
    constant("PATTERN_KEYS", "readonly string[]", line(keys(patterns))) +
    constant("ALIGNMENT_KEYS", "readonly string[]", line(keys(alignment))),
);
write(
  "figures/catalog/cards.ts",
  'import type { Metric, SpecializationMetric } from "./types";\n\n' +
    constant("METRICS", "readonly Metric[]", lines(cards)) +
    constant("SPECIALIZATIONS", "readonly SpecializationMetric[]", lines(specializations)) +
    constant("PATTERNS", "readonly SpecializationMetric[]", lines(patterns)) +
    constant("ALIGNMENT", "readonly SpecializationMetric[]", lines(alignment)) +
    constant(
      "ALIGNMENT_DEFINITIONS",
      "readonly string[]",
      line(alignment.map(({ name, spoken }) => `${name}: ${spoken}.`)),
    ) +
    constant("FIRST_TOKEN", "SpecializationMetric", line(part(first_token, true))),
);
write(
  "figures/catalog/explanations.ts",
  'import { frac, mi, mn, mo, row, sqrt, sub, sup, under } from "../math";\n' +
    'import type { MetricTexts, SpecializationTexts } from "./types";\n\n' +
    constant("METRIC_TEXTS", "Readonly<Record<string, MetricTexts>>", byKey(cards)) +
    constant(
      "SPECIALIZATION_TEXTS",
      "Readonly<Record<string, SpecializationTexts>>",
      byKey([...specializations, ...patterns, ...alignment]),
    ) +
    constant("FIRST_TOKEN_TEXTS", "SpecializationTexts", explained(first_token)),
);
if (process.argv[2] === undefined) writeLazyFeatures();
