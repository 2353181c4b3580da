/** Bundles of entries that share one module. */

import { basename, join } from "node:path";

/** `bundle` gives esbuild's files for its options; entries lie in `root`/src. */
export function splitting(bundle, root) {
  /** Several entries, and the one module that all of them import. */
  async function split(...entries) {
    const outputFiles = await bundle({
      entryPoints: entries.map((entry) => join(root, "src", `${entry}.ts`)),
      entryNames: "[name]",
      outdir: root,
      format: "esm",
      splitting: true,
    });
    const made = new Map(outputFiles.map((file) => [basename(file.path), file.text]));
    const [name, ...more] = [...made.keys()].filter((file) => file.startsWith("chunk-"));
    if (name === undefined || more.length > 0)
      throw new Error(`One shared module is expected: ${[...made.keys()]}`);
    return {
      name,
      common: made.get(name),
      scripts: entries.map((entry) => made.get(`${basename(entry)}.js`)),
    };
  }

  /** Saved pages may not import: their module as a function, two entries as ends of it, and one that comes later. */
  async function splitScript(...entries) {
    const { common, scripts } = await split(...entries);
    const pairs = (list) => list.split(",").map((pair) => pair.split(" as "));
    const [found, list] = /export\{([^}]*)\};\s*$/.exec(common);
    const inner = new Map(pairs(list).map(([local, outer]) => [outer ?? local, local]));
    const parts = scripts.map((script) => {
      const [head, names] = /^import\{([^}]*)\}from"[^"]*";/.exec(script);
      const given = pairs(names);
      const parameters = given.map(([outer, local]) => local ?? outer);
      const values = given.map(([outer]) => inner.get(outer));
      return { run: `(${parameters})=>{${script.slice(head.length).trim()}}`, values };
    });
    const later = parts.pop();
    const give = `globalThis.attnWidgetLazy=run=>run(${later.values})`;
    return {
      body: `"use strict";(()=>{${common.slice(0, -found.length)};${give};\n`,
      ends: parts.map(({ run, values }) => `(${run})(${values})})();\n`),
      later: `"use strict";attnWidgetLazy(${later.run});\n`,
    };
  }

  return { split, splitScript };
}
