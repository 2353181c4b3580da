/** A pinned pair of what attention carries: its factors, and the sum of a layer's output that closes. */

import { Component, type ComponentChild, type ComponentChildren } from "preact";
import type { Mode } from "../../../draw/color/ramp";
import { formatNumber } from "../../../figures/format";
import type { Matrix } from "../../../figures/matrix";
import { hasHead } from "../../../figures/quantities";
import { isAbort, messageOf } from "../../../protocol/failure";
import { keysOf } from "../../../protocol/meta";
import { arrayOf, itemAt } from "../../../protocol/required";
import { Figure } from "../../../ui/figure";
import type { ViewContext } from "../../contract";
import { Sign } from "./ends";
import { Strip } from "./link-vectors";

/** Enough that a sum closes as it is written. */
const DIGITS = 5;
const DECIMALS = 4;

const figure = (name: string, value: number, error = 0) => (
  <Figure
    name={name}
    value={value}
    error={error}
    format={(number) => formatNumber({ value: number, error }, DIGITS)}
  />
);
/** A term of a sum: all with the same decimals. */
const term = (name: string, value: number) => (
  <Figure
    name={name}
    value={value}
    format={(number) => number.toFixed(DECIMALS).replace("-", "−")}
  />
);
const Chain = ({ children }: { readonly children: ComponentChildren }) => (
  <dl class="aw-figures aw-chain">{children}</dl>
);
const Note = ({ text }: { readonly text: string }) => <p class="aw-muted">{text}</p>;

/** A cell of a quantity of what attention carries. */
interface SumProps {
  readonly mode: Mode;
  readonly context: ViewContext;
  readonly matrix: Matrix;
  readonly row: number;
  readonly column: number;
}

/** Its key names the cell and the colors: others are another sum. */
export class CarriedSum extends Component<SumProps, { readonly parts?: ComponentChild[] }> {
  readonly #query = itemAt(this.props.matrix.queries, this.props.row);
  readonly #key = itemAt(this.props.matrix.keys, this.props.column);

  override componentDidMount(): void {
    if (this.#ofWord()) return;
    const { context, matrix } = this.props;
    const { head, quantity } = matrix;
    const sums =
      hasHead(quantity) && head !== "mean"
        ? [this.#headSum(head), this.#layerSum()]
        : [this.#layerSum()];
    const orWhy = (part: Promise<ComponentChild>): Promise<ComponentChild> =>
      part.catch((error: unknown) => {
        if (isAbort(error)) return null;
        return <Note text={`N/A: ${messageOf(error)}`} />;
      });
    void Promise.all(sums.map(orWhy)).then((parts) => {
      if (!context.signal.aborted) this.setState({ parts });
    });
  }

  render() {
    if (this.#ofWord())
      return <Note text="A word combines several vectors; only single tokens have a sum here." />;
    return <div data-aw-part="carried">{this.state.parts ?? <Note text="…" />}</div>;
  }

  #ofWord(): boolean {
    return [this.#query, this.#key].some(({ token, end }) => end - token > 1);
  }

  /** `A × ‖v W_O‖ = ‖A v W_O‖`. */
  async #headSum(head: number): Promise<ComponentChild> {
    const { source, signal } = this.props.context;
    const { layer } = this.props.matrix;
    const m = keysOf(source.meta).text.length;
    const [query, key] = [this.#query.token, this.#key.token];
    const [weights, lengths] = await Promise.all([
      source.ask({ kind: "weights", layer, head }, { signal }),
      source.ask({ kind: "value_lengths", layer }, { signal }),
    ]);
    const weight = itemAt(arrayOf(weights, "weights").data, query * m + key);
    const length = itemAt(arrayOf(lengths, "lengths").data, head * m + key);
    const error = source.precision?.weight(weight) ?? 0;
    return (
      <Chain>
        {figure("weight A", weight, error)}
        <Sign text="×" />
        {figure("‖v W_O‖", length)}
        <Sign text="=" />
        {figure("‖A v W_O‖", weight * length, error * length)}
      </Chain>
    );
  }

  /** The pair's vector, and the parts of the output along its own direction: they add up to its length. */
  async #layerSum(): Promise<ComponentChild> {
    const { context, matrix, mode } = this.props;
    const { source, signal } = context;
    if (source.meta.keys)
      return <Note text="N/A: the output of a layer is no sum over tokens of the source alone." />;
    const slice = await source.ask(
      {
        kind: "mixing_pair",
        layer: matrix.layer,
        query: this.#query.token,
        key: this.#key.token,
      },
      { signal },
    );
    const value = (name: string): number => Number(slice.data[name]);
    const vector = arrayOf(slice, "vector").data as Float32Array;
    return (
      <>
        <div class="aw-vectors" data-aw-part="carried-vector">
          <Strip name="this key's vector" values={vector} mode={mode} />
        </div>
        <Chain>
          {figure("‖Σ A v W_O‖, all heads", value("of_layer"))}
          <Sign text="·" />
          {figure("with residual and norm", value("length"))}
          <Sign text="·" />
          {figure("mixing ratio of the query", value("ratio"))}
        </Chain>
        <Note text="Along its own direction the parts add up to the norm of the output:" />
        <Chain>
          {term("this key", value("key"))}
          <Sign text="+" />
          {term("all other tokens", value("others"))}
          <Sign text="+" />
          {term("bias of W_O", value("bias"))}
          <Sign text="+" />
          {term("shift of the norm", value("shift"))}
          <Sign text="=" />
          {term("‖output‖", value("output"))}
        </Chain>
      </>
    );
  }
}
