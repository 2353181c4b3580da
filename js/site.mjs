/**
 * Bundle the scripts of the site's pages: `node js/site.mjs FOLDER` reads FOLDER/model.json (facts of the model, from
 * scripts/site/front.py) and writes FOLDER/attn-widget.js, and the views that come when a reader first asks for them.
 * They are no part of the package; styles and engine are those of attn_widget/static.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { splitting } from "./split.mjs";

const root = fileURLToPath(new URL(".", import.meta.url));
const folder = process.argv[2] ?? ".";

async function bundle(options) {
  const { outputFiles } = await build({
    ...options,
    define: { MODEL: readFileSync(join(folder, "model.json"), "utf8") },
    bundle: true,
    minify: true,
    write: false,
    legalComments: "none",
    logLevel: "warning",
    target: ["chrome111", "firefox113", "safari16.4"],
  });
  return outputFiles;
}

const { body, ends, later } = await splitting(bundle, root).splitScript(
  "features/engine/site/pages",
  "saved-lazy",
);
writeFileSync(join(folder, "attn-widget.js"), body + ends[0]);
writeFileSync(join(folder, "attn-widget-views.js"), later);
