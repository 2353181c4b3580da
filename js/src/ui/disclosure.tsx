/** A part behind a summary, such as a table: drawn while it is open. */

import { Component, type ComponentChild } from "preact";

interface Props {
  readonly summary: string;
  readonly part?: string;
  /** Name of the region that scrolls; of what does not scroll none. */
  readonly label?: string;
  readonly children: () => ComponentChild;
}

export class Disclosure extends Component<Props, { readonly open: boolean }> {
  render() {
    const { summary, part, label, children } = this.props;
    const drawn = this.state.open && children();
    return (
      <details
        class="aw-disclosure"
        data-aw-part={part}
        onToggle={({ currentTarget: { open } }) => this.setState({ open })}
      >
        <summary>{summary}</summary>
        {label === undefined ? (
          drawn
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
          <div class="aw-table-scroll" tabIndex={0} role="region" aria-label={label}>
            {drawn}
          </div>
        )}
      </details>
    );
  }
}
