/** Controls of a view's head: buttons, and one of a few choices. */

import type { ComponentChildren, ComponentProps } from "preact";
import { ICONS } from "../draw/icon";

/** A button that sends no form of the page around the widget; `label` is its name where its face is none. */
export const Button = ({
  class: name = "aw-button",
  part,
  label,
  ...attributes
}: Omit<ComponentProps<"button">, "type" | "class" | "label"> & {
  readonly class?: string;
  readonly part?: string | undefined;
  readonly label?: string | undefined;
}) => <button type="button" class={name} data-aw-part={part} aria-label={label} {...attributes} />;

/** A 16 px icon in the color of the text. */
export const Icon = ({ name }: { readonly name: keyof typeof ICONS }) => (
  <svg class="aw-icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={ICONS[name]} />
  </svg>
);

/** A few choices, all in sight, of which one is pressed. */
export function Segmented<T extends string>({
  label,
  part,
  name,
  options,
  value,
  choose,
  class: more = "",
  busy = false,
  children,
}: {
  readonly label: string;
  readonly part?: string;
  readonly class?: string;
  readonly busy?: boolean;
  /** Behind the buttons. */
  readonly children?: ComponentChildren;
  /** Name of the data attribute that holds a button's value. */
  readonly name: string;
  /** Values, texts, and further attributes of buttons. */
  readonly options: readonly (readonly [
    value: T,
    text: ComponentChildren,
    attributes?: {
      readonly disabled?: boolean;
      readonly "aria-disabled"?: true | undefined;
      readonly title?: string;
    },
  ])[];
  readonly value: T;
  readonly choose: (value: T) => void;
}) {
  return (
    <div
      class={`aw-segmented ${more}`.trim()}
      role="group"
      aria-label={label}
      aria-busy={busy ? "true" : undefined}
      data-aw-part={part}
    >
      {options.map(([option, text, attributes]) => (
        <button
          type="button"
          key={option}
          {...{ [`data-${name}`]: option }}
          {...attributes}
          aria-pressed={option === value}
          onClick={() => choose(option)}
        >
          {text}
        </button>
      ))}
      {children}
    </div>
  );
}

/** One of several choices, in a menu. */
export const Select = <T extends string | number>({
  label,
  part,
  title,
  options,
  value,
  choose,
  disabled = false,
}: {
  readonly label: string;
  readonly part?: string;
  readonly title?: string;
  readonly options: readonly (Option<T> | OptionGroup<T>)[];
  readonly value: T;
  readonly choose: (value: T) => void;
  readonly disabled?: boolean;
}) => {
  const option = ([each, text, hint]: Option<T>) => (
    <option key={each} value={each} selected={each === value} title={hint}>
      {text}
    </option>
  );
  return (
    <select
      class="aw-select"
      aria-label={label}
      title={title}
      data-aw-part={part}
      disabled={disabled}
      onChange={({ currentTarget: { value: text } }) =>
        choose((typeof value === "number" ? Number(text) : text) as T)
      }
    >
      {options.map((each) =>
        "options" in each ? (
          <optgroup key={each.label} label={each.label}>
            {each.options.map(option)}
          </optgroup>
        ) : (
          option(each)
        ),
      )}
    </select>
  );
};

type Option<T> = readonly [value: T, text: string, title?: string];
export interface OptionGroup<T> {
  readonly label: string;
  readonly options: readonly Option<T>[];
}
