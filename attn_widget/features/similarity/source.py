"""The source of a similarity or a ranking: two texts, and what their score is made of."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import untagged
from attn_widget.errors import NotAvailableError
from attn_widget.features import declared, loaded
from attn_widget.features.similarity.groups import groups_of, names_of, own_groups
from attn_widget.features.similarity.ranking import QUERY, Ranking
from attn_widget.features.similarity.similarity import BIAS, SIDES, Side, Similarity
from attn_widget.features.similarity.sums import Sum
from attn_widget.features.why.slices import masking_test
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.figures.tables import Columns
from attn_widget.page.recorded import Answered
from attn_widget.page.spec import WHOLE
from attn_widget.protocol.answer import Reply, respond
from attn_widget.protocol.built import later_views
from attn_widget.protocol.handlers import Answer, Arrays, Handler
from attn_widget.protocol.initial_payload import (
    describe_model,
    meta_without_tokens,
    token_columns,
    versions,
)
from attn_widget.protocol.pack import pack
from attn_widget.protocol.request import Request, integer, one_of
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells, Recorded, Source
from attn_widget.trace.forward import Progress

LISTED = 100  # passages of a ranking in the page
EXPLAINED = 10  # of these, in a saved page
SHOWN_TOKENS = 64  # of each text in a picture without scripts
PICTURED = 20  # passages there
TITLE_CHARACTERS = 60  # of each text
QUICK_PASSES = 64  # a matrix of so few passes is part of a cell's output
DELETED_WORDS = 24  # of both texts together, special tokens too: some 1 s of a small embedder
TESTED_WORDS = 10  # of a text whose masking test takes a saved page some seconds


class SimilaritySource(Source):
    """Parts of the score of two texts, or the scores of many passages."""

    name = "similarity"
    views = ("similarity",)
    options = ("view", "words", "theme", "height", "chrome")

    def __init__(self, result: Similarity | Ranking) -> None:
        self.result = result
        self.lock = threading.RLock()
        self.tests: dict[tuple[Any, str], Answer] = {}  # that were asked for, by passage and side

    @property
    def shape(self) -> tuple[int, int]:
        analysis = self.first.a
        return analysis.trace.n_layers, analysis.trace.n_heads

    @property
    def title(self) -> str:
        texts: Sequence[str]
        if isinstance(self.result, Ranking):
            texts = (self.result.query, f"{len(self.result.passages):,} passages")
        else:
            texts = self.result.texts
        lines = (" ".join(text.split()) for text in texts)
        return " · ".join(
            line if len(line) <= TITLE_CHARACTERS else f"{line[: TITLE_CHARACTERS - 1]}…"
            for line in lines
        )

    @property
    def n_tokens(self) -> int:
        """Tokens of the two texts that are shown first."""
        return self.first.a.trace.n_tokens + self.first.b.trace.n_tokens

    @property
    def size(self) -> int:
        return 1

    @property
    def first(self) -> Similarity:
        """The similarity that is shown first: of a ranking, that with its best passage."""
        if not isinstance(self.result, Ranking):
            return self.result
        if not self.passages:
            raise NotAvailableError(
                f"No passage of this ranking has a score ({len(self.result.failed):,} of "
                f"{len(self.result):,} failed), so there is nothing to draw.",
                "failed says why, by the index of the passage.",
            )
        return self.similarity({"passage": self.passages[0]})

    @property
    def passages(self) -> list[int]:
        """Indices of the passages in the page, the best first; none of a similarity."""
        return self.result.order[:LISTED] if isinstance(self.result, Ranking) else []

    def similarity(self, request: Request) -> Similarity:
        """The similarity that a request is about: of a ranking, that with its ``passage``."""
        result = self.result
        if isinstance(result, Similarity):
            return result
        index = integer(request, "passage", 0, len(result.passages))
        with self.lock:
            return result.explain(index)

    def reply(self, request: Request) -> Reply:
        return respond(self, request, HANDLERS)

    def recorded(self, selection: Selection, *, light: bool) -> Recorded:
        return Recorded(selection, similarity_paint(self), requests_of(self, light=light))

    def table(self, selection: Selection) -> Columns:
        """One row a pair: ``a, b, a_text, b_text, value``, with the biases; of a ranking one row a passage.

        A reranker's score is no sum over pairs: one row a token of both texts, and the bias.
        """
        result = self.result
        if isinstance(result, Ranking):
            ranked: list[tuple[Any, ...]] = [
                (place + 1, i, float(result.scores[i]), result.passages[i])
                for place, i in enumerate(result.order)
            ]
            return ("rank", "index", "score", "passage"), ranked
        if not result.kinds:
            explained = result.contributions()
            values: list[tuple[Any, ...]] = [
                (i, token.text, float(value))
                for i, (token, value) in enumerate(
                    zip(explained.tokens, explained.values, strict=True)
                )
            ]
            return ("position", "token", "value"), [*values, (None, BIAS, explained.bias)]
        records = result.to_records(result.kinds[0], words=selection.words)
        columns = ("position_a", "position_b", "token_a", "token_b", "value")
        pairs: list[tuple[Any, ...]] = [
            tuple(record[name] for name in columns) for record in records
        ]
        return ("a", "b", "a_text", "b_text", "value"), pairs

    def cells(self, selection: Selection) -> Cells:  # noqa: ARG002
        """Scores of a ranking's best passages; of two texts what each pair of tokens adds, or each token where there are no pairs."""
        if isinstance(self.result, Ranking):
            return _ranked_cells(self.result, self.passages[:PICTURED], self.title)
        found = self.result
        caption = f"{self.title}: {found.kind} {found.score:.3f}."
        kinds = [kind for kind in found.kinds if _is_quick(found, kind)] or [*found.kinds[-1:]]
        shown = [(found.side(of), _positions(found, of)[:SHOWN_TOKENS]) for of in SIDES]
        tokens = [[_label(analysis, i) for i in positions] for analysis, positions in shown]
        words = [
            [k for k, i in enumerate(positions) if not analysis.trace.tokens[i].special]
            for analysis, positions in shown
        ]
        if kinds:
            values = found.matrix(kinds[0])[:SHOWN_TOKENS, :SHOWN_TOKENS]
            rows, columns = tokens
            what = "what each pair of tokens adds to the score"
            caption += f" Shown is {what}: rows are of the first text, columns of the second."
        else:
            positions = [i for _, side in shown for i in side]
            values = found.contributions("a").values[positions][None]
            rows, columns = ["score"], [*tokens[0], *tokens[1]]
            words = [[0], [*words[0], *(len(tokens[0]) + k for k in words[1])]]
            what = "what each token of both texts adds to the score"
            caption += f" Shown is {what}."
        sizes = np.abs(values)
        most = float(sizes[np.ix_(*words)].max(initial=0)) or float(sizes.max(initial=0))
        among = np.zeros_like(sizes)
        among[np.ix_(*words)] = sizes[np.ix_(*words)]
        i, j = divmod(int(among.argmax()), values.shape[1])
        largest = f"{rows[i]} and {columns[j]}" if kinds else columns[j]
        alt = f"{what[0].upper()}{what[1:]}, as a heatmap; most: {largest}, {values[i, j]:+.2g}"
        further = " or more" if sizes.max(initial=0) > most else ""
        shades = np.clip(values / (most or 1.0), -1, 1).astype(np.float32)
        ends = f"−{most:.2g}", f"+{most:.2g}{further}"
        return Cells(shades, alt, caption, rows, columns, ends, signed=True)


