/** A part behind a summary, drawn while it is open. */

import { Component, type ComponentChild } from "preact";

interface Props {
  readonly summary: string;
  readonly part: string;
  readonly children: () => ComponentChild;
}

export class Folded extends Component<Props, { readonly open: boolean }> {
  render() {
    const { summary, part, children } = this.props;
    return (
      <details
        class="aw-disclosure"
        data-aw-part={part}
        onToggle={({ currentTarget: { open } }) => this.setState({ open })}
      >
        <summary>{summary}</summary>
        {this.state.open && children()}
      </details>
    );
  }
}
