/**
 * Bundle the page into attn_widget/static/, nothing fetched at run time.
 *
 * widget.js      what notebooks get: a loader with script and styles compressed in it, because it is stored in saved
 *                notebooks; widgets of one page share what it unpacks
 * stub.js        what each widget gets where all can share one model that holds widget.js
 * standalone.js, widget.css    what saved pages get, once a page
 * output.js, height.js         what the outputs of cells get, to frame such a page in a document without a kernel
 */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const out = join(root, "..", "attn_widget", "static");

/** Bytes of widget.js. */
const LIMIT = 215_000;
/** Bytes of stub.js. */
const STUB_LIMIT = 1_000;

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
const single = (name, format) =>
  text({
    stdin: { contents: readFileSync(join(root, name), "utf8"), loader: "js" },
    format,
    define: { PACKED: JSON.stringify(packed), VERSION: JSON.stringify(version) },
  });
const loader = await single("loader.js", "esm");
const stub = await single("stub.js", "esm");

mkdirSync(out, { recursive: true });
writeFileSync(join(out, "widget.js"), loader);
writeFileSync(join(out, "stub.js"), stub);
for (const name of ["output.js", "height.js"]) {
  writeFileSync(join(out, name), await single(name, "iife"));
}
writeFileSync(join(out, "standalone.js"), standalone);
writeFileSync(join(out, "widget.css"), css);
console.log(
  `widget.js ${loader.length} bytes (script ${script.length}, styles ${css.length}), standalone.js ${standalone.length} bytes`,
);
for (const [name, code, limit] of [
  ["widget.js", loader, LIMIT],
  ["stub.js", stub, STUB_LIMIT],
]) {
  if (code.length > limit)
    throw new Error(`${name} has ${code.length} bytes; the limit is ${limit}.`);
}
for (const [name, code] of Object.entries({ script, standalone })) {
  if (/\bdefine\.amd\b|https?:\/\/(?!www\.w3\.org\/)/.test(code)) {
    throw new Error(`${name} names a module loader or an outside address.`);
  }
}
