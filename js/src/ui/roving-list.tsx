/** A list of buttons that Tab enters once. */

import { Component, type ComponentChildren } from "preact";
import { moveFocus, setEntry } from "../draw/roving";

interface Props {
  readonly class: string;
  readonly part?: string;
  readonly children: ComponentChildren;
}

/** Arrows, Home and End move the focus inside; it stays where its button stays, else goes to the first. */
export class RovingList extends Component<Props> {
  #list: HTMLElement | null = null;
  #focused: Element | null = null;

  override componentDidMount(): void {
    this.componentDidUpdate();
  }
  override componentDidUpdate(): void {
    const buttons = [...(this.#list?.querySelectorAll("button") ?? [])];
    const at = buttons.indexOf(this.#focused as HTMLButtonElement);
    const before = buttons.findIndex((button) => button.getAttribute("tabindex") === "0");
    const entry = Math.max(this.#focused === null ? before : at, 0);
    setEntry(buttons, entry);
    if (this.#focused !== null) buttons[entry]?.focus({ preventScroll: true });
  }
  render() {
    const root = this.#list?.getRootNode() as Document | ShadowRoot | undefined;
    const active = root?.activeElement ?? null;
    this.#focused = this.#list?.contains(active) ? active : null;
    const { class: name, part, children } = this.props;
    return (
      <ol
        class={name}
        data-aw-part={part}
        onKeyDown={moveFocus}
        ref={(list) => {
          this.#list = list;
        }}
      >
        {children}
      </ol>
    );
  }
}
