/**
 * Bundle the page into attn_widget/static/, nothing fetched at run time.
 *
 * widget.js      what notebooks get: a loader with script and styles compressed in it, because it is stored in saved
 *                notebooks; widgets of one page share what it unpacks
 * rest.deflate   the views that a notebook's page asks the kernel for after its first picture (src/views/lazy-views.ts)
 * stub.js        what each widget gets where all can share one model that holds widget.js
 * standalone.js, widget.css    what saved pages get, once a page, compressed
 * saved-lazy.js  the views that a saved page unpacks after its first picture
 * unpack.js      what a saved page runs first: inflates and runs these
 * output.js, height.js         what the outputs of cells get, to frame such a page in a document without a kernel
 * engine.js      the model's engine with its kernels, without weights
 * live.js        the end of standalone.js in pages with an engine, in place of its last line: what both need is shipped once
 *
 * and THIRD-PARTY-LICENSES.txt at the top of the checkout: the licenses of the npm packages that are bundled.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { build } from "esbuild";
import { encode85 } from "./base85.mjs";
import { compileKernels } from "./engine/compile.mjs";
import { writeLazyFeatures } from "./features.mjs";
import { noticesOf, packagesIn } from "./notices.mjs";
import { splitting } from "./split.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const out = join(root, "..", "attn_widget", "static");

/** Bytes of widget.js. */
const LIMIT = 110_000;
/** Bytes of stub.js. */
const STUB_LIMIT = 1_000;
/** Bytes of engine.js. */
const ENGINE_LIMIT = 60_000;

/**
 * Styles lie next to what they style, and a later one of these wins over an earlier one. No `@layer`: what a host's sheets
 * say outside of any layer would win over all of ours.
 */
const LAYERS = [
  "style/isolate.css",
  "style/base.css",
  "draw/",
  "ui/",
  "frame/",
  "views/",
  "features/",
  "style/phone.css",
];
const sheets = readdirSync(join(root, "src"), { recursive: true })
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => name.endsWith(".css"))
  .sort();
writeLazyFeatures();
/** Folders of the views whose code comes later: their styles come with it, as do those of features but for their `first.css`. */
const lazyViews = [
  ...readFileSync(join(root, "src", "views", "lazy-code.ts"), "utf8").matchAll(
    /"\.\/(\w+\/)view"/g,
  ),
].map(([, folder]) => `views/${folder}`);
const isLazy = (name) =>
  (name.startsWith("features/") && !name.endsWith("/first.css")) ||
  name.includes("/long/") ||
  name.includes("/lazy/") ||
  lazyViews.some((folder) => name.startsWith(folder));
const ordered = LAYERS.flatMap((layer) => sheets.filter((name) => name.startsWith(layer)));
if (ordered.length !== sheets.length) throw new Error(`Each style in one layer: ${sheets}`);
/** Styles that come first, that come later, and that win over both. */
const isLast = (name) => LAYERS.indexOf("features/") < layerOf(name);
const layerOf = (name) => LAYERS.findIndex((layer) => name.startsWith(layer));
const styles = [
  ordered.filter((name) => !isLazy(name) && !isLast(name)),
  ordered.filter(isLazy),
  ordered.filter(isLast),
];

const shared = {
  bundle: true,
  minify: true,
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  write: false,
};
/** Folders of the npm packages that each bundle has code of, under its path. */
const packages = new Map();
/** Packages of all bundles, or of those that `counts` takes. */
const packagesOf = (counts = () => true) =>
  new Set([...packages].flatMap(([path, folders]) => (counts(path) ? [...folders] : [])));
const target = ["chrome111", "firefox113", "safari16.4"];

async function bundle(options) {
  const { outputFiles, metafile } = await build({ ...shared, target, ...options });
  for (const [path, output] of Object.entries(metafile.outputs))
    packages.set(path, new Set([...(packages.get(path) ?? []), ...packagesIn(output)]));
  return outputFiles;
}

async function text(options) {
  return (await bundle(options))[0].text;
}

const { split, splitScript } = splitting(bundle, root);

const {
  name,
  common: commonCode,
  scripts: [script, lazyCode],
} = await split("widget", "lazy");
const {
  body: saved,
  ends: [alone, typed],
  later: savedLazy,
} = await splitScript("standalone", "features/engine/live", "saved-lazy");
// Every copy carries the notices of its code: whole in what is compressed, in a line in the script that unpacks it.
const firstNotices = noticesOf(packagesOf((path) => [name, "widget.js"].includes(basename(path))));
const notices = noticesOf(packagesOf());
const common = firstNotices.comment + commonCode;
const rest = notices.comment + lazyCode;
const standalone = notices.comment + saved + alone;
const live = typed;
const unpack =
  notices.line + (await text({ entryPoints: [join(root, "src", "unpack.ts")], format: "iife" }));
