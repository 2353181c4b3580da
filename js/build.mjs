/** Bundle the page: attn_widget/static/widget.js and widget.css, nothing fetched at run time. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const out = join(root, "..", "attn_widget", "static");

/** The bundle travels with every widget of a saved notebook (bytes, minified). */
const LIMIT = 240_000;

const styles = readdirSync(join(root, "src", "style"))
  .filter((name) => name.endsWith(".css"))
  .sort();

const shared = { bundle: true, minify: true, legalComments: "none", logLevel: "warning" };
const target = ["chrome111", "firefox113", "safari16.4"];

await build({
  ...shared,
  entryPoints: [join(root, "src", "widget.ts")],
  outfile: join(out, "widget.js"),
  format: "esm",
  target,
});
await build({
  ...shared,
  entryPoints: [join(root, "src", "standalone.ts")],
  outfile: join(out, "standalone.js"),
  format: "iife",
  target,
});
await build({
  ...shared,
  stdin: {
    contents: styles.map((name) => `@import "./${name}";`).join("\n"),
    resolveDir: join(root, "src", "style"),
    loader: "css",
  },
  outfile: join(out, "widget.css"),
  target,
});

const size = statSync(join(out, "widget.js")).size;
const text = readFileSync(join(out, "widget.js"), "utf8");
console.log(`widget.js ${size} bytes, widget.css ${statSync(join(out, "widget.css")).size} bytes`);
if (size > LIMIT) throw new Error(`widget.js has ${size} bytes; the limit is ${LIMIT}.`);
if (/\bdefine\.amd\b|https?:\/\/(?!www\.w3\.org\/)/.test(text)) {
  throw new Error("widget.js names a module loader or an outside address.");
}
