/** Above the tree: which token it starts from, the earlier ones, and how far it goes. */

import { h } from "../../draw/dom";
import type { State } from "../../state/selection";
import type { LayoutName } from "./layout";

const BOUNDS = { top_k: [1, 10], depth: [1, 6] } as const;
const LAYOUTS: readonly (readonly [LayoutName, string])[] = [
  ["tidy", "Tidy"],
  ["force", "Force"],
];

export interface TreeHead {
  readonly element: HTMLElement;
  show(what: {
    root: { name: string; token: number } | null;
    /** Which matrix, in words. */
    matrix: string;
    trail: readonly { name: string; token: number }[];
    note: string;
  }): void;
  setLayout(name: LayoutName): void;
}

export function createTreeHead(
  state: State,
  signal: AbortSignal,
  { back, choose }: { back(token: number): void; choose(layout: LayoutName): void },
): TreeHead {
  const title = h("h3", { class: "aw-title", "data-aw-part": "tree-root" });
  const which = h("span", { class: "aw-muted" });
  const trail = h("nav", {
    class: "aw-tree-trail",
    "aria-label": "Earlier roots",
    "data-aw-part": "tree-trail",
  });
  const note = h("p", { class: "aw-hint aw-tree-note", "data-aw-part": "tree-note" });

  function stepper(key: "top_k" | "depth", label: string, part: string): HTMLElement {
    const [least, most] = BOUNDS[key];
    const value = h("span", { class: "aw-number aw-stepper-value", "aria-live": "polite" });
    const change = (by: number): void => {
      state.set({ [key]: Math.min(Math.max(state.get()[key] + by, least), most) });
    };
    const button = (face: string, name: string, by: number): HTMLButtonElement => {
      const made = h("button", { class: "aw-button", "aria-label": name, title: name }, face);
      made.addEventListener("click", () => change(by), { signal });
      return made;
    };
    const less = button("−", `Fewer ${label}`, -1);
    const more = button("+", `More ${label}`, 1);
    const show = (): void => {
      const now = state.get()[key];
      value.textContent = String(now);
      less.disabled = now <= least;
      more.disabled = now >= most;
    };
    state.on([key], show, signal);
    show();
    return h(
      "div",
      {
        class: "aw-stepper aw-tree-stepper",
        role: "group",
        "aria-label": label,
        "data-aw-part": part,
      },
      h("span", { class: "aw-muted" }, label),
      less,
      value,
      more,
    );
  }

  const layouts = LAYOUTS.map(([name, label]) => {
    const button = h("button", { "data-layout": name }, label);
    button.addEventListener("click", () => choose(name), { signal });
    return { name, button };
  });
  const element = h(
    "header",
    { class: "aw-tree-head" },
    h("div", { class: "aw-tree-title" }, title, which, trail),
    h(
      "div",
      { class: "aw-tree-controls" },
      stepper("top_k", "children", "top-k"),
      stepper("depth", "levels", "depth"),
      h(
        "div",
        { class: "aw-segmented", role: "group", "aria-label": "Layout", "data-aw-part": "layout" },
        ...layouts.map(({ button }) => button),
      ),
    ),
    note,
  );
  const label = (name: string, token: number): Node[] => [
    h("bdi", { dir: "ltr" }, name),
    h("span", { class: "aw-muted aw-number aw-tree-index" }, String(token)),
  ];

  const head: TreeHead = {
    element,
    show({ root, matrix, trail: earlier, note: text }) {
      title.hidden = root === null;
      if (root !== null) {
        title.replaceChildren(...label(root.name, root.token), " attends to");
        title.dataset.token = String(root.token);
      }
      which.textContent = matrix;
      trail.hidden = earlier.length === 0;
      trail.replaceChildren(
        h("span", { class: "aw-muted" }, "back to"),
        ...earlier.map(({ name, token }) => {
          const button = h(
            "button",
            {
              class: "aw-tree-back",
              "data-token": token,
              "aria-label": `Back to ${name}, position ${token}`,
            },
            ...label(name, token),
          );
          button.addEventListener("click", () => back(token));
          return button;
        }),
      );
      note.textContent = text;
      note.hidden = text === "";
    },
    setLayout(name) {
      for (const { name: own, button } of layouts) {
        button.setAttribute("aria-pressed", String(own === name));
      }
    },
  };
  return head;
}
