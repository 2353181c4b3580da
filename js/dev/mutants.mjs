// Draws a seeded sample of source lines and writes the configuration with which Stryker mutates them.
//   node js/dev/mutants.mjs [seed] [lines] > stryker.config.json
//   npx stryker run          (in a copy of the checkout: npm install --no-save
//                             @stryker-mutator/core@9 @stryker-mutator/vitest-runner@9)
import { readdirSync, readFileSync } from "node:fs";

const ROOMS = ["figures", "draw", "protocol"];
// A line of these has nothing to change: comments, imports, types, closing brackets.
const IDLE = /^(\/\/|\/?\*|import\b|export (type|interface)\b|readonly\b|[)\]};,]+$)/;

let state = Number(process.argv[2] ?? 7) >>> 0;
const count = Number(process.argv[3] ?? 220);

/** Mulberry32, in [0, 1). */
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

const lines = [];
for (const room of ROOMS) {
  const folder = `js/src/${room}`;
  for (const name of readdirSync(folder, { recursive: true }).sort()) {
    if (!name.endsWith(".ts")) continue;
    readFileSync(`${folder}/${name}`, "utf8")
      .split("\n")
      .forEach((text, i) => {
        const line = text.trim();
        if (line && !IDLE.test(line)) lines.push(`${folder}/${name}:${i + 1}-${i + 1}`);
      });
  }
}
for (let i = lines.length - 1; i > 0; i--) {
  const j = Math.floor(random() * (i + 1));
  [lines[i], lines[j]] = [lines[j], lines[i]];
}

const config = {
  testRunner: "vitest",
  vitest: { dir: "js" },
  coverageAnalysis: "perTest",
  concurrency: 1,
  // A mutant that acts while its module is loaded would need every test again.
  ignoreStatic: true,
  inPlace: true,
  // Stryker's TypeScript preprocessor does not know TypeScript 7; esbuild strips the types anyway.
  tsconfigFile: "none.json",
  timeoutMS: 20000,
  reporters: ["json", "clear-text"],
  jsonReporter: { fileName: "build/mutants-ts.json" },
  clearTextReporter: { allowColor: false, reportTests: false, logTests: false },
  // Texts on screen are not what this looks for.
  mutator: { excludedMutations: ["StringLiteral", "ObjectLiteral", "Regex"] },
  mutate: lines.slice(0, count).sort(),
};
console.log(JSON.stringify(config, null, 2));
