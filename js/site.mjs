/**
 * Bundle the script of the site's pages: `node js/site.mjs FOLDER` writes FOLDER/attn-widget.js. It is no part of the
 * package; styles and engine are those of attn_widget/static.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL(".", import.meta.url));
await build({
  entryPoints: [join(root, "src", "site.ts")],
  outfile: join(process.argv[2] ?? "build", "attn-widget.js"),
  bundle: true,
  minify: true,
  format: "iife",
  legalComments: "none",
  logLevel: "warning",
  target: ["chrome111", "firefox113", "safari16.4"],
});
