/** Pointer and keys in the tree: what is looked at, what has the focus, what is in sight (ARIA's tree pattern). */

import { consume, h } from "../../draw/dom";
import { scrollAcross, scrollDown } from "../../draw/scroll";
import { tapTwice } from "../../draw/touch";
import { itemAt } from "../../protocol/required";
import type { TreePicture } from "./draw";
import { ROW, type TreeBox, type TreeLayout } from "./layout";

export interface WalkEvents {
  /** The card of a token. */
  card(box: TreeBox): Node;
  toggle(box: TreeBox, open: boolean): void;
  /** Make a token the root. */
  choose(box: TreeBox): void;
  /** Go back to the earlier root; false when there is none. */
  back(): boolean;
}

export interface TreeWalk {
  readonly element: HTMLElement;
  /** Draw anew with `paint`; focus stays on its token, or goes to the nearest one above it. */
  settle(layout: TreeLayout, paint: () => void): void;
  /** The card again, with what is known now. */
  refresh(): void;
  hideCard(): void;
  /** Focus the root. */
  enter(): void;
  /** Bring the root to where a new tree begins. */
  center(): void;
}

/** Between a token and its card, px from the token's middle. */
const CARD_GAP = 16;
const MARGIN = 16;

export function createTreeWalk(
  picture: TreePicture,
  events: WalkEvents,
  signal: AbortSignal,
): TreeWalk {
  const tip = h("div", { class: "aw-tip", role: "presentation", hidden: true });
  const scroller = h("div", { class: "aw-tree-scroll" }, picture.element);
  const element = h("div", { class: "aw-tree-pane", hidden: true }, scroller, tip);
  let layout: TreeLayout | null = null;
  /** Where Tab enters the tree. */
  let entry = "";
  let carded: string | null = null;
  /** The focused token; to be found again after a drawing that left it out. */
  let held: string | null = null;

  function showCard(path: string | null): void {
    const box = path === null ? null : picture.box(path);
    carded = box === null ? null : path;
    tip.hidden = box === null;
    picture.light(carded);
    if (box === null) return;
    tip.replaceChildren(events.card(box));
    // Where the token will stand, not where it is on its way.
    const x = box.x - scroller.scrollLeft;
    const y = box.y - scroller.scrollTop;
    const { offsetWidth: width, offsetHeight: height } = tip;
    const left = Math.max(0, Math.min(x, scroller.clientWidth - width));
    const above = y - CARD_GAP - height;
    const below = y + CARD_GAP;
    const top = below + height > scroller.clientHeight && above > 0 ? above : below;
    tip.style.left = `${Math.round(left)}px`;
    tip.style.top = `${Math.round(top)}px`;
  }

  /** The nearest token above a path that is drawn. */
  function nearest(path: string): string {
    for (let at = path; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
      if (picture.box(at) !== null) return at;
    }
    return layout?.boxes[0]?.path ?? "";
  }

  function rove(path: string): void {
    picture.item(entry)?.setAttribute("tabindex", "-1");
    entry = path;
    picture.item(entry)?.setAttribute("tabindex", "0");
  }

  function focusOn(path: string): void {
    rove(path);
    picture.item(path)?.focus({ preventScroll: true });
    reveal(path);
  }

  /** Scroll the panel, and never the page, to a token. */
  function reveal(path: string): void {
    const box = picture.box(path);
    if (box === null) return;
    scrollAcross(scroller, box.x - box.numberWidth - MARGIN, box.x + box.width + MARGIN);
    scrollDown(scroller, box.y - ROW, box.y + ROW);
  }

  const boxOf = (target: EventTarget | null): TreeBox | null => {
    const path = (target as Element | null)?.closest<SVGElement>(".aw-tree-node")?.dataset.path;
    return path === undefined ? null : picture.box(path);
  };

  const listen = <K extends keyof SVGElementEventMap>(
    type: K,
    listener: (event: SVGElementEventMap[K]) => void,
  ): void => picture.element.addEventListener(type, listener, { signal });
  listen("click", (event) => {
    const box = boxOf(event.target);
    if (box === null) return;
    if ((event.target as Element).closest(".aw-tree-toggle") === null) events.choose(box);
    else {
      focusOn(box.path);
      events.toggle(box, !box.open);
    }
  });
  const pathOf = (event: Event): string | null =>
    (event.target as Element).closest(".aw-tree-toggle") === null
      ? (boxOf(event.target)?.path ?? null)
      : null;
  tapTwice(picture.element, pathOf, signal);
  listen("pointerover", (event) => {
    const box = boxOf(event.target);
    if (box !== null && box.path !== carded) showCard(box.path);
  });
  listen("pointerout", (event) => {
    if (boxOf(event.relatedTarget) === null) showCard(held);
  });
  listen("focusin", (event) => {
    const box = boxOf(event.target);
    if (box === null) return;
    held = box.path;
    rove(box.path);
    showCard(box.path);
  });
  listen("focusout", () => {
    held = null;
    showCard(null);
  });
  listen("keydown", (event) => {
    const box = boxOf(event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || box === null) return;
    if (!press(event.key, box)) return;
    consume(event);
  });
  scroller.addEventListener("scroll", () => showCard(carded), { signal, passive: true });

  /** Do what a key does; false for a key that does nothing here. */
  function press(key: string, box: TreeBox): boolean {
    const boxes = layout?.boxes ?? [];
    const at = boxes.indexOf(box);
    const go = (to: TreeBox | null | undefined): boolean => {
      if (to != null) focusOn(to.path);
      return true;
    };
    switch (key) {
      case "ArrowDown":
        return go(boxes[at + 1]);
      case "ArrowUp":
        return go(boxes[at - 1]);
      case "ArrowRight":
        if (box.open) return go(boxes[at + 1]);
        if (box.inner) events.toggle(box, true);
        return true;
      case "ArrowLeft":
        if (!box.open) return go(box.parent);
        events.toggle(box, false);
        return true;
      case "Home":
        return go(boxes[0]);
      case "End":
        return go(boxes.at(-1));
      case " ":
        if (box.inner) events.toggle(box, !box.open);
        return true;
      case "Enter":
        events.choose(box);
        return true;
      case "Backspace":
        return events.back();
      case "Escape":
        if (tip.hidden) return false;
        showCard(null);
        return true;
      default:
        return false;
    }
  }

  return {
    element,
    settle(next, paint) {
      const lost = held;
      layout = next;
      paint();
      rove(nearest(entry));
      if (lost !== null && picture.item(lost) === null) focusOn(entry);
      showCard(carded);
    },
    refresh: () => showCard(carded),
    hideCard: () => showCard(null),
    enter() {
      if (layout !== null) focusOn(itemAt(layout.boxes, 0).path);
    },
    center() {
      if (layout === null) return;
      const { x, y, width } = itemAt(layout.boxes, 0);
      const left = x + (width - scroller.clientWidth) / 2;
      scroller.scrollLeft = layout.name === "tidy" ? 0 : left;
      scroller.scrollTop = y - scroller.clientHeight / 2;
    },
  };
}