// The core stands in a function: called on the main thread, or its source started in a worker.
const core = await text({
  entryPoints: [join(root, "src", "features", "engine", "core.ts")],
  format: "iife",
  globalName: "core",
});
const kernels = async (options) =>
  JSON.stringify(Buffer.from(await compileKernels(options)).toString("base64"));
const client = await text({
  entryPoints: [join(root, "src", "features", "engine", "entry.ts")],
  format: "iife",
  define: { KERNELS: await kernels(), RELAXED: await kernels({ relaxed: true }) },
});
const engine = `(()=>{const CORE=()=>{${core.trim()}return core};\n${client}})();\n`;
/** Weighs as much as a rule with an id, whatever the host's classes: see src/style/isolate.css. */
const isolated = (sheet) => sheet.replaceAll(/\.attn-widget(?![\w-])/g, ".attn-widget:not(#_)");
const sheetOf = async (names) =>
  isolated(
    await text({
      stdin: {
        contents: names.map((name) => `@import "./${name}";`).join("\n"),
        resolveDir: join(root, "src"),
        loader: "css",
      },
    }),
  );
const [first, middle, last] = await Promise.all(styles.map(sheetOf));

/** Deflated with the memory that makes it smallest: less of it ends a block, with its own codes, sooner. */
const deflated = (given) =>
  [7, 8, 9]
    .map((memLevel) => deflateRawSync(given, { level: 9, memLevel }))
    .reduce((best, next) => (next.length < best.length ? next : best));
// Parted by a byte that none of them holds: quotes in JSON would be escaped, and cost 1%.
const parts = [name, common, script, first, last];
if (
  [...parts, rest, middle, standalone, savedLazy, engine, live].some((part) => part.includes("\0"))
)
  throw new Error("A part holds the byte that parts them.");
const packed = encode85(deflated(parts.join("\0")));
const later = deflated(`${rest}\0${middle}`);
const version = createHash("sha256").update(packed).digest("hex").slice(0, 16);
const single = (name, format) =>
  text({
    stdin: { contents: readFileSync(join(root, name), "utf8"), loader: "js", resolveDir: root },
    format,
    define: { PACKED: JSON.stringify(packed), VERSION: JSON.stringify(version) },
  });
const loader = firstNotices.line + (await single("loader.js", "esm"));
const stub = await single("stub.js", "esm");

mkdirSync(out, { recursive: true });
writeFileSync(join(root, "..", "THIRD-PARTY-LICENSES.txt"), notices.file);
writeFileSync(join(out, "widget.js"), loader);
writeFileSync(join(out, "stub.js"), stub);
writeFileSync(join(out, "rest.deflate"), later);
for (const name of ["output.js", "height.js"]) {
  writeFileSync(join(out, name), await single(name, "iife"));
}
writeFileSync(join(out, "standalone.js"), standalone);
writeFileSync(join(out, "saved-lazy.js"), savedLazy);
writeFileSync(join(out, "unpack.js"), unpack);
writeFileSync(join(out, "engine.js"), engine);
writeFileSync(join(out, "live.js"), live);
const css = first + middle + last;
writeFileSync(join(out, "widget.css"), css);
console.log(
  `widget.js ${loader.length} bytes (script ${common.length + script.length}, styles ${first.length + last.length}), ` +
    `rest.deflate ${later.length} bytes (script ${rest.length}), standalone.js ${standalone.length} bytes, saved-lazy.js ${savedLazy.length} bytes, live.js ${live.length} bytes, engine.js ${engine.length} bytes`,
);
for (const [file, code, limit] of [
  ["widget.js", loader, LIMIT],
  ["stub.js", stub, STUB_LIMIT],
  ["engine.js", engine, ENGINE_LIMIT],
]) {
  if (code.length > limit)
    throw new Error(`${file} has ${code.length} bytes; the limit is ${limit}.`);
}
for (const [module, code] of Object.entries({
  common,
  script,
  rest,
  standalone,
  savedLazy,
  unpack,
  engine,
  live,
  css,
})) {
  if (/<\/(script|style)/i.test(code)) throw new Error(`${module} would end its own element.`);
  if (/\bdefine\.amd\b|https?:\/\/(?!www\.w3\.org\/)/.test(code)) {
    throw new Error(`${module} names a module loader or an outside address.`);
  }
}
