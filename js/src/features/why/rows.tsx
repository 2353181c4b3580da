/** Heading of the view, and one method's row: its name, which chooses it, its strip, and its dot in the masking test. */

import type { Mode } from "../../draw/color/ramp";
import { itemAt } from "../../protocol/required";
import { shareOf, type Task } from "../../protocol/task";
import { Button } from "../../ui/controls";
import { memo } from "../../ui/memo";
import type { Contributions } from "./data";
import type { WhyModel } from "./model";
import { Strip } from "./strips";
import { FallDot, tested } from "./trust";

/** The question that is explained. */
export function Title({ model }: { readonly model: WhyModel }) {
  const { of: kind, names: [first, second] = [] } = model.titled.value?.of ?? {};
  return (
    <div class="aw-panel-head">
      <h3 class="aw-title">
        {first === undefined ? "Why" : kind === "similarity" ? "Why similar to " : "Why "}
        {first !== undefined && <bdi class="aw-why-name">{first}</bdi>}
        {second !== undefined && <span class="aw-muted"> rather than </span>}
        {second !== undefined && <bdi class="aw-why-name">{second}</bdi>}
        {first !== undefined && "?"}
      </h3>
    </div>
  );
}

export const Link = ({
  words,
  act,
  part,
}: {
  readonly words: string;
  readonly act: () => void;
  readonly part?: string;
}) => (
  <Button class="aw-link" part={part} onClick={act}>
    {words}
  </Button>
);

interface MethodProps {
  readonly model: WhyModel;
  readonly index: number;
  /** Width of the strips, px; 0 before anything has been laid out. */
  readonly width: number;
  readonly mode: Mode;
}

/** Why a method is N/A; null where it is not, or not known to be. */
export function refusalOf(task: Task<Contributions> | undefined): string | null {
  const { message, hint, lasting } = task?.state.value.failure ?? { message: "" };
  if (message === "") return null;
  return lasting ? message : `${message} ${hint}`.trim();
}

export const MethodRow = memo(function MethodRow({ model, index, width, mode }: MethodProps) {
  const { key, name, short, about } = itemAt(model.methods, index);
  const [task, trust] = [model.stages.value[index], model.trust.value];
  const stage = task?.state.value;
  const running = stage?.status === "running";
  const share = stage && running ? shareOf(stage) : null;
  const prefix = name.endsWith(` ${short}`) ? name.slice(0, -short.length) : "";
  return (
    <>
      <Button
        class="aw-why-method"
        aria-pressed={key === model.current.value?.method}
        data-method={key}
        title={about}
        disabled={stage?.status !== "done"}
      >
        {prefix !== "" && <span class="aw-why-prefix">{prefix}</span>}
        {name.slice(prefix.length)}
      </Button>
      <div class="aw-why-strip aw-small aw-ellipsis" data-method={key}>
        {stage?.value && width > 0 && (
          <Strip values={stage.value.values} units={model.units.value} width={width} mode={mode} />
        )}
        {running && (
          <span class="aw-muted">
            {`computing${share === null ? "" : ` ${Math.round(100 * share)}%`} … `}
          </span>
        )}
        {share !== null && <Link words="cancel" act={() => task?.stop()} />}
        {(stage?.status === "idle" || stage?.status === "stopped") && (
          <Link words="compute (takes seconds)" act={() => void task?.start()} />
        )}
      </div>
      <div
        class="aw-why-fall aw-small"
        title={(trust === null ? null : tested(trust, key)) ?? undefined}
      >
        {trust !== null && <FallDot trust={trust} method={key} />}
      </div>
    </>
  );
});
