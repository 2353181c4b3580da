/**
 * Bundle the page into attn_widget/static/, nothing fetched at run time.
 *
 * widget.js      what notebooks get: a loader with script and styles compressed in it, because it travels with every
 *                widget of a saved notebook; widgets of one page share what it unpacks
 * standalone.js, widget.css    what saved pages get, once a page
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const out = join(root, "..", "attn_widget", "static");

/** Bytes of widget.js. */
const LIMIT = 215_000;

const styles = readdirSync(join(root, "src", "style"))
  .filter((name) => name.endsWith(".css"))
  .sort();

const shared = {
  bundle: true,
  minify: true,
  legalComments: "none",
  logLevel: "warning",
  write: false,
};
const target = ["chrome111", "firefox113", "safari16.4"];

async function text(options) {
  const { outputFiles } = await build({ ...shared, target, ...options });
  return outputFiles[0].text;
}

const script = await text({ entryPoints: [join(root, "src", "widget.ts")], format: "esm" });
const standalone = await text({
  entryPoints: [join(root, "src", "standalone.ts")],
  format: "iife",
});
const css = await text({
  stdin: {
    contents: styles.map((name) => `@import "./${name}";`).join("\n"),
    resolveDir: join(root, "src", "style"),
    loader: "css",
  },
});

const packed = deflateRawSync(JSON.stringify({ script, css }), { level: 9 }).toString("base64");
const version = createHash("sha256").update(packed).digest("hex").slice(0, 16);
const loader = await text({
  stdin: { contents: readFileSync(join(root, "loader.js"), "utf8"), loader: "js" },
  format: "esm",
  define: { PACKED: JSON.stringify(packed), VERSION: JSON.stringify(version) },
});

writeFileSync(join(out, "widget.js"), loader);
writeFileSync(join(out, "standalone.js"), standalone);
writeFileSync(join(out, "widget.css"), css);
console.log(
  `widget.js ${loader.length} bytes (script ${script.length}, styles ${css.length}), standalone.js ${standalone.length} bytes`,
);
if (loader.length > LIMIT)
  throw new Error(`widget.js has ${loader.length} bytes; the limit is ${LIMIT}.`);
for (const [name, code] of Object.entries({ script, standalone })) {
  if (/\bdefine\.amd\b|https?:\/\/(?!www\.w3\.org\/)/.test(code)) {
    throw new Error(`${name} names a module loader or an outside address.`);
  }
}
