"""The logit lens of an `Analysis`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attn_widget.analysis.attention import AttentionFigures
from attn_widget.analysis.model import require_predictions
from attn_widget.checks import check_callable, check_count, slice_in
from attn_widget.host.installed import require_torch
from attn_widget.model.predictions import Mode
from attn_widget.trace.forward import Progress

if TYPE_CHECKING:
    from attn_widget.features.lens.grid import Lens

KEPT = 5  # entries of every position that was read


class LensFigures(AttentionFigures):
    """Predictions of every layer (docs/lens.md)."""

    def lens(
        self,
        top_k: int = 5,
        mode: Mode | None = None,
        *,
        rows: slice | None = None,
        progress: Progress | None = None,
    ) -> Lens:
        """The logit lens: each layer's hidden state at each position, read by the language-model head.

        Parameters
        ----------
        top_k : int
            1 to the size of the vocabulary.
        mode : {"as_is", "masked", "next"}, optional
            As in `predictions`; masked, each position in a pass of its own.
        rows : slice, optional
            These positions alone.
        progress : callable, optional
            Called with ``(done, positions)``; an exception that it raises ends the work.

        Returns
        -------
        Lens
            ``ids``, ``tokens`` and ``probabilities`` [L + 1, n, k], ``ranks``, ``entropies`` and ``divergences`` [L + 1, n].

        Raises
        ------
        NotAvailableError
            No language-model head, or one that cannot be taken by itself; a family whose layers are not known.
        InputError, InputTypeError
            An unknown mode, ``top_k`` out of range, or ``rows`` without a position.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> a = analyze("The capital of France is [MASK].", tagger=None, progress=False)
        >>> found = a.lens(rows=slice(6, 7))
        >>> found.ids.shape, found.tokens[-1][0][0]
        ((7, 1, 5), 'paris')
        """
        require_torch("The logit lens")
        from attn_widget.features.lens.grid import Lens, lens

        run, mode = require_predictions(self, mode)
        top_k = check_count(top_k, "top_k", 1, run.encoder.vocab_size)
        check_callable(progress, "progress")
        wanted = [*range(self.trace.n_tokens)[slice_in(rows, self.trace.n_tokens, "rows")]]
        columns: dict[int, dict[str, Any]] = {}
        if top_k <= KEPT:
            columns = cast("dict[int, dict[str, Any]]", self._cache.setdefault(("lens", mode), {}))
        missing = [position for position in wanted if position not in columns]
        if missing:
            found = lens(
                run, mode, missing, max(top_k, min(KEPT, run.encoder.vocab_size)), progress
            )
            fresh = {
                position: {name: values[:, k] for name, values in found.items()}
                for k, position in enumerate(missing)
            }
            with self._lock:
                columns.update(fresh)
        arrays = {
            name: np.stack([columns[position][name] for position in wanted], axis=1)
            for name in columns[wanted[0]]
        }
        arrays |= {name: arrays[name][..., :top_k] for name in ("ids", "probabilities")}
        texts = run.encoder.token_texts
        tokens = [[texts(row) for row in layer] for layer in arrays["ids"].tolist()]
        there = tuple(self.trace.tokens[position] for position in wanted)
        return Lens(mode=mode, tokens=tokens, positions=there, at=tuple(wanted), **arrays)
