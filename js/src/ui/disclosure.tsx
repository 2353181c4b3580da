/** A table behind a summary: drawn while it is open. */

import { Component, type ComponentChild } from "preact";

interface Props {
  readonly summary: string;
  readonly part?: string;
  /** Name of the region that scrolls. */
  readonly label: string;
  readonly children: () => ComponentChild;
}

export class Disclosure extends Component<Props, { readonly open: boolean }> {
  render() {
    const { summary, part, label, children } = this.props;
    return (
      <details
        class="aw-disclosure"
        data-aw-part={part}
        onToggle={({ currentTarget: { open } }) => this.setState({ open })}
      >
        <summary>{summary}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
        <div class="aw-table-scroll" tabIndex={0} role="region" aria-label={label}>
          {this.state.open && children()}
        </div>
      </details>
    );
  }
}
