/** Saving a view: a button at the end of the tabs; its menu and the files come with the lazy code. */

import { signal } from "@preact/signals-core";
import { createRef } from "preact";
import { ROOT_CLASS } from "../../draw/color/theme";
import { consume, h } from "../../draw/dom";
import { onAbort } from "../../protocol/abort";
import { messageOf } from "../../protocol/failure";
import { required } from "../../protocol/required";
import { Button, Icon } from "../../ui/controls";
import { mount } from "../../ui/mount";
import { type LazyCode, lazyCode, type OpenView, type ViewContext } from "../../views/contract";
import { askCode } from "../../views/lazy-views";

type SaveMenu = ReturnType<LazyCode["saveMenu"]>;
type SaveRequest = Parameters<SaveMenu["answer"]>[0];

/**
 * Attributes that tests may rely on: `data-aw-part` save (the button), save-menu, save-note. The widget's root answers the
 * event `aw:save` (`SaveRequest`), for hosts that save without a menu.
 */
export function saveTool(
  context: ViewContext,
  panel: HTMLElement,
  open: () => OpenView,
): HTMLElement {
  const { source, report, signal: until } = context;
  const element = h("div", { class: "aw-save" });
  const button = createRef<HTMLButtonElement>();
  const busy = signal(false);
  const menu = signal<SaveMenu | null>(null);

  async function load(): Promise<SaveMenu> {
    await askCode(source, until);
    const { saveMenu } = required(lazyCode.peek(), "The code of saving");
    menu.value ??= saveMenu({ context, panel, open, element, button, busy });
    return menu.value;
  }

  function press(last = false): void {
    const toggle = ({ shown, show, close }: SaveMenu): void => {
      if (shown.peek() === null) show(last);
      else close(true);
    };
    const here = menu.peek();
    if (here !== null) toggle(here);
    else load().then(toggle, (error: unknown) => until.aborted || report(error));
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (menu.peek()?.shown.peek()) menu.peek()?.onKey(event);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      press(event.key === "ArrowUp");
      consume(event);
    }
  }

  const View = () => {
    const { Note, Menu, shown, onFocusOut } = menu.value ?? {};
    return (
      <>
        {Note && <Note />}
        <Button
          ref={button}
          part="save"
          label="Save"
          title="Save this view"
          aria-haspopup="menu"
          aria-expanded={shown ? shown.value !== null : false}
          aria-busy={busy.value || undefined}
          onClick={() => press()}
          onKeyDown={onKeyDown}
          {...(onFocusOut && { onFocusOut })}
        >
          <Icon name="save" />
        </Button>
        {Menu && <Menu />}
      </>
    );
  };
  mount(element, View, until);
  panel.closest(`.${ROOT_CLASS}`)?.addEventListener(
    "aw:save",
    (event) => {
      const request = (event as CustomEvent<SaveRequest>).detail;
      load()
        .then(({ answer }) => answer(request))
        .catch((error: unknown) => request.failed(messageOf(error)));
    },
    { signal: until },
  );
  onAbort(until, () => element.remove());
  return element;
}
