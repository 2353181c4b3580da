"""Patching: parts of one run put into another, and how much of a target they bring back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import Origin
from attn_widget.checks import check_choice, check_several, index_in, short_repr
from attn_widget.checks.rounding import first_largest
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.features.comparison.alignment import Alignment, align_tokens
from attn_widget.features.comparison.base import ComparisonBase
from attn_widget.features.why.bound_target import BoundTarget, bind
from attn_widget.features.why.effects import known_below, layer_outputs
from attn_widget.features.why.passes import TOKENS_AT_ONCE, finite, value_of
from attn_widget.features.why.targets import Target, check_target
from attn_widget.figures.arrays import Float64
from attn_widget.host.frames import Records, records
from attn_widget.model.encoder import Encoder
from attn_widget.model.families import Part
from attn_widget.trace.capture import capture
from attn_widget.trace.forward import Progress, copies_of, inference_mode, on_device
from attn_widget.trace.heads_off import Piece, PieceKind, carrying, visiting
from attn_widget.trace.run import Run
from attn_widget.trace.windows.run import ManyPasses

RecoveryOf = Literal["heads", "states", "attention", "mlp"]
RECOVERED: dict[str, PieceKind] = {
    "heads": "head",
    "states": "state",
    "attention": "attention",
    "mlp": "mlp",
}
KINDS = tuple(RECOVERED.values())
SMALLEST_GAP = (
    1e-6  # of s_A and s_B, relative to the larger: below, float32 noise is divided by noise
)
EXAMPLE = 'c.patch([("head", 3, 5), ("state", 2, 4)])'


class Site(NamedTuple):
    """A place of B that takes what A has there; without a position, at every matched token."""

    kind: PieceKind
    part: Part | None
    layer: int
    head: int | None
    position: int | None


@dataclass(frozen=True)
class Recovery(Records):
    """Share of a target that each part of A brings back in B.

    Attributes
    ----------
    target : Target
    of : {"heads", "states", "attention", "mlp"}
    source, value : float
        The target's value in A and in B.
    patched : float64 [L, H] or [L, n]
        The target's value with the part of A put in; NaN at an unmatched token.
    values : float64 [L, H] or [L, n]
        ``(patched - value) / (source - value)``.
    part : str or None
        Part of an encoder-decoder whose heads these are.
    """

    target: Target
    of: str
    source: float
    value: float
    patched: Float64
    values: Float64
    part: Part | None = None

    def to_records(self) -> list[dict[str, Any]]:
        """One record a cell: ``layer``, ``head`` or ``position``, ``patched, recovery``; of an encoder-decoder also ``part``."""
        named = {} if self.part is None else {"part": self.part}
        rows, columns = np.indices(self.values.shape)
        place = {"layer": rows, "head" if self.of == "heads" else "position": columns}
        return records(**named, **place, patched=self.patched, recovery=self.values)

    def __repr__(self) -> str:
        row, column = divmod(first_largest(self.values), self.values.shape[1])
        what = "head" if self.of == "heads" else "position"
        where = "" if self.part is None else f"{self.part}, "
        return (
            f"<Recovery of {self.target} by {self.of}: {self.value:.4f} in B, {self.source:.4f} in A; "
            f"most {self.values[row, column]:.3f} by {where}layer {row}, {what} {column}>"
        )


def patch(c: ComparisonBase, sites: Iterable[Any], progress: Progress | None) -> Analysis:
    """See `attn_widget.Comparison.patch`."""
    source, run = _runs(c)
    chosen: list[Site] = []
    for site in check_several(sites, "sites", "sites"):
        checked = _site(site, c, run)
        if checked in chosen:
            raise InputError(f"The site {short_repr(site)} stands twice in sites.")
        chosen.append(checked)
    if not chosen:
        return c.b
    encoder = _with_parts(c, run, source, chosen)
    trace = capture(encoder, run.encoding, progress=progress)
    origin = Origin(find_language=lambda: c.b.language)
    tagger = c.b._tagger  # pyright: ignore[reportPrivateUsage]
    return Analysis(trace, run=Run(encoder, run.encoding, trace), tagger=tagger, origin=origin)


def recovery(c: ComparisonBase, target: Target, of: str, progress: Progress | None) -> Recovery:
    """See `attn_widget.Comparison.recovery`; layers below the patched one are not run again."""
    _runs(c)
    kind, partner = _kind(c, RECOVERED[of]), _partner(c.alignment)
    target = check_target(target)
    writing_a, bound_a = _where(c.a, _in_a(target, c))
    writing, bound = _where(c.b, target)
    value_a, value_b = value_of(writing_a, bound_a), value_of(writing, bound)
    if abs(value_a - value_b) <= SMALLEST_GAP * max(abs(value_a), abs(value_b), 1e-6):
        raise InputError(
            f"The {target} is {value_b:.6g} in both runs, so there is nothing to recover.",
            "Choose another target, or texts that it tells apart.",
        )
    run = _of_part(writing, c.b)
    parts = parts_of(_of_part(writing_a, c.a))
    encoder, n = run.encoder, run.trace.n_tokens
    columns = [*range(encoder.n_heads)] if kind == "head" else sorted(partner)
    shape = (encoder.n_layers, encoder.n_heads if kind == "head" else n)
    patched = np.full(shape, np.nan)
    size = max(1, TOKENS_AT_ONCE // n)
    outputs = layer_outputs(run)
    for layer in range(encoder.n_layers):
        for start in range(0, len(columns), size):
            batch = columns[start : start + size]
            pieces = [
                piece_of(run, parts, kind, layer, column, partner, None)
                if kind == "head"
                else piece_of(run, parts, kind, layer, None, partner, column)
                for column in batch
            ]
            patched[layer, batch] = _with_pieces(run, bound, outputs, pieces)
            if progress is not None:
                done = layer * len(columns) + start + len(batch)
                progress(done, encoder.n_layers * len(columns))
    values = (patched - value_b) / (value_a - value_b)
    return Recovery(target, of, value_a, value_b, patched, values, encoder.part)


def patched_value(c: ComparisonBase, sites: Iterable[Any], target: Target) -> float:
    """The target's value in B with parts of A; where the target is masked, both runs read the mask."""
    _runs(c)
    writing_a, _ = _where(c.a, _in_a(target, c))
    writing, bound = _where(c.b, target)
    run, source = _of_part(writing, c.b), _of_part(writing_a, c.a)
    encoder = _with_parts(c, run, source, [_site(site, c, run) for site in sites])
    if writing.encoder.part is not None:
        encoder = encoder.of(writing.encoder.part)
    return value_of(Run(encoder, writing.encoding, capture(encoder, writing.encoding)), bound)


