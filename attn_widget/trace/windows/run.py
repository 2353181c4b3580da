"""A text run in overlapping windows, and further questions to that run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from attn_widget.errors import NotAvailableError, TooLongError
from attn_widget.host.memory import check_bytes
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.tokenizing import mask, tokenize_alone
from attn_widget.trace.capture import capture, holds_weights, kept_by
from attn_widget.trace.forward import Progress
from attn_widget.trace.run import Run
from attn_widget.trace.windows.plan import MAX_WINDOWS, Windows, plan_windows, read_whole
from attn_widget.trace.windows.windowed import HINT, WindowedTrace

PIECE = 100_000  # characters of a long text whose tokens are counted before all of it is tokenized
SHORTER = "Give a part of the text."


class ManyPasses(dict[str, Any]):
    """Inputs of a text that no single pass reads: whoever asks for them gets the reason.

    ``whole``: mapping of str to int64 array [1, n].
    """

    def __init__(self, whole: Mapping[str, Any], count: int) -> None:
        super().__init__()
        self.whole = whole
        self._count = count

    def _refuse(self) -> NoReturn:
        raise NotAvailableError(
            f"The text was read in {self._count} windows, and this needs one pass over all of it.",
            HINT,
        )

    def __getitem__(self, name: str) -> NoReturn:
        self._refuse()

    def __iter__(self) -> Iterator[str]:
        self._refuse()

    def get(self, *_: Any) -> NoReturn:
        self._refuse()

    def items(self) -> NoReturn:
        self._refuse()

    def keys(self) -> NoReturn:
        self._refuse()

    def values(self) -> NoReturn:
        self._refuse()


class WindowedRun(Run):
    """One text's run in windows: masked predictions and masks are those of a token's own window.

    ``encoding``: of the whole text; its inputs are `ManyPasses`. ``runs``: one for each window.
    """

    def __init__(
        self, encoder: Encoder, encoding: Encoding, trace: WindowedTrace, runs: Sequence[Run]
    ) -> None:
        super().__init__(encoder, encoding, trace)
        self._runs = list(runs)
        self._windowed = trace

    def mask(self, tokens: Iterable[int], *, progress: Progress | None = None) -> Run:
        inputs = self.encoding.arrays
        assert isinstance(inputs, ManyPasses)
        masked = mask(self.encoder, replace(self.encoding, arrays=inputs.whole), tokens)
        return run_windows(self.encoder, masked, self._windowed.plan, progress=progress)

    def with_encoder(self, encoder: Encoder, *, progress: Progress | None = None) -> Run:
        inputs = self.encoding.arrays
        assert isinstance(inputs, ManyPasses)
        whole = replace(self.encoding, arrays=inputs.whole)
        return run_windows(encoder, whole, self._windowed.plan, progress=progress)

    def masked_logits(self, positions: list[int], spans: Sequence[slice] = ()) -> Any:
        of, local = self._windowed.plan.of, self._windowed.local
        by_position: dict[int, Any] = {}
        for number in np.unique(of[positions]).tolist():
            mine = [i for i in positions if of[i] == number]
            # A span that passes the end of a window is masked as far as that has it.
            shift = {i: int(local[i]) - i for i in mine}
            with_it = [
                slice(max(0, span.start + shift[i]), span.stop + shift[i])
                for i, span in zip(positions, spans, strict=False)
                if i in shift
            ]
            logits = self._runs[number].masked_logits([i + shift[i] for i in mine], with_it)
            by_position.update(zip(mine, logits, strict=True))
        rows = [by_position[i] for i in positions]
        if isinstance(rows[0], np.ndarray):
            return np.stack(rows)
        import torch

        return torch.stack(rows)


def check_length(encoder: Encoder, text: str, name: str, size: int, overlap: int) -> None:
    """Refuse a text that no number of windows, or no memory, is enough for, as soon as its beginning shows it.

    All of it takes a second and 0.3 GB per MB to tokenize; here a piece does, and its tokens are counted alone.

    Raises `TooLongError`, `NotEnoughMemoryError`.
    """
    if len(text) <= PIECE:
        return
    most, count = size + (MAX_WINDOWS - 1) * (size - overlap), 0
    for start in range(0, len(text), PIECE):
        piece = {"text": [text[start : start + PIECE]], "add_special_tokens": False}
        with encoder.lock:
            count += len(tokenize_alone(encoder, None, False, piece)["input_ids"][0])
        if count > most:
            raise TooLongError(
                f"{name} has {len(text):,} characters; {MAX_WINDOWS:,} windows of {size:,} tokens read about "
                f"{start + PIECE:,} of them.",
                f"{SHORTER} Or larger windows, or a smaller overlap.",
            )
        _check_memory(encoder, count, size, overlap)


def _check_memory(encoder: Encoder, n_tokens: int, size: int, overlap: int) -> None:
    """Refuse a run whose windows, which all stay, the free memory does not hold."""
    each = kept_by(encoder, held=holds_weights(encoder))(size)
    windows = 1 + max(n_tokens - size, 0) / (size - overlap)
    check_bytes(f"Reading {n_tokens:,} tokens in windows", windows * each, SHORTER)


def run_in_windows(
    encoder: Encoder,
    encoding: Encoding,
    size: int,
    overlap: int,
    *,
    progress: Progress | None = None,
) -> Run:
    """Run a text of any length in windows; one that fits into one window is run as it is.

    ``encoding``: of the whole text, however long. ``size``, ``overlap``: see
    `attn_widget.trace.windows.plan.check_windows`. ``progress``: called with
    ``(layers done, layers of all windows)``; what it raises ends the run. Raises `InputError`: see
    `attn_widget.trace.windows.plan.plan_windows`. Raises `NotEnoughMemoryError`: the free memory does not hold all
    windows.
    """
    before, after = read_whole(encoding.tokens)
    looks_back = encoder.predicts == "next"
    windows = plan_windows(encoding.n_tokens, before, after, size, overlap, looks_back=looks_back)
    if len(windows.spans) == 1:
        return Run(encoder, encoding, capture(encoder, encoding, progress=progress))
    _check_memory(encoder, encoding.n_tokens, size, overlap)
    return run_windows(encoder, encoding, windows, progress=progress)


def run_windows(
    encoder: Encoder, encoding: Encoding, windows: Windows, *, progress: Progress | None = None
) -> WindowedRun:
    """Run each window of a text, one after the other."""
    runs: list[Run] = []
    count, layers = len(windows.spans), encoder.n_layers
    for number, span in enumerate(windows.spans):
        part = window_of(encoding, windows, span)

        def report(done: int, _total: int, number: int = number) -> None:
            if progress is not None:
                progress(number * layers + done, count * layers)

        runs.append(Run(encoder, part, capture(encoder, part, progress=report)))
    trace = WindowedTrace(
        encoding.tokens,
        [run.trace for run in runs],
        windows,
        token_logits=encoder.classifier == "token",
    )
    whole = replace(encoding, arrays=ManyPasses(encoding.arrays, count))
    return WindowedRun(encoder, whole, trace, runs)


def window_of(encoding: Encoding, windows: Windows, span: tuple[int, int]) -> Encoding:
    """The part of a text that one window reads, with what every window has around it."""
    n = encoding.n_tokens
    places = [*range(windows.spans[0][0]), *range(*span), *range(windows.spans[-1][1], n)]
    return Encoding(
        encoding.text,
        encoding.text_pair,
        tuple(encoding.tokens[i] for i in places),
        {name: array[:, places] for name, array in encoding.arrays.items()},
        masked=tuple(
            replace(hidden, token=places.index(hidden.token))
            for hidden in encoding.masked
            if hidden.token in places
        ),
    )
