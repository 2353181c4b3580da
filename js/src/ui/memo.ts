/** Components that are drawn again only when one of their properties, or of the signals that they read, changes. */

import { effect } from "@preact/signals-core";
import { Component, type ComponentChild, type ComponentType, options } from "preact";

// As in `mount`: what follows from a change is on screen when the change returns.
options.debounceRendering = (process) => process();

/** Signals are followed only where `draw` itself reads them: a component inside that reads others is a `memo`, too. */
export function memo<P extends object>(draw: (props: P) => ComponentChild): ComponentType<P> {
  return class extends Component<P> {
    #stop = (): void => undefined;

    override shouldComponentUpdate(next: P): boolean {
      return (Object.keys(next) as (keyof P)[]).some((key) => next[key] !== this.props[key]);
    }
    override componentWillUnmount(): void {
      this.#stop();
    }
    render(): ComponentChild {
      this.#stop();
      let drawn: ComponentChild;
      let changed = false;
      this.#stop = effect(() => {
        if (changed) this.forceUpdate();
        else drawn = draw(this.props);
        changed = true;
      });
      return drawn;
    }
  };
}
