"""The tower of CLIP that reads texts, as an encoder of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import nn

from attn_widget.checks import short_repr
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.images.heads import SCALED, ImageHead
from attn_widget.features.images.pictures import is_image_file
from attn_widget.features.images.towers import family_of
from attn_widget.model.checkpoint import Checkpoint, load_tokenizer
from attn_widget.model.embedding_head import Dense
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import NO_NORM, ONE_TEXT, Embeddings

OLD_END = 2


class TextTower(Encoder):
    """The encoder of CLIP's texts: the state of the last token, which ends the text, is projected."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__(checkpoint)
        names = ("embeddings.token_embedding", "embeddings.position_embedding")
        embeddings = Embeddings(*names, None, None, reasons=(ONE_TEXT, NO_NORM))
        self.family = replace(family_of(self.traced, self.name), embeddings=embeddings)

    def for_input(self, given: Any) -> tuple[Encoder, Any]:
        """The tower itself, for a text.

        Parameters
        ----------
        given : object

        Raises
        ------
        InputError
            The name of an image file.
        """
        if isinstance(given, str) and is_image_file(given):
            raise InputError(
                f"{short_repr(given)} names an image file, and this run is of a text.",
                "Give analyze(image), or let a text end with a period.",
            )
        return self, given

    def encode(self, text: Any, text_pair: str | None = None, **options: Any) -> Encoding:
        """As of every encoder; the model must read its last token.

        Parameters
        ----------
        text, text_pair, **options
            As of `Encoder.encode`.

        Raises
        ------
        InputError
            A text that holds the token that ends texts; else as `Encoder.encode`.
        """
        encoding = super().encode(text, text_pair, **options)
        ids, end = encoding.arrays["input_ids"][0], self.traced.eos_token_id
        # As `CLIPTextModel` does; 2 stands for the largest id in configurations of early checkpoints.
        read = int(ids.argmax() if end == OLD_END else (ids == end).argmax())
        if read != len(ids) - 1:
            raise InputError(
                f"{self.name} reads a text's embedding at token {read} ({encoding.tokens[read].text}), which is not its last one.",
                "Leave the token that ends texts out of it, or use the tokenizer that the model was trained with.",
            )
        return encoding


def text_tower(model: Any, reader: Any, name: str) -> TextTower:
    """The tower of ``model`` that reads texts.

    ``reader``: a tokenizer, the processor of both, or None. Raises `NotAvailableError`: a model without one, SigLIP, or no tokenizer.
    """
    if not hasattr(model, "text_projection") or not hasattr(model, "text_model"):
        why = (
            "reads texts that are filled up to one length, which is not known here"
            if hasattr(model, "text_model")
            else "has no tower that reads texts"
        )
        raise NotAvailableError(
            f"{name} {why}, so an image has no similarity to a text.",
            "Load a whole CLIPModel, or compare two images: target(similar_to=analyze(another image)).",
        )
    tokenizer = getattr(reader, "tokenizer", reader)
    if tokenizer is None:
        raise NotAvailableError(
            f"The tokenizer of {name} is not known, so it reads no text.",
            "Give the processor of both: model=(model, CLIPProcessor), or a folder that has it.",
        )
    head = ImageHead(
        ("last",),
        layers=(Dense(model.text_projection, nn.Identity()),),
        similarity="cosine",
        notes=(SCALED.format(float(model.logit_scale.detach().exp())),),
    )
    fast = load_tokenizer(tokenizer, name, {})
    return TextTower(Checkpoint(model.text_model, fast, name, None, embedding=lambda: head))