def _ranked_cells(ranking: Ranking, passages: Sequence[int], title: str) -> Cells:
    scores = ranking.scores[passages]
    least, span = (float(scores.min()), float(np.ptp(scores))) if len(scores) else (0.0, 0.0)
    rows = [f"{ranking.scores[i]:.3f} {ranking.passages[i]}" for i in passages]
    caption = f"{title}: the best {len(rows)} by {ranking.kind}, best first."
    shades = ((scores - least) / (span or 1.0)).astype(np.float32)[:, None]
    alt = f"Passages by score: {', '.join(rows[:3])}"
    return Cells(shades, alt, caption, rows, ["score"])


def _label(analysis: Analysis, position: int) -> str:
    token = analysis.trace.tokens[position]
    return token.surface if token.surface.strip() else token.text


def similarity_paint(source: SimilaritySource) -> bytes:
    """Pack what the page knows at once (``docs/protocol.md``, "Pack")."""
    result, first = source.result, source.first
    ranked: dict[str, Any] | None = None
    pictures: dict[int, tuple[str, bytes]] = {}
    if isinstance(result, Ranking):
        shown = [QUERY, *source.passages]
        pictures = {i: result.thumbnails[i] for i in shown if i in result.thumbnails}
        ranked = {
            "query": result.query,
            "total": len(result.passages),
            "complete": result.complete,
            "failed": len(result.failed),
            "passages": [
                {"index": i, "text": result.passages[i], "score": float(result.scores[i])}
                for i in source.passages
            ],
            "thumbnails": {str(i): kind for i, (kind, _) in pictures.items()},
        }
    meta = meta_without_tokens(describe_model(first.a), versions())
    a, b = (result.query, None) if isinstance(result, Ranking) else result.texts
    meta |= {
        "text": a,
        "text_pair": b,
        "heads_off": [[*pair] for pair in first.a.model.heads_off],
        "similarity": {
            "kind": result.kind,
            "intact": None if first.unablated is first else first.unablated.score,
            "ranking": ranked,
        },
    }
    return pack(
        meta,
        {
            f"thumbnail:{i}": np.frombuffer(content, np.uint8)
            for i, (_, content) in pictures.items()
        },
    )


