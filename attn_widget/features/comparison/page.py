"""The page of a comparison: both runs, and what only the two together tell.

The layout is in ``docs/protocol.md``, section "Saved pages"; ``js/src/features/comparison/`` reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks.rounding import first_largest
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.comparison.cells import compared_cells
from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.proposals import LISTED, mode_of
from attn_widget.features.qk.saved import ask_first
from attn_widget.features.why.slices import described, plain, value_error
from attn_widget.figures.catalog.specializations import ALIGNMENT
from attn_widget.host.installed import needing
from attn_widget.page.page import Layout
from attn_widget.page.picture import Picture, drawn, picture_of
from attn_widget.page.saved_run import SavedRun, saved_run
from attn_widget.page.shown import Shown, output_run
from attn_widget.page.size_budget import SizeBudget
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.pack import pack
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source
from attn_widget.trace.base import LONG_TOKENS

if TYPE_CHECKING:
    from attn_widget.features.comparison.patching import Recovery

CHUNK = "compare"
RECORDED_TOKENS = 20_000  # that the patched passes of a page read, unless the user asked for them


def compared_parts(
    comparison: Comparison, *, recorded: bool = True
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Alignment, distances, states, predictions, classes: the meta and the arrays of the chunk `CHUNK`.

    ``recorded``: grids of recovery as well, for a page without a kernel: those that `Comparison.recovery` has
    computed, or two of the first proposal where that is cheap.

    >>> from attn_widget import compare
    >>> c = compare("he sat", "she sat", tagger=None, progress=False)
    >>> meta, arrays = compared_parts(c)
    >>> meta["tokens"], arrays["distances"].shape, arrays["partner"].shape
    ([(0, 0), (2, 2), (3, 3)], (6, 12), (6, 12, 2))
    """
    meta: dict[str, Any] = {
        "version": 1,
        "notes": list(comparison.notes),
        "tokens": list(comparison.alignment.tokens),
        "hand": list(comparison.alignment.hand),
        "same_shape": comparison.same_shape,
        **_of_keys(comparison),
        "predictions": None,
        "classes": None,
        "reasons": {},
    }
    arrays: dict[str, NDArray[Any]] = {}
    for name, add in PARTS.items():
        try:
            add(comparison, meta, arrays)
        except NotAvailableError as error:
            meta["reasons"][name] = str(error)
    if recorded and "patching" not in meta["reasons"]:
        meta["recoveries"] = []
        for k, grid in enumerate(_grids(comparison)):
            meta["recoveries"].append({"of": grid.of, **recovery_data(comparison, grid)})
            arrays[f"recovery:{k}"] = grid.values.astype(np.float32)
    return meta, arrays


def recovery_data(c: Comparison, recovery: Recovery) -> dict[str, Any]:
    """The target of a grid of patches and its values, as the page reads them."""
    size = float(np.nanmax(np.abs(recovery.patched), initial=abs(recovery.source)))
    return {
        "target": described(c.b, recovery.target),
        "source": recovery.source,
        "value": recovery.value,
        "error": value_error(c.b, [size]),
    }


def _of_keys(c: Comparison) -> dict[str, Any]:
    """Matched keys, where they are tokens of another text."""
    if c.key_alignment is c.alignment:
        return {}
    return {"keys": list(c.key_alignment.tokens), "keys_hand": list(c.key_alignment.hand)}