def check_patching(c: ComparisonBase) -> None:
    """Raise `NotAvailableError` where no part of A fits into B."""
    _runs(c)


def parts_of(run: Run) -> dict[tuple[PieceKind, int], Any]:
    """Every part of a run that `Piece` names: tensor [n, d], or [n, H, head_dim] of heads."""
    parts: dict[tuple[PieceKind, int], Any] = {}

    def keep(kind: PieceKind, layer: int, tensor: Any) -> None:
        parts[kind, layer] = tensor[0].clone()

    with inference_mode(run.encoder), visiting(run.encoder, keep):
        run.encoder.network.base_model(**on_device(run.encoder, run.encoding.inputs))
    return parts


def piece_of(
    run: Run,
    parts: dict[tuple[PieceKind, int], Any],
    kind: PieceKind,
    layer: int,
    head: int | None,
    partner: dict[int, int],
    position: int | None,
) -> Piece:
    """A part of A at the partner of ``position``, or of every matched token, to be put into ``run``, which is B."""
    positions = sorted(partner) if position is None else [position]
    values = parts[kind, layer][[partner[position] for position in positions]]
    values = values if head is None else values[:, head]
    return Piece(kind, layer, head, positions, values, run.trace.n_tokens, run.encoder.part)


def _with_parts(c: ComparisonBase, run: Run, source: Run, sites: list[Site]) -> Encoder:
    """The encoder of B with these parts of A put in."""
    pieces: list[Piece] = []
    by_part: dict[Part | None, list[Site]] = {}
    for site in sites:
        by_part.setdefault(site.part, []).append(site)
    for part, own in by_part.items():
        of_b, of_a = (
            whole_run if part is None else whole_run.of(part) for whole_run in (run, source)
        )
        parts, partner = parts_of(of_a), _partner(_alignment_of(c, part))
        for kind, _, layer, head, position in own:
            pieces.append(piece_of(of_b, parts, kind, layer, head, partner, position))
    return carrying(run.encoder, pieces)


def _with_pieces(run: Run, bound: BoundTarget, outputs: list[Any], pieces: list[Piece]) -> Float64:
    """The target's value with each piece alone, float64 [pieces]; all are of one layer."""
    encoder, layer = run.encoder, pieces[0].layer

    def visit(kind: PieceKind, where: int, tensor: Any) -> None:
        if (kind, where) == (pieces[0].kind, layer):
            for copy, piece in enumerate(pieces):
                piece.put(tensor[copy])

    inputs = copies_of(run.encoding.inputs, len(pieces))
    with inference_mode(encoder), known_below(run, layer, outputs), visiting(encoder, visit):
        return finite(run, bound.of(bound.logits(encoder, inputs)))


def _partner(alignment: Alignment) -> dict[int, int]:
    """The position of A for each matched one of B."""
    return {b: a for a, b in alignment.tokens}


def _alignment_of(c: ComparisonBase, part: Part | None) -> Alignment:
    """Matched tokens of both runs, of the text whose tokens are queries in ``part``."""
    if part is None or (part == "encoder") == (c.part == "encoder"):
        return c.alignment
    if c.part == "cross":
        return c.key_alignment
    a, b = c.a.of(part), c.b.of(part)
    return align_tokens(
        a.trace.tokens, b.trace.tokens, (a.text, a.text_pair), (b.text, b.text_pair)
    )