def _side(analysis: Analysis, positions: Sequence[int]) -> dict[str, Any]:
    """Tokens by column, and the word of each, in order; special tokens are words by themselves."""
    columns = token_columns(analysis.trace.tokens, analysis.text, analysis.text_pair)
    words, names = [0] * analysis.trace.n_tokens, names_of(analysis)
    for k, group in enumerate(groups_of(analysis)):
        for i in group:
            words[i] = k
    shown = sorted({words[i] for i in positions})
    place = {word: k for k, word in enumerate(shown)}
    return {
        **_wordless(analysis),
        **{
            name: [columns[name][i] for i in positions]
            for name in ("text", "surface", "before", "special")
        },
        "position": [*positions],
        "word": [place[words[i]] for i in positions],
        "names": [names[word] for word in shown],
    }


def _wordless(analysis: Analysis) -> dict[str, Any]:
    """Title of an input that is no text, and what features tell a page of it; nothing of a text."""
    if not analysis.model.wordless:
        return {}
    told = {name: loaded(path)(analysis) for name, path in declared("meta")}
    return {"title": title_of(analysis), "meta": {k: v for k, v in told.items() if v is not None}}


def _drawings(analysis: Analysis) -> list[Answered]:
    """Answers with which features draw an input that is no text, in place of its words."""
    paths = [path for view, path in declared("carried") if view == SimilaritySource.name]
    return [answered for path in paths for answered in loaded(path)(analysis, {}, WHOLE)]


def _positions(similarity: Similarity, of: Side) -> list[int]:
    """Positions of a text in its analysis; a reranker has both texts in one."""
    analysis = similarity.side(of)
    if similarity.kind != "relevance":
        return [*range(analysis.trace.n_tokens)]
    segment = SIDES.index(of)
    return [i for i, token in enumerate(analysis.trace.tokens) if token.segment == segment]


def similar(
    source: SimilaritySource, request: Request, _progress: Progress | None = None
) -> Answer:
    """The score, the two texts, and what each of their tokens adds to it, the other text held."""
    found = source.similarity(request)
    arrays: Arrays = {}
    sides: dict[str, Any] = {}
    by = "decomposition" if found.can_decompose else "output"
    for of in SIDES:
        positions = _positions(found, of)
        values, bias = _contributions(found, of, by)
        arrays[of] = values[positions].astype(np.float32)
        sides[of] = {**_side(untagged(found.side(of)), positions), "bias": bias}
    data = {
        "score": found.score,
        "kind": found.kind,
        "probability": found.probability,
        "notes": list(found.notes),
        "matrices": list(found.kinds),
        "slow": [kind for kind in found.kinds if not _is_quick(found, kind)],
        "testable": [of for of in SIDES if _can_mask(found.side(of))],
        "by": by,
        "gap": found.score - _whole(found, sides, arrays),
        **sides,
    }
    return data, arrays


