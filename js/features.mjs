/**
 * The lazy code of the features that js/src/features/index.ts lists, in js/src/features/lazy.ts: each feature's own
 * `lazy.ts`. The build writes it, and `make catalog`, so that a feature is one line in one list.
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = join(dirname(fileURLToPath(import.meta.url)), "src", "features");

/** Names of the features, in the order of the list. */
export const featureNames = () =>
  [...readFileSync(join(folder, "index.ts"), "utf8").matchAll(/^export .* from "\.\/(\w+)"/gm)].map(
    ([, name]) => name,
  );

export const lazyFeatures = () =>
  `/** Written by the build from the list in index.ts. Do not edit. */\n\n${
    featureNames()
      .filter((name) => existsSync(join(folder, name, "lazy.ts")))
      .map((name) => `export * from "./${name}/lazy";\n`)
      .join("") || "export {};\n"
  }`;

/** Write the list where it has changed. */
export function writeLazyFeatures() {
  const file = join(folder, "lazy.ts");
  const text = lazyFeatures();
  if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text);
}
