import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const SRC = join(import.meta.dirname, "../src");
/** Properties that a browser changes frame by frame without laying the page out. */
const CHEAP = /^(background|background-position|border-color|filter|none|opacity|scale|stroke)\b/;

const sheets = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".css"))
  .map((file) => ({ file, text: readFileSync(join(SRC, file), "utf8") }));

test("no transition lays the page out with every frame", () => {
  const found = sheets.flatMap(({ file, text }) =>
    [...text.matchAll(/\btransition:([^;]+);/g)].map(([, of]) => ({ file, of: of!.trim() })),
  );
  expect(found.length).toBeGreaterThan(5);
  expect(found.filter(({ of }) => !of.split(",").every((each) => CHEAP.test(each.trim())))).toEqual(
    [],
  );
});