def _contributions(found: Similarity, of: Side, by: str) -> tuple[Float32 | Float64, float]:
    if by == "decomposition":
        explained = found.contributions(of)
        return explained.values, explained.bias or 0.0
    kind = None if found.kind == "maxsim" else by
    return found.matrix(kind).sum(axis=1 if of == "a" else 0), 0.0


def _whole(found: Similarity, sides: dict[str, Any], arrays: Arrays) -> float:
    """Sum of the numbers of the first text; of a reranker, of both."""
    shown = SIDES if found.kind == "relevance" else SIDES[:1]
    return sum(float(arrays[of].sum(dtype=np.float64)) for of in shown) + sides["a"]["bias"]


def similar_matrix(
    source: SimilaritySource, request: Request, progress: Progress | None = None
) -> Answer:
    """Every pair of tokens, and every token with the biases of the other text."""
    found = source.similarity(request)
    of = one_of(request, "of", found.kinds)
    part: Sum = found.sum_of(of, progress)
    arrays: Arrays = {
        "pairs": part.pairs.astype(np.float32),
        "biases_a": part.biases_a.astype(np.float32),
        "biases_b": part.biases_b.astype(np.float32),
    }
    if of == "maxsim":
        arrays["cosines"] = found.cosines.astype(np.float32)
    return {"both": part.both, "score": found.score}, arrays


def similar_row(
    source: SimilaritySource, request: Request, _progress: Progress | None = None
) -> Answer:
    """Row of a token: its share of the score with each token of the other input."""
    found = source.similarity(request)
    of: Any = one_of(request, "side", SIDES)
    token = integer(request, "token", 0, found.side(of).trace.n_tokens)
    with source.lock:
        values, bias = found.row(token, of)
    return {"bias": bias}, {"row": values.astype(np.float32)}


def similar_drawing(
    source: SimilaritySource, request: Request, _progress: Progress | None = None
) -> Answer:
    """A slice of an input that is no text, by its kind: what stands in place of its words."""
    of: Any = one_of(request, "side", SIDES)
    drawings = {
        asked["kind"]: (data, arrays)
        for asked, data, arrays in _drawings(source.similarity(request).side(of))
    }
    return drawings[one_of(request, "of", (*drawings,))]


def _can_mask(analysis: Analysis) -> bool:
    """True if words can be masked, as the masking test does it."""
    encoder = None if analysis.run is None else analysis.run.encoder
    return encoder is not None and (encoder.predicts == "next" or encoder.mask_token_id is not None)


def similar_test(
    source: SimilaritySource, request: Request, progress: Progress | None = None
) -> Answer:
    """Mask the words of one text in the order of their contributions, and watch the score."""
    found = source.similarity(request)
    of: Any = one_of(request, "side", SIDES)
    if not found.can_decompose:
        raise NotAvailableError("Without contributions of tokens there is no order to test.")
    key = request.get("passage") if isinstance(source.result, Ranking) else None, of
    if key not in source.tests:
        tested = untagged(found.side(of)).why.faithfulness(
            found.target(of), ["decomposition"], progress=progress
        )
        source.tests[key] = masking_test(tested, ["decomposition"])
    return source.tests[key]


def similar_deletions(
    source: SimilaritySource, request: Request, _progress: Progress | None = None
) -> Answer:
    """The score without each word of two short texts; NaN for special tokens, and for a word that is its whole text."""
    found = source.similarity(request)
    words = {of: _words(found, of) for of in SIDES}
    if _deletions(found) > DELETED_WORDS:
        raise NotAvailableError(
            f"The texts have more than {DELETED_WORDS} words, and a score without each word takes as many runs.",
            "Ask about shorter texts.",
        )
    arrays: Arrays = {}
    for text, (of, spans) in zip(found.texts, words.items(), strict=True):
        scores = np.full(len(spans), np.nan, dtype=np.float32)
        for place, span in enumerate(spans):
            rest = "" if span is None else (text[: span[0]].rstrip() + text[span[1] :]).strip()
            if rest:
                scores[place] = found.with_texts(**{of: rest}).score
        arrays[of] = scores
    return {"score": found.score}, arrays


