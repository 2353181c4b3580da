"""Do methods agree, and are they right (docs/influence.md, section 3)."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attn_widget.analysis.accessor import accessor
from attn_widget.analysis.attention import AttentionFigures
from attn_widget.checks import check_callable, check_choice, check_count, check_seed, check_several
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.why.figures import InfluenceFigures
from attn_widget.features.why.targets import Target
from attn_widget.host.installed import require_torch
from attn_widget.trace.forward import Progress

if TYPE_CHECKING:
    from attn_widget.features.why.agreement import Agreement
    from attn_widget.features.why.contributions import Contributions
    from attn_widget.features.why.faithfulness import Faithfulness


class WhyFigures(InfluenceFigures):
    """Contributions to a number that the model gives, and tests of methods; ``a.why``."""

    def agreement(
        self,
        target: Target,
        methods: Sequence[str] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Agreement:
        """Agreement of methods on the words that matter for a target: Spearman's rho of every two.

        Parameters
        ----------
        target : Target
        methods : sequence of str, optional
            See `contributions`. By default all that this model allows.
        progress : callable, optional
            Called with ``(methods done, all)``.

        Returns
        -------
        Agreement

        Raises
        ------
        InputError, InputTypeError, NotAvailableError
            As in `contributions`; fewer than two methods.

        Examples
        --------
        >>> from attn_widget import analyze, target
        >>> a = analyze("The keys to the cabinet are here.", tagger=None, progress=False)
        >>> number = target(position=6, token="are", against="is", masked=True)
        >>> a.why.agreement(number, ["decomposition", "occlusion", "weights"]).rho.shape
        (3, 3)
        """
        require_torch("Agreement of methods")
        from attn_widget.features.why.agreement import agreement

        contributions = self._contributions_by(target, methods, progress)
        if len(contributions) < 2:
            raise InputError(
                f"methods holds {len(contributions)}, and agreement is between two.",
                "Name two or more.",
            )
        _where, run, _ = self._bound(target)
        return agreement(contributions, target, run.encoder.mask_token_id)

    def faithfulness(
        self,
        target: Target,
        methods: Sequence[str] | None = None,
        *,
        n_random: int = 1600,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Faithfulness:
        """Decrease of the target's probability as words are masked in each method's order.

        Parameters
        ----------
        target : Target
        methods : sequence of str, optional
            See `contributions`. By default all that this model allows.
        n_random : int
            Random orders to draw at most for a text of more than ten words, 20 to 100,000: fewer once every verdict is settled.
            What they do not settle is undecided. Up to ten words every order is read.
        seed : int
            Has no effect: orders are drawn from the text itself, so that a text has one verdict.
        progress : callable, optional
            Called with ``(passes done, all)``.

        Returns
        -------
        Faithfulness
            Curves, comprehensiveness and sufficiency of each method and of random orders; the percentile of
            each method among random orders, and a verdict corrected for the number of methods.

        Raises
        ------
        InputError, InputTypeError, NotAvailableError
            As in `contributions`; a tokenizer without a mask token, a text without a word that can be masked.

        Examples
        --------
        >>> from attn_widget import analyze, target
        >>> a = analyze("The keys to the cabinet are here.", tagger=None, progress=False)
        >>> number = target(position=6, token="are", against="is", masked=True)
        >>> f = a.why.faithfulness(number, ["decomposition"])
        >>> f.curves["decomposition"].deleted.shape, f.random.orders  # seven words: 7! orders
        ((8,), 5040)
        """
        require_torch("A test of methods")
        from attn_widget.features.why.contributions import maskable_words
        from attn_widget.features.why.faithfulness import faithfulness
        from attn_widget.features.why.passes import before_target

        n_random = check_count(n_random, "n_random", 20, 100_000)
        check_seed(seed)
        contributions = self._contributions_by(target, methods, None)
        if not contributions:
            raise InputError("methods is empty.", "Name one or more, or leave it out for all.")
        check_callable(progress, "progress")
        where, run, bound = self._bound(target)
        words = maskable_words(where.language.tokens, run.encoder.mask_token_id)
        if run.encoder.predicts == "next":
            words = before_target(run, bound, words)
        probabilities: dict[int, float] = where._cached_unlocked(
            ("masked_sets", bound.as_target(target), str(words)), dict
        )
        return faithfulness(
            run,
            target,
            bound,
            contributions,
            words,
            probabilities,
            n_random=n_random,
            progress=progress,
        )

    def _contributions_by(
        self, target: Target, methods: Sequence[str] | None, progress: Progress | None
    ) -> dict[str, Contributions]:
        """Contributions by each method; without ``methods``, by all that are available."""
        check_callable(progress, "progress")
        self._bound(target)
        wanted = self.methods
        if methods is not None:
            wanted = [
                check_choice(name, "methods", self.methods)
                for name in check_several(methods, "methods", "names")
            ]
        contributions: dict[str, Contributions] = {}
        for done, method in enumerate(wanted):
            try:
                contributions[method] = self.contributions(target, method)
            except NotAvailableError:
                if methods is not None:
                    raise
            if progress is not None:
                progress(done + 1, len(wanted))
        return contributions


class OfWhy(AttentionFigures):
    """The name that `Analysis` has of it."""

    why = accessor(WhyFigures)
