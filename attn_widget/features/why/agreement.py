"""Do methods agree: rank correlations between their orders of a text's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attn_widget.features.why.contributions import Contributions, maskable_words
from attn_widget.features.why.targets import Target
from attn_widget.figures.arrays import Float64
from attn_widget.figures.ranks import mean_ranks
from attn_widget.host.frames import dataframe

if TYPE_CHECKING:
    from pandas import DataFrame


MIN_WORDS = 3  # of a rank correlation: two words are always in the same order or the opposite one


@dataclass(frozen=True)
class Agreement:
    """Spearman's rho between every two methods, over the words of a text.

    Attributes
    ----------
    methods : tuple of str
    target : Target
    words : int
        How many words were ordered: those that are not the mask token already.
    rho : float64 [M, M]
        In [-1, 1]; NaN where a method gives all words the same, or there are fewer than three words.
    """

    methods: tuple[str, ...]
    target: Target
    words: int
    rho: Float64

    @property
    def mean(self) -> float:
        """Mean of rho over all pairs of two methods; NaN without any."""
        pairs = self.rho[np.triu_indices(len(self.methods), 1)]
        coefficients = pairs[~np.isnan(pairs)]
        return float(coefficients.mean()) if coefficients.size else float("nan")

    def to_dataframe(self) -> DataFrame:
        """``rho`` with the methods as index and columns (needs the extra ``pandas``)."""
        rows = [dict(zip(self.methods, row.tolist(), strict=True)) for row in self.rho]
        return dataframe(rows).set_axis(list(self.methods), axis=0)

    def __repr__(self) -> str:
        words = "1 word" if self.words == 1 else f"{self.words} words"
        found = f"mean rho {self.mean:.2f}"
        if np.isnan(self.mean):
            few = self.words < MIN_WORDS
            found = f"a rank correlation takes {MIN_WORDS}" if few else "no two methods order them"
        return f"Agreement({len(self.methods)} methods, {words}: {found})"


def word_scores(contributions: Contributions, words: Sequence[Sequence[int]]) -> Float64:
    """A method's score of each word: the contributions at its positions added up, float64 [words]."""
    values = contributions.values.astype(np.float64)
    return np.array([values[list(pieces)].sum() for pieces in words])


def agreement(
    contributions: Mapping[str, Contributions], target: Target, mask: int | None
) -> Agreement:
    """Rank correlations between methods; an unsigned one is compared with sizes of the signed ones.

    Parameters
    ----------
    mask : int or None
        Id of the mask token. A word that is masked already takes no part: no method can be right or
        wrong about it.

    References
    ----------
    Jain & Wallace (2019), Attention is not Explanation, NAACL; docs/influence.md, section 3.
    """
    methods = tuple(contributions)
    tokens = next(iter(contributions.values())).tokens
    words = maskable_words(tokens, mask)
    scores = {method: word_scores(item, words) for method, item in contributions.items()}
    rho = np.full((len(methods), len(methods)), np.nan)
    for i, method in enumerate(methods):
        for j, other in enumerate(methods):
            signed = contributions[method].signed and contributions[other].signed
            a, b = scores[method], scores[other]
            rho[i, j] = spearman(a, b) if signed else spearman(np.abs(a), np.abs(b))
    return Agreement(methods, target, len(words), rho)


def spearman(a: Sequence[float] | Float64, b: Sequence[float] | Float64) -> float:
    """Spearman's rho, ties sharing the mean of their ranks; NaN for fewer than three or all equal.

    >>> spearman([1, 2, 3, 4], [10, 20, 40, 30])
    0.8
    """
    if len(a) < MIN_WORDS:
        return float("nan")
    x, y = mean_ranks(a), mean_ranks(b)
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / size if size else float("nan")
