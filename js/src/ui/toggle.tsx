/** A switch. */

import { Button } from "./controls";

export const Toggle = ({
  text,
  part,
  on,
  set,
  title,
  disabled = false,
}: {
  readonly text: string;
  readonly part?: string;
  readonly on: boolean;
  readonly set: (on: boolean) => void;
  readonly title?: string;
  readonly disabled?: boolean;
}) => (
  <Button
    class="aw-toggle"
    aria-pressed={on}
    {...{ part, title, disabled }}
    onClick={() => set(!on)}
  >
    {text}
  </Button>
);
