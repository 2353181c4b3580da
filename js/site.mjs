/**
 * Bundle the script of the site's pages: `node js/site.mjs FOLDER` reads FOLDER/model.json (facts of the model, from
 * scripts/site/front.py) and writes FOLDER/attn-widget.js. It is no part of the package; styles and engine are those of
 * attn_widget/static.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL(".", import.meta.url));
const folder = process.argv[2] ?? ".";
await build({
  entryPoints: [join(root, "src", "features", "engine", "site.ts")],
  outfile: join(folder, "attn-widget.js"),
  define: { MODEL: readFileSync(join(folder, "model.json"), "utf8") },
  bundle: true,
  minify: true,
  format: "iife",
  legalComments: "none",
  logLevel: "warning",
  target: ["chrome111", "firefox113", "safari16.4"],
});
