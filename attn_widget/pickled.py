"""What cannot be pickled or copied says why, and what to do instead."""

from __future__ import annotations

from typing import Any, NoReturn, SupportsIndex

from attn_widget.errors import InputTypeError


class NotPickled:
    """Mixin: `pickle`, `copy` and whoever uses them (joblib, multiprocessing) get a reason."""

    WHY = "it holds a model's tensors and locks"
    INSTEAD = ""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        self._refuse()

    def __copy__(self) -> Any:
        self._refuse()

    def __deepcopy__(self, memo: Any) -> Any:
        self._refuse()

    def _refuse(self) -> NoReturn:
        name = type(self).__name__
        article = "An" if name[0] in "AEIO" else "A"
        raise InputTypeError(
            f"{article} {name} can be neither pickled nor copied: {self.WHY}.", self.INSTEAD
        )
