"""How fast a model runs here, as its own passes have shown: what more passes would cost."""

from __future__ import annotations

# Fixed cost of a pass, in tokens: 20 for bert-base and 70 for the embedded model, on two cores.
FIXED_TOKENS = 32


class Speed:
    """The least seconds a token that a model's passes have taken.

    The least, because a pass during other work, or the first of a process, does not predict the next.

    Examples
    --------
    >>> speed = Speed()
    >>> speed.masked_seconds(9) is None
    True
    >>> speed.measured(tokens=68, seconds=0.1)
    >>> round(speed.masked_seconds(30), 3)
    0.9
    """

    def __init__(self) -> None:
        self._seconds_a_token: float | None = None

    def measured(self, tokens: int, seconds: float) -> None:
        """Count a pass over ``tokens``, copies of a batch included."""
        rate = seconds / (tokens + FIXED_TOKENS)
        if self._seconds_a_token is None or rate < self._seconds_a_token:
            self._seconds_a_token = rate

    def masked_seconds(self, tokens: int) -> float | None:
        """Seconds that masked predictions of a text would take; None before the first pass."""
        return None if self._seconds_a_token is None else self._seconds_a_token * tokens**2
