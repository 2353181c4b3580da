/** Controls of a view's head: one of a few choices, and a number between two buttons. */

import type { ComponentChildren } from "preact";

/** A few choices, all in sight, of which one is pressed. */
export function Segmented<T extends string>({
  label,
  part,
  name,
  options,
  value,
  choose,
}: {
  readonly label: string;
  readonly part?: string;
  /** Name of the data attribute that holds a button's value. */
  readonly name: string;
  readonly options: readonly (readonly [value: T, text: ComponentChildren])[];
  readonly value: T;
  readonly choose: (value: T) => void;
}) {
  return (
    <div class="aw-segmented" role="group" aria-label={label} data-aw-part={part}>
      {options.map(([own, text]) => (
        <button
          type="button"
          key={own}
          {...{ [`data-${name}`]: own }}
          aria-pressed={own === value}
          onClick={() => choose(own)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

/** A whole number between two buttons. */
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
    <button
      type="button"
      class="aw-button"
      aria-label={name}
      title={name}
      disabled={next < min || next > max}
      onClick={() => set(next)}
    >
      {face}
    </button>
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
