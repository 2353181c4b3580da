/** Tabs: Tab enters the chosen one, arrows go round. */

import { consume } from "../draw/dom";
import { scrollAcross } from "../draw/scroll";
import { itemAt } from "../protocol/required";
import { Button } from "./controls";

export interface Tab {
  readonly name: string;
  readonly label: string;
  readonly title?: string;
}

/** Scroll the tabs, and never the page, to the chosen one in the next frame. */
function reveal(button: HTMLElement | null): void {
  if (button === null) return;
  requestAnimationFrame(() => {
    const { offsetLeft, offsetWidth, parentElement } = button;
    if (parentElement !== null) scrollAcross(parentElement, offsetLeft, offsetLeft + offsetWidth);
  });
}

export function Tabs({
  label,
  part,
  tabs,
  chosen,
  choose,
  controls,
  hidden = false,
}: {
  readonly label: string;
  readonly part?: string;
  readonly tabs: readonly Tab[];
  readonly chosen: string;
  readonly choose: (name: string) => void;
  /** Id of the panel. */
  readonly controls?: string;
  readonly hidden?: boolean;
}) {
  const press = (event: KeyboardEvent): void => {
    const list = event.currentTarget as HTMLElement;
    const index = [...list.children].indexOf(event.target as Element);
    const last = tabs.length - 1;
    const next = {
      ArrowLeft: index === 0 ? last : index - 1,
      ArrowRight: index === last ? 0 : index + 1,
      Home: 0,
      End: last,
    }[event.key];
    if (index < 0 || next === undefined) return;
    choose(itemAt(tabs, next).name);
    (list.children[next] as HTMLElement).focus({ preventScroll: true });
    consume(event);
  };
  return (
    <div
      class="aw-tabs"
      role="tablist"
      aria-label={label}
      data-aw-part={part}
      hidden={hidden}
      onKeyDown={press}
    >
      {tabs.map(({ name, label: text, title }) => (
        <Button
          role="tab"
          class="aw-tab"
          key={name}
          data-view={name}
          aria-controls={controls}
          title={title}
          aria-selected={name === chosen}
          tabIndex={name === chosen ? 0 : -1}
          ref={name === chosen ? reveal : null}
          onClick={() => choose(name)}
        >
          {text}
        </Button>
      ))}
    </div>
  );
}