def _deletions(found: Similarity) -> int:
    """Words of both texts, special tokens too; none of an input that is no text."""
    return sum(0 if found.side(of).model.wordless else len(_words(found, of)) for of in SIDES)


def _words(found: Similarity, of: Side) -> list[tuple[int, int] | None]:
    """The place of each word in its text; None for a special token, and for one of a prompt before the text."""
    analysis, positions = untagged(found.side(of)), {*_positions(found, of)}
    tokens = analysis.trace.tokens
    read = analysis.text_pair if found.kind == "relevance" and of == "b" else analysis.text
    prompt = (read or "").rfind(found.texts[SIDES.index(of)])
    spans: list[tuple[int, int] | None] = []
    for group in groups_of(analysis):
        if positions.isdisjoint(group):
            continue
        start, end = tokens[group[0]].start - prompt, tokens[group[-1]].end - prompt
        no_word = tokens[group[0]].special or start < 0 or not read
        spans.append(None if no_word else (start, end))
    return spans


def similar_effects(
    source: SimilaritySource, request: Request, progress: Progress | None = None
) -> Answer:
    """By how much switching off each head changes the score, while the first text is read."""
    found = source.similarity(request)
    measured = found.a.why.head_effects(found.target("a"), progress=progress)
    return {"value": measured.value}, {"effects": measured.effects}


def requests_of(source: SimilaritySource, *, light: bool) -> list[dict[str, Any]]:
    """Requests whose answers a page without a kernel has; ``light``: for the output of a cell, what takes a moment."""
    asked: list[dict[str, Any]] = []
    of_each = [{"passage": i} for i in source.passages[: 1 if light else EXPLAINED]] or [{}]
    for place, address in enumerate(of_each):
        found = source.similarity(address)
        asked.append({"kind": "similar", **address})
        # Pairs of two pictures take the better part of a minute: those of a ranking's best passage alone.
        pictures = found.a.model.wordless and found.b.model.wordless
        whole = not light and (place == 0 or not pictures)
        for kind in found.kinds:
            if whole or _is_quick(found, kind):
                asked.append({"kind": "similar_matrix", "of": kind, **address})
        drawn_sides: Sequence[Side] = SIDES if place == 0 else ("b",)  # a ranking has one query
        for side in drawn_sides:
            for drawn, _, _ in _drawings(found.side(side)):
                asked.append(
                    {"kind": "similar_drawing", "side": side, "of": drawn["kind"], **address}
                )
        if place == 0 and not light and 0 < _deletions(found) <= DELETED_WORDS:
            asked.append({"kind": "similar_deletions", **address})
        sides = SIDES if place == 0 and not light and found.can_decompose else ()
        for side in SIDES:
            if not _can_mask(found.side(side)):
                continue
            short = len(own_groups(untagged(found.side(side)))) <= TESTED_WORDS
            if (side in sides and short) or (address.get("passage"), side) in source.tests:
                asked.append({"kind": "similar_test", "side": side, **address})
    return asked


def _is_quick(found: Similarity, kind: str) -> bool:
    """True of a matrix that takes a moment."""
    return kind != "input" or min(found.a.trace.n_tokens, found.b.trace.n_tokens) <= QUICK_PASSES


HANDLERS = {
    "similar": Handler(similar, slow=True),
    "similar_matrix": Handler(similar_matrix, slow=True),
    "similar_row": Handler(similar_row, slow=True),
    "similar_drawing": Handler(similar_drawing, slow=True),
    "similar_test": Handler(similar_test, slow=True),
    "similar_deletions": Handler(similar_deletions, slow=True),
    "similar_effects": Handler(similar_effects, slow=True),
    "code": Handler(later_views),
}