def _distances(c: Comparison, _meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    distances = c.distances()
    arrays["distances"] = distances.distances.astype(np.float32)
    arrays["partner"] = distances.partner.astype(np.int32)


def _alignment(c: Comparison, _meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Figures of cross-attention that are no metrics, of A's heads and their partners."""
    if c.part != "cross":
        return
    changes = c.metrics()
    for key in (metric.key for metric in ALIGNMENT):
        arrays[f"a:{key}"], arrays[f"b:{key}"] = changes[key].a, changes[key].b


def _states(c: Comparison, _meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    arrays["states"] = c.states()


def _predictions(c: Comparison, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    mode = mode_of(c)
    records = c.predictions(LISTED, mode)
    columns = ("position_a", "position_b", "token")
    by_column: dict[str, Any] = {key: [record[key] for record in records] for key in columns}
    meta["predictions"] = {**by_column, "mode": mode}
    for key in ("before", "after", "log_odds"):
        arrays[key] = np.array([record[key] for record in records], dtype=np.float32)


def _classes(c: Comparison, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    records = c.classes()
    meta["classes"] = [record["label"] for record in records]
    for key in ("before", "after", "log_odds"):
        arrays[f"class_{key}"] = np.array([record[key] for record in records], dtype=np.float32)


def _patching(c: Comparison, meta: dict[str, Any], _arrays: dict[str, NDArray[Any]]) -> None:
    with needing("Patching"):
        from attn_widget.features.comparison.patching import check_patching

    check_patching(c)
    if c.part != "self":
        raise NotAvailableError(
            "Patches of an encoder-decoder's heads are made in Python: "
            'c.patch([("head", layer, head)]), c.recovery(target, "heads").'
        )
    proposed = c.proposals()
    if not proposed and not c.recoveries:
        raise NotAvailableError(
            "No prediction tells the two runs apart, so there is none to patch."
        )
    meta["targets"] = [described(c.b, target) for target in proposed]


PARTS = {
    "distances": _distances,
    "alignment": _alignment,
    "states": _states,
    "predictions": _predictions,
    "classes": _classes,
    "patching": _patching,
}


def _grids(c: Comparison) -> tuple[Recovery, ...]:
    """Grids of recovery computed so far, or two of the first proposal where that is cheap."""
    if c.recoveries or not c.proposals():
        return c.recoveries
    passes = c.b.trace.n_layers * (c.b.trace.n_heads + len(c.alignment.tokens))
    if passes * c.b.trace.n_tokens > RECORDED_TOKENS:
        return ()
    try:
        return tuple(c.recovery(c.proposals()[0], of) for of in ("heads", "states"))
    except (InputError, NotAvailableError):
        return ()


def selections(
    comparison: Comparison, pinned: Selection | None = None
) -> tuple[Selection, Selection]:
    """Both runs at the head with the greatest distance, at the token whose row changes most; at the pair that is ``pinned`` in A where B has it too."""
    opened = _opened(comparison)
    if pinned is None or pinned.pair is None:
        return opened
    layer, head = pinned.place
    queries, keys = dict(comparison.alignment.tokens), dict(comparison.key_alignment.tokens)
    query, key = pinned.pair
    if head == "mean" or opened[0].layer is None or query not in queries or key not in keys:
        return opened
    layer_b, head_b = comparison.distances().partner[layer, head].tolist()
    pair_b = (queries[query], keys[key])
    return (
        replace(opened[0], layer=layer, head=head, token=query, pair=(query, key)),
        replace(opened[1], layer=layer_b, head=head_b, token=pair_b[0], pair=pair_b),
    )


def _opened(comparison: Comparison) -> tuple[Selection, Selection]:
    try:
        distances = comparison.distances()
    except NotAvailableError:
        return Selection(), Selection()
    if np.isnan(distances.distances).all():
        return Selection(), Selection()
    layer, head = divmod(first_largest(distances.distances), distances.distances.shape[1])
    change = comparison.difference(layer, head)
    special = [comparison.a.trace.tokens[i].special for i in change.positions_a]
    moved = np.where(special, -1, np.abs(change.difference).sum(axis=1))
    row = first_largest(moved)
    layer_b, head_b = distances.partner[layer, head].tolist()
    target_a, target_b = _targets(comparison)
    return (
        Selection(layer=layer, head=head, token=change.positions_a[row], target=target_a),
        Selection(layer=layer_b, head=head_b, token=change.positions_b[row], target=target_b),
    )


def _targets(c: Comparison) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The first proposal at the positions of A and of B, where both runs have the same vocabulary.

    None for a long text: its Why, which a page records for the target it opens on, takes longer than all the rest.
    """
    if max(c.a.trace.n_tokens, c.b.trace.n_tokens) > LONG_TOKENS:
        return None, None
    runs = c.a.run, c.b.run
    proposed = c.proposals()
    if not proposed or None in runs or runs[0].encoder.name != runs[1].encoder.name:  # pyright: ignore[reportOptionalMemberAccess]
        return None, None
    target = proposed[0]
    partner = {b: a for a, b in c.alignment.tokens}
    position = None if target.position is None else partner[target.position]
    return plain(replace(target, position=position)), plain(target)


def compared_runs(
    comparison: Comparison,
    spec: PageSpec,
    page_budget: SizeBudget | None = None,
    chosen: Mapping[str, Any] = MappingProxyType({}),
    *,
    pictured: bool = True,
    pinned: Selection | None = None,
) -> Iterator[SavedRun]:
    """A with the comparison's own chunk, then B.

    ``page_budget``: of the page where these are not its only runs; by default their own. ``chosen``: fields of
    `Selection`, instead of what the comparison opens on. ``pictured``: with the picture of a page without scripts.
    ``pinned``: A's selection, whose pair the page opens on with the sums of both runs.
    """
    sources = RunSource(comparison.a), RunSource(comparison.b)
    for source in sources:
        spec.of_source(source)
    budget = page_budget or SizeBudget([source.size for source in sources], "runs")
    # A page of many texts has no masked predictions: those would take longer than all the rest.
    spec = replace(spec, masked=page_budget is None, **budget.of_one)
    both = selections(comparison, pinned)
    for side, (source, opened) in enumerate(zip(sources, both, strict=True)):
        selection = replace(opened, **chosen)
        if selection.pair is not None:
            ask_first(source.analysis, selection.as_dict())
        run = saved_run(source, selection, spec, parts=False, pictured=False)
        if side == 0:
            run = with_comparison(run, comparison)
            picture = picture_of_compared(comparison, pinned) if pictured else None
            run = replace(run, picture=picture)
        budget.take(run)
        yield replace(run, title=source.title, second=side == 1)


def with_comparison(run: SavedRun, comparison: Comparison, *, recorded: bool = True) -> SavedRun:
    """A's run with the chunk of what only the two together tell; ``recorded``: see `compared_parts`."""
    chunk = pack(*compared_parts(comparison, recorded=recorded))
    chunks = {**run.snapshot.chunks, CHUNK: chunk}
    return replace(run, snapshot=replace(run.snapshot, chunks=chunks))


def picture_of_compared(comparison: Comparison, pinned: Selection | None = None) -> Picture:
    """The difference that a comparison opens on; A's head where no two can be compared."""
    opened, _ = selections(comparison, pinned)
    layer, head = opened.place
    try:
        return drawn(compared_cells(comparison, layer, 0 if head == "mean" else head))
    except NotAvailableError:
        return picture_of(RunSource(comparison.a), opened)


@dataclass(frozen=True)
class ShownComparison(Shown):
    """Both runs of a comparison, and their difference."""

    comparison: Comparison
    pinned: Selection | None = None  # A's selection, where a pair may be pinned
    layout: Layout = "compare"

    @property
    def title(self) -> str:
        return " | ".join(source.title for source in self.sources)

    @property
    def sources(self) -> tuple[Source, ...]:
        return RunSource(self.comparison.a), RunSource(self.comparison.b)

    def runs(self, spec: PageSpec, budget: SizeBudget | None = None) -> Iterator[SavedRun]:
        return compared_runs(self.comparison, spec, budget, pinned=self.pinned)

    def output_runs(self, *, full: bool) -> list[SavedRun]:
        if full:
            runs = compared_runs(self.comparison, PageSpec(), pictured=False, pinned=self.pinned)
            return list(runs)
        sides = zip(self.sources, selections(self.comparison, self.pinned), strict=True)
        a, b = (output_run(source, opened, full=False, parts=False) for source, opened in sides)
        return [with_comparison(a, self.comparison, recorded=False), replace(b, second=True)]

    def picture(self) -> Picture:
        return picture_of_compared(self.comparison, self.pinned)
