/** One method's row: its name, which chooses it, its strip, and how far it is. */

import type { Mode } from "../../draw/color/ramp";
import { h, setAttributes } from "../../draw/dom";
import type { Unit } from "../../figures/derive/units";
import { explain, isAbort, isLasting } from "../../protocol/failure";
import type { Contributions, Method, Trust } from "./data";
import { strip } from "./strips";
import { fallDot, tested } from "./trust";

/** `waiting`: it takes long, and is started by a button. */
type Stage =
  | { readonly of: "waiting" | "idle" }
  | { readonly of: "running"; readonly share: number | null }
  | { readonly of: "failed"; readonly reason: string }
  | { readonly of: "known"; readonly found: Contributions };

export interface MethodRow {
  readonly cells: readonly HTMLElement[];
  readonly button: HTMLButtonElement;
  readonly found: Contributions | null;
  draw(units: readonly Unit[], width: number, mode: Mode): void;
  trust(trust: Trust | null): void;
  /** Ask; `start` is called by the button of a method that takes long. */
  run(
    ask: (progress: (done: number, total: number) => void) => Promise<Contributions>,
  ): Promise<Contributions | null>;
  offer(start: () => void, cancel: () => void): void;
}

export function createMethodRow(method: Method): MethodRow {
  const prefix = method.name.endsWith(` ${method.short}`)
    ? method.name.slice(0, -method.short.length)
    : "";
  const button = h(
    "button",
    {
      class: "aw-why-method",
      "aria-pressed": "false",
      "data-method": method.key,
      title: method.about,
    },
    prefix === "" ? null : h("span", { class: "aw-why-prefix" }, prefix),
    method.name.slice(prefix.length),
  );
  const cells = h("div", { class: "aw-why-strip", "data-method": method.key });
  const dot = h("div", { class: "aw-why-fall" });
  let stage: Stage = { of: "idle" };
  let size: { units: readonly Unit[]; width: number; mode: Mode } | null = null;
  let start: (() => void) | null = null;
  let cancel: (() => void) | null = null;

  function link(words: string, call: () => void): HTMLElement {
    const made = h("button", { class: "aw-why-link" }, words);
    made.addEventListener("click", call);
    return made;
  }

  function show(): void {
    setAttributes(button, { disabled: stage.of !== "known" });
    switch (stage.of) {
      case "known":
        if (size !== null)
          cells.replaceChildren(strip(stage.found.values, size.units, size.width, size.mode));
        break;
      case "running": {
        const far = stage.share === null ? "" : ` ${Math.round(100 * stage.share)}%`;
        cells.replaceChildren(
          h("span", { class: "aw-muted" }, `computing${far} … `),
          ...(stage.share === null || cancel === null ? [] : [link("cancel", cancel)]),
        );
        break;
      }
      case "failed":
        cells.replaceChildren(
          h("span", { class: "aw-muted", title: stage.reason }, `N/A: ${stage.reason}`),
        );
        break;
      default:
        cells.replaceChildren(
          ...(stage.of === "waiting" && start !== null
            ? [link("compute (takes seconds)", start)]
            : []),
        );
    }
  }

  return {
    cells: [button, cells, dot],
    button,
    get found() {
      return stage.of === "known" ? stage.found : null;
    },
    draw(units, width, mode) {
      size = { units, width, mode };
      show();
    },
    trust(trust) {
      const made = trust === null ? null : fallDot(trust, method.key);
      setAttributes(dot, { title: trust === null ? null : tested(trust, method.key) });
      dot.replaceChildren(...(made === null ? [] : [made]));
    },
    async run(ask) {
      stage = { of: "running", share: null };
      show();
      try {
        const answer = await ask((done, total) => {
          stage = { of: "running", share: total > 0 ? done / total : 0 };
          show();
        });
        stage = { of: "known", found: answer };
        return answer;
      } catch (error) {
        const { message, hint } = explain(error);
        const reason = isLasting(error) ? message : `${message} ${hint}`.trim();
        const again = isAbort(error) || /cancel/.test(message);
        stage = again ? { of: "waiting" } : { of: "failed", reason };
        return null;
      } finally {
        show();
      }
    },
    offer(begin, stop) {
      start = begin;
      cancel = stop;
      stage = { of: "waiting" };
      show();
    },
  };
}