def _in_a(target: Target, c: ComparisonBase) -> Target:
    """The target at A's position: in an encoder-decoder, of the texts that were written."""
    if target.position is None:
        return target
    position = index_in(target.position, c.b.model.writing.trace.n_tokens, "position")
    partner = _partner(_alignment_of(c, None if c.part == "self" else "decoder"))
    if position not in partner:
        raise InputError(
            f"The target's position {position} of B is matched with no token of A.",
            f"Match it by hand: c.align([(i, {position})])."
            if c.part != "encoder"
            else "Choose a token that both runs write, or patch cross: compare(a.of('cross'), b.of('cross')).",
        )
    return replace(target, position=partner[position])


def _of_part(writing: Run, analysis: Analysis) -> Run:
    """The same pass, seen from the part that is compared."""
    assert analysis.run is not None  # `_runs` has refused others
    part = analysis.run.encoder.part
    return writing if part is None else writing.of(part)


def _kind(c: ComparisonBase, kind: PieceKind) -> PieceKind:
    """``kind``, if it is patched in what is compared."""
    if c.part != "self" and kind != "head":
        raise NotAvailableError(
            f"Of an encoder-decoder heads alone are put into another run, and {short_repr(kind)} is none.",
            'Patch heads: c.patch([("head", layer, head)]), c.recovery(target, "heads").',
        )
    return kind


def _runs(c: ComparisonBase) -> tuple[Run, Run]:
    """The runs of A and B, where one can be patched with the other."""
    for run, name in ((c.a, "A"), (c.b, "B")):
        if run.run is None or run.base is not None:
            what = "was made of tensors" if run.run is None else "is a view of another analysis"
            raise NotAvailableError(
                f"{name} {what}, so no part of it can be patched.",
                "Compare analyze() of two texts.",
            )
        if isinstance(run.run.encoding.arrays, ManyPasses):
            raise NotAvailableError(
                f"{name} was read in windows, and patching needs one pass over all of it.",
                "Compare parts that the model reads at once.",
            )
    source, run = c.a.run, c.b.run
    assert source is not None and run is not None
    shapes = [
        (
            encoder.n_layers,
            encoder.n_heads,
            encoder.head_dim,
            encoder.hidden_size,
            encoder.family.name,
        )
        for encoder in (source.encoder, run.encoder)
    ]
    if shapes[0] != shapes[1]:
        raise NotAvailableError(
            "The two models differ in shape (layers, heads, width of a head, width, family): "
            f"{shapes[0]} and {shapes[1]}, so parts of one do not fit into the other."
        )
    return source, run


def _site(site: Any, c: ComparisonBase, run: Run) -> Site:
    """An entry of ``sites``, checked."""
    if not isinstance(site, (tuple, list)) or not 2 <= len(site) <= 5:
        raise InputTypeError(
            f"An entry of sites is {short_repr(site)}, expected a kind, a layer and a place.",
            EXAMPLE,
        )
    asked: Any = check_choice(site[0], "the kind of a site", KINDS)
    kind, part, rest = _kind(c, asked), run.encoder.part, [*site[1:]]
    if part is not None and isinstance(rest[0], str):
        named: Any = check_choice(rest.pop(0), "the part of a site", run.encoder.parts)
        part = cast("Part", named)
        run = run.of(part)
    if not rest:
        raise InputError(f"The site {short_repr(site)} names no layer.", EXAMPLE)
    encoder = run.encoder
    layer, head = index_in(rest.pop(0), encoder.n_layers + (kind == "state"), "layer"), None
    if kind == "head":
        if not rest:
            raise InputError(f"The site {short_repr(site)} names no head.", EXAMPLE)
        head = index_in(rest.pop(0), encoder.n_heads, "head")
    if len(rest) > 1:
        raise InputError(f"The site {short_repr(site)} has an entry too many.", EXAMPLE)
    partner = _partner(_alignment_of(c, part))
    if not rest or rest[0] is None:
        if not partner:
            raise InputError("No token of B is matched, so nothing can be patched.")
        return Site(kind, part, layer, head, None)
    position = index_in(rest[0], run.trace.n_tokens, "position")
    if position not in partner:
        raise InputError(
            f"Position {position} of B, {short_repr(run.trace.tokens[position].text)}, is matched with no "
            "token of A.",
            f"Match it by hand: c.align([(i, {position})]).",
        )
    return Site(kind, part, layer, head, position)


def _where(analysis: Analysis, target: Target) -> tuple[Run, BoundTarget]:
    """The run that a target is of, its position masked where it says so."""
    analysis = analysis.model.writing
    run = analysis.run
    assert run is not None  # `_runs` has refused others
    bound = bind(run, target)
    masked = [hidden.token for hidden in analysis.model.masked]
    if target.masked and target.position is not None and target.position not in masked:
        run = analysis.mask([*masked, target.position]).run
        assert run is not None
    return run, bound
