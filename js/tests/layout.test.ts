import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { lazyFeatures } from "../features.mjs";

const SRC = join(import.meta.dirname, "../src");

/** The architecture, from the bottom up: a room imports only from itself and from the rooms before it in this list. */
const ROOMS = [
  "catalog", // names and texts that Python declares
  "protocol", // packs, slices, sources; what answers for a run
  "state", // the selection
  "figures", // pure functions: numbers, names, formulas, the matrix of the selection
  "draw", // drawing helpers that know nothing of a view
  "ui", // components of controls, numbers and cards, drawn from signals
  "marks", // cells, tables, drawings and the keys in them, for every view
  "views/contract", // what a view is
  "views/*", // one folder a view; none imports another one
  "views", // the list of all views, and those whose code comes later
  "frame", // what stands around a view
  "", // entries: widget, standalone, lazy
  "features", // a folder each, which the core imports only through the two lists of them
] as const;

/** Lists of all features, which may name every one of them. */
const LISTS = ["features/index.ts", "features/lazy.ts"];

interface Place {
  readonly room: (typeof ROOMS)[number];
  /** The view or feature that a file belongs to; null for all others. */
  readonly view: string | null;
}

function placeOf(file: string): Place {
  const [room, next, ...rest] = file.split("/");
  if (next === undefined) return { room: "", view: null };
  if (room === "features") return { room, view: rest.length > 0 ? next : null };
  if (room === "views" && next === "contract.ts") return { room: "views/contract", view: null };
  if (room === "views" && rest.length > 0) return { room: "views/*", view: next };
  if (!ROOMS.some((name) => name === room)) throw new Error(`${file} is in no room`);
  return { room: room as Place["room"], view: null };
}

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => /\.tsx?$/.test(file))
  .sort();
const known = new Set(files);

/** The file that `from` names as `path`. */
function resolve(from: string, path: string): string {
  const target = relative(SRC, join(SRC, dirname(from), path)).replaceAll("\\", "/");
  const index = target === "" ? "index.ts" : `${target}/index.ts`;
  const found = [`${target}.ts`, `${target}.tsx`, index].find((file) => known.has(file));
  if (found === undefined) throw new Error(`${from} imports ${path}, which is no file`);
  return found;
}

/** Files that a file imports or exports from, types included. */
const arrows = new Map(
  files.map((file) => {
    const text = readFileSync(join(SRC, file), "utf8");
    const named = /(?:\bfrom|\bimport|\bimport\()\s*"(\.[^"]*)"/g;
    return [file, [...text.matchAll(named)].map(([, path]) => resolve(file, path!))] as const;
  }),
);

/** The features that each one declares to import. */
const uses = new Map(
  files.flatMap((file) => {
    const [, name] = /^features\/(\w+)\/index\.ts$/.exec(file) ?? [];
    if (name === undefined) return [];
    const declared = /\buses: \[([^\]]*)\]/.exec(readFileSync(join(SRC, file), "utf8"))?.[1] ?? "";
    return [[name, [...declared.matchAll(/"(\w+)"/g)].map(([, used]) => used)] as const];
  }),
);

/** Why an arrow is forbidden; null where it is allowed. */
function fault(from: Place, to: Place): string | null {
  if (ROOMS.indexOf(to.room) > ROOMS.indexOf(from.room)) return "points up";
  if (from.view === null || to.view === null || from.view === to.view) return null;
  if (from.room !== to.room) return null;
  if (from.room !== "features") return "leads from one view to another";
  return uses.get(from.view)?.includes(to.view) ? null : "is not declared by the feature";
}

/** The files of a circle in their order, the first one again at the end; null where there is none. */
function circleFrom(start: string, done: Set<string>, path: string[] = []): string[] | null {
  if (path.includes(start)) return [...path.slice(path.indexOf(start)), start];
  if (done.has(start)) return null;
  for (const next of arrows.get(start)!) {
    const circle = circleFrom(next, done, [...path, start]);
    if (circle !== null) return circle;
  }
  done.add(start);
  return null;
}

describe("the rooms of the page", () => {
  test("import only from the rooms below them, and a view from no other view", () => {
    const wrong = [...arrows].flatMap(([from, targets]) =>
      targets.flatMap((to) => {
        if (LISTS.includes(from) || LISTS.includes(to)) return [];
        const why = fault(placeOf(from), placeOf(to));
        return why === null ? [] : [`${from} -> ${to} ${why}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test("list every feature in one line, and two places of the core read the lists", () => {
    const folders = readdirSync(join(SRC, "features"), { withFileTypes: true });
    const named = folders.filter((each) => each.isDirectory()).map(({ name }) => name);
    expect(arrows.get("features/index.ts")?.map((file) => file.split("/")[1])).toEqual(
      named.sort(),
    );
    const readers = LISTS.map((list) =>
      [...arrows].flatMap(([from, targets]) => (targets.includes(list) ? [from] : [])),
    );
    expect(readers).toEqual([["views/index.ts"], ["lazy.ts"]]);
    expect(readFileSync(join(SRC, "features/lazy.ts"), "utf8")).toBe(lazyFeatures());
  });

  test("hold no circle of files", () => {
    const done = new Set<string>();
    const circles = files.flatMap((file) => circleFrom(file, done)?.join(" -> ") ?? []);
    expect(circles).toEqual([]);
  });
});

test("an arrow that is read is one that is there", () => {
  expect(arrows.get("widget.ts")).toContain("frame/frame.tsx");
  expect(arrows.get("features/index.ts")).toContain("features/why/index.ts");
  expect(fault(placeOf("draw/dom.ts"), placeOf("figures/format.ts"))).toBe(null);
  expect(fault(placeOf("figures/format.ts"), placeOf("draw/dom.ts"))).toBe("points up");
  expect(fault(placeOf("views/attention/view.tsx"), placeOf("views/heads/view.tsx"))).toBe(
    "leads from one view to another",
  );
  const [why, tasks] = ["features/why/view.tsx", "features/tasks/view.tsx"];
  expect(fault(placeOf(why), placeOf(tasks))).toBe("is not declared by the feature");
  expect(fault(placeOf("views/index.ts"), placeOf(why))).toBe("points up");
});
