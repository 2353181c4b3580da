"""Effect of a look on each class, as a name of ``a.model``."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from attn_widget.analysis.first_token import sum_positions
from attn_widget.analysis.model import ModelFigures
from attn_widget.checks import check_flag
from attn_widget.checks.rounding import largest_first
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32
from attn_widget.model.classification import LIKELIEST, class_index


class TaskFigures(ModelFigures):
    """Figures of a classifier."""

    def class_gradient(self, label: int | str, *, words: bool = False) -> Float32:
        """Gradient of a class's logit with respect to each score of the first token, float32 [L, H, n].

        ``d z_c / d S[l, h, 0, j]``, in logits per unit of scaled score, everything after that score
        recomputed: above 0, a longer look at ``j`` speaks for the class. Attention is the same for
        all classes; this is what differs. Of two classes, the difference is the gradient of their
        log odds (of a softmax).

        Parameters
        ----------
        label : int or str
            A class of `classification`: its index, or its name.
        words : bool
            Over words, [L, H, m], the positions of `first_token`: all tokens of a word at once.

        Raises
        ------
        InputError
            A class that does not exist.
        NotAvailableError
            The model does not classify texts, or this is a view.

        References
        ----------
        Wiegreffe & Pinter (2019), Attention is not not Explanation, EMNLP. Chefer, Gur & Wolf (2021),
        Transformer Interpretability Beyond Attention Visualization, CVPR.
        """
        run = self._analysis._require_model("class gradients", of_tokens=True)
        classes = self.classification
        if classes is None or classes.task != "sequence":
            raise NotAvailableError(
                f"{run.encoder.name} does not classify texts, so no class has a gradient.",
                "Load a checkpoint for sequence classification.",
            )
        from attn_widget.features.tasks.class_gradients import class_gradients

        index, words = class_index(label, classes.labels), check_flag(words, "words")
        with self._analysis._lock:
            gradients: dict[int, Float32] = self._analysis._cache.setdefault("class_gradients", {})
            if index not in gradients:
                best = [] if gradients else largest_first(classes.logits)[:LIKELIEST]
                wanted = list(dict.fromkeys([index, *best]))
                gradients.update(
                    zip(wanted, class_gradients(run.encoder, run.encoding, wanted), strict=True)
                )
            gradient = gradients[index]
        if not words:
            return gradient
        flat = gradient.reshape(-1, self._analysis.trace.n_tokens)
        _, sums, _ = sum_positions(flat, self._analysis.language.tokens, words=True)
        return sums.reshape(*gradient.shape[:2], -1)
