"""Pictures as inputs of `attn_widget.analyze`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from attn_widget.analysis.inputs import HowRead
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.images.pictures import is_image_file, is_picture
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding


def read(encoder: Encoder, given: Any, text_pair: object, how: HowRead) -> Encoding | None:
    """See `attn_widget.analysis.inputs.ReadInput`."""
    if not getattr(encoder, "processor", None):
        if _may_be_ids(given):
            return None
        if is_picture(given) or (isinstance(given, Path) and is_image_file(given)):
            raise InputTypeError(
                f"text is an image, and {encoder.name} reads text.",
                "Load a model that reads images: analyze(image, model='facebook/dinov2-small').",
            )
        return None
    if how.any_length or how.writes or how.output is not None:
        option = "windows" if how.any_length else "generate" if how.writes else "output"
        does = "reads an image at once" if how.any_length else "reads images and writes nothing"
        raise InputError(f"{option} is given, and {encoder.name} {does}.", f"Leave {option} out.")
    pair: Any = text_pair
    options = {"truncation": how.truncation, "add_special_tokens": how.add_special_tokens}
    return encoder.encode(given, pair, **options)


def _may_be_ids(given: Any) -> bool:
    """True of an array that a model of texts takes for token ids, or says why it does not."""
    whole = isinstance(given, np.ndarray) and given.ndim > 0 and given.dtype.kind in "iu"
    return whole and (
        given.size == given.shape[-1] or (given.ndim == 3 and given.dtype != np.uint8)
    )
