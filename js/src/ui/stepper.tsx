/** A whole number between two buttons. */

import { Button } from "./controls";

export function Stepper({
  label,
  part,
  value,
  range: [min, max],
  set,
}: {
  readonly label: string;
  readonly part: string;
  readonly value: number;
  readonly range: readonly [min: number, max: number];
  readonly set: (value: number) => void;
}) {
  const button = (face: string, name: string, next: number) => (
    <Button label={name} title={name} disabled={next < min || next > max} onClick={() => set(next)}>
      {face}
    </Button>
  );
  return (
    <div class="aw-stepper" role="group" aria-label={label} data-aw-part={part}>
      <span class="aw-muted">{label}</span>
      {button("−", `Fewer ${label}`, value - 1)}
      <span class="aw-number aw-stepper-value" aria-live="polite">
        {value}
      </span>
      {button("+", `More ${label}`, value + 1)}
    </div>
  );
}
