/** How much of a target each part of A brings back in B; a click on a cell carries that part over. */

import { CellMap } from "../../draw/cell-map/cell-map";
import { onTheme } from "../../draw/color/theme";
import { h } from "../../draw/dom";
import { onResize } from "../../draw/resize";
import { fillWhenAnswered } from "../../draw/wait";
import { formatNumber } from "../../figures/format";
import { headName } from "../../figures/names";
import { type Described, nameOf } from "../../figures/targets";
import { explain } from "../../protocol/failure";
import { itemAt } from "../../protocol/required";
import type { Recovery, RecoveryOf, Site } from "../data";
import { markOf, signed, signedLegend } from "../signs";
import { known, labelOf, type Panel } from "./contract";

const SHAPE = { rowHeight: 28, cellMost: 44, heightMost: 560 } as const;
const PARTS: readonly (readonly [RecoveryOf, string, string])[] = [
  ["heads", "Heads", "a head's output, at every matched token"],
  ["states", "States", "the hidden state that enters a layer, at one token"],
  ["attention", "Attention", "what a layer's attention adds, at one token"],
  ["mlp", "Feed-forward", "what a layer's feed-forward network adds, at one token"],
];
const KINDS: Readonly<Record<RecoveryOf, string>> = {
  heads: "head",
  states: "state",
  attention: "attention",
  mlp: "mlp",
};
const NEEDS_KERNEL =
  "Patching reruns the model, which needs a kernel; this page has only the grids that were recorded.";

