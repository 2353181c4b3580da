"""The embedded model without `transformers`: its network in torch alone, its tokenizer by `tokenizers`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attn_widget.model.bert import bert

if TYPE_CHECKING:
    from torch import Tensor

    from attn_widget.model.bert import BertForPreTraining


def embedded_network(folder: Path) -> BertForPreTraining:
    """The network in ``folder``, float32, on the CPU."""
    import torch

    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    with torch.inference_mode(False):
        return bert(settings, weights_in(folder / "model.safetensors"))


def weights_in(path: Path) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    return {name: tensor.float() for name, tensor in load_file(path).items()}


class FastTokenizer:
    """The interface of a fast tokenizer of `transformers` that `attn_widget.model.encoding` uses, for ``folder``.

    Parameters
    ----------
    folder : Path
        With ``tokenizer.json`` and ``tokenizer_config.json``.
    """

    is_fast = True
    model_input_names = ("input_ids", "token_type_ids", "attention_mask")

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self.backend_tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        self.model_max_length = int(settings["model_max_length"])
        self.mask_token = str(settings["mask_token"])
        self.mask_token_id = self.backend_tokenizer.token_to_id(self.mask_token)
        self.unk_token = str(settings["unk_token"])
        self.unk_token_id = self.backend_tokenizer.token_to_id(self.unk_token)

    def __call__(
        self,
        texts: list[str],
        pairs: list[str] | None = None,
        *,
        max_length: int | None = None,
        **_options: Any,
    ) -> Batch:
        """Encode a batch of one; ``max_length`` cuts the longer segment first."""
        backend = self.backend_tokenizer
        if max_length is None:
            backend.no_truncation()
        else:
            backend.enable_truncation(max_length, strategy="longest_first")
        return Batch(backend.encode(texts[0], None if pairs is None else pairs[0]))

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str | None]:
        return [self.backend_tokenizer.id_to_token(i) for i in ids]


class Batch(dict[str, list[list[int]]]):
    """One encoded text as `transformers` gives it: inputs by name, and the encodings themselves."""

    def __init__(self, encoding: Any) -> None:
        super().__init__(
            input_ids=[encoding.ids],
            token_type_ids=[encoding.type_ids],
            attention_mask=[encoding.attention_mask],
        )
        self.encodings = [encoding]