export const patching: Panel = (element, context) => {
  const { compared, give, sources, signal, memory, patching: kernel } = context;
  const recorded = compared.recoveries ?? [];
  const targets =
    kernel === null ? unique(recorded.map(({ target }) => target)) : (compared.targets ?? []);
  const note = h("p", { class: "aw-compare-note" });
  if (targets.length === 0) {
    note.textContent =
      compared.reasons.patching ??
      "This page holds no grid of recovery: call c.recovery(target) before c is saved.";
    element.append(note);
    give("nothing");
    return;
  }
  memory.target = Math.min(memory.target, targets.length - 1);
  const target = h(
    "select",
    { class: "aw-select", "aria-label": "Target", "data-aw-part": "patching-target" },
    ...targets.map((one, i) => h("option", { value: i }, describe(one))),
  );
  target.value = String(memory.target);
  const buttons = PARTS.map(([of, name, title]) => h("button", { "data-of": of, title }, name));
  const body = h("div", { "data-aw-part": "patching-grid" });
  const state = h("p", { class: "aw-compare-reading", role: "status", "data-aw-part": "patched" });
  element.append(
    h(
      "div",
      { class: "aw-panel-head" },
      h("h3", { class: "aw-title" }, "Parts of A put into B: how much of"),
      target,
      h("span", {}, "comes back"),
      h("div", { class: "aw-segmented", role: "group", "aria-label": "Parts" }, ...buttons),
    ),
    state,
    body,
    note,
  );
  note.textContent =
    kernel === null
      ? NEEDS_KERNEL
      : "Click a cell to put that part of A into B: all views of B then show the patched run. Click it again to undo this.";

  const sites = compared.patched?.sites ?? [];
  const put = (next: readonly Site[]): void => {
    if (kernel === null) return;
    body.setAttribute("aria-busy", "true");
    kernel.put(next, itemAt(targets, memory.target).target).catch((error: unknown) => {
      body.removeAttribute("aria-busy");
      state.textContent = Object.values(explain(error)).join(" ");
    });
  };
  const toggle = (site: Site): void => {
    const same = (one: Site) => one.every((part, i) => part === site[i]);
    put(sites.some(same) ? sites.filter((site) => !same(site)) : [...sites, site]);
  };
  const tell = (found: Recovery): void => {
    const { patched } = compared;
    const gap = found.source - found.value;
    const parts = [
      `${nameOf(found.target)}: ${formatNumber(found.source)} in A, ${formatNumber(found.value)} in B.`,
    ];
    if (patched && patched.sites.length > 0) {
      const names = patched.sites.map(nameOfSite).join(", ");
      const same = JSON.stringify(patched.target) === JSON.stringify(found.target.target);
      parts.push(
        same && patched.value !== null
          ? `B with ${names} of A: ${formatNumber(patched.value)}, recovered ${signed((patched.value - found.value) / gap)}.`
          : `B holds ${names} of A.`,
      );
    }
    state.replaceChildren(parts.join(" "));
    if (!patched || patched.sites.length === 0 || kernel === null) return;
    const back = h("button", { class: "aw-link-button", "data-aw-part": "unpatch" }, "Undo all");
    back.addEventListener("click", () => put([]), { signal });
    state.append(" ", back);
  };
  const nameOfSite = ([kind, layer, place]: Site): string =>
    kind === "head"
      ? headName(layer, place)
      : `L${layer} · ${kind} at ${labelOf(sources.b, place)}`;

  let life = new AbortController();
  const load = (): void => {
    life.abort();
    life = new AbortController();
    const mine = AbortSignal.any([signal, life.signal]);
    buttons.forEach((button) => {
      button.setAttribute("aria-pressed", String(button.dataset.of === memory.of));
    });
    const chosen = itemAt(targets, memory.target);
    const far = h("progress", { "aria-label": "Passes of the model" });
    state.textContent = "";
    give("nothing"); // until this grid is here; that of another choice is gone
    void fillWhenAnswered(body, {
      waiting: "Running B with each part of A in turn …",
      ask: async () => {
        const known = recorded.findIndex(
          (one) => one.of === memory.of && sameTarget(one.target, chosen),
        );
        if (known >= 0) {
          const values = compared.arrays.get(`recovery:${known}`);
          if (values !== undefined) return { ...itemAt(recorded, known), values };
        }
        if (kernel === null) throw new Error("This grid was not recorded; it needs a kernel.");
        return kernel.recovery(chosen.target, memory.of, {
          signal: mine,
          progress(done, all) {
            if (!far.isConnected) body.append(far);
            [far.value, far.max] = [done, all || 1];
          },
        });
      },
      fill: (found) => {
        tell(found);
        fill(found, mine);
      },
      signal: mine,
    });
  };

  function fill(found: Recovery, mine: AbortSignal): void {
    const [rows = 0, all = 0] = found.values.shape;
    const ofHeads = found.of === "heads";
    // A token of B without a partner has no cell.
    const places = Array.from({ length: all }, (_, i) => i).filter(
      (i) => ofHeads || compared.tokens.some(([, b]) => b === i),
    );
    const columns = places.length;
    const values = Float32Array.from({ length: rows * columns }, (_, k) =>
      itemAt(found.values.data, Math.floor(k / columns) * all + itemAt(places, k % columns)),
    );
    give(() => ({
      columns: [
        "layer",
        ofHeads ? "head" : "position_b",
        ...(ofHeads ? [] : ["token"]),
        "recovery",
      ],
      rows: Array.from(values, (value, k) => {
        const column = k % columns;
        const token = ofHeads ? [] : [names[column] ?? ""];
        return [Math.floor(k / columns), itemAt(places, column), ...token, known(value)];
      }),
    }));
    const top = values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
    const names = places.map((i) => (ofHeads ? String(i) : labelOf(sources.b, i)));
    const reading = h("p", {
      class: "aw-compare-reading",
      role: "status",
      "data-aw-part": "recovery",
    });
    const place = (column: number): string =>
      ofHeads ? `head ${places[column]}` : `at ${names[column]}`;
    const read = (row: number, column: number): void => {
      const value = itemAt(values, row * columns + column);
      reading.textContent = `layer ${row}, ${place(column)}: recovery ${signed(value, 3)}`;
      reading.dataset.awValue = String(value);
    };
    const strongest = (): void => {
      const k = values.findIndex((value) => Math.abs(value) === top);
      if (k >= 0) read(Math.floor(k / columns), k % columns);
    };
    const map = new CellMap(
      SHAPE,
      {
        point: (cell) => (cell === null ? strongest() : read(cell.row, cell.column)),
        pick: ({ row, column }) => {
          if (!Number.isNaN(itemAt(values, row * columns + column)))
            toggle([KINDS[found.of], row, itemAt(places, column)]);
        },
      },
      "patching-map",
      mine,
    );
    const legend = h("div");
    const room = h("div", {}, map.element);
    body.append(legend, reading, room);
    const show = (): void => {
      map.recolor();
      map.show(
        {
          rows,
          columns,
          values,
          top: Math.max(top, 1e-12),
          scale: "head",
          signed: true,
          mark: markOf(top),
          rowLabels: Array.from({ length: rows }, (_, i) => `layer ${i}`),
          columnLabels: names,
        },
        `Recovery of ${nameOf(found.target)}`,
      );
      const last = sites.at(-1);
      if (last !== undefined && last[0] === KINDS[found.of]) {
        map.mark({ row: last[1], column: places.indexOf(last[2]) });
      }
      legend.replaceChildren(signedLegend(body, top, "away from A", "towards A (1: all the way)"));
    };
    onResize(room, (width) => map.resize(width), mine);
    onTheme(body, show, mine);
    show();
    strongest();
  }

  function describe(one: Described): string {
    const { position } = one.target;
    return position === undefined
      ? nameOf(one)
      : `${nameOf(one)} at ${labelOf(sources.b, position)}`;
  }

  target.addEventListener("change", () => {
    memory.target = Number(target.value);
    load();
  });
  buttons.forEach((button, i) => {
    button.addEventListener("click", () => {
      memory.of = itemAt(PARTS, i)[0];
      load();
    });
  });
  load();
};

const sameTarget = (a: Described, b: Described): boolean =>
  JSON.stringify(a.target) === JSON.stringify(b.target);

const unique = (all: readonly Described[]): Described[] =>
  all.filter((one, i) => all.findIndex((other) => sameTarget(one, other)) === i);
