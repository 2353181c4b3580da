"""The embedded model without `transformers`: its network in numpy or in torch alone, its tokenizer by `tokenizers`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.model.numpy_bert import BertForPreTraining
from attn_widget.model.numpy_modules import Floats

if TYPE_CHECKING:
    from attn_widget.model.bert import BertForPreTraining as TorchBert


def embedded_network(folder: Path, *, in_torch: bool) -> BertForPreTraining | TorchBert:
    """The network in ``folder``, float32, on the CPU, in torch or in numpy."""
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    network = BertForPreTraining(settings, weights_in(folder / "model.safetensors"))
    return network.in_torch() if in_torch else network


def weights_in(path: Path) -> dict[str, Floats]:
    """The tensors of a safetensors file of float16 numbers, as float32 arrays."""
    with path.open("rb") as file:
        header: dict[str, Any] = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        # Mapped: the numbers are converted right away, and a copy would cost a third of that time.
        numbers = np.asarray(np.memmap(file, "<f2", "r", offset=file.tell()))
    header.pop("__metadata__", None)
    weights: dict[str, Floats] = {}
    for name, tensor in header.items():
        if tensor["dtype"] != "F16":
            raise ValueError(f"{name} is {tensor['dtype']}, expected F16")
        start, end = tensor["data_offsets"]
        part = numbers[start // 2 : end // 2].reshape(tensor["shape"])
        weights[name] = part.astype(np.float32)
    return weights


class FastTokenizer:
    """The interface of a fast tokenizer of `transformers` that `attn_widget.model.encoding` uses, for ``folder``.

    ``folder``: with ``tokenizer.json`` and ``tokenizer_config.json``.
    """

    is_fast = True
    model_input_names = ("input_ids", "token_type_ids", "attention_mask")

    def __init__(self, folder: Path) -> None:
        self.backend_tokenizer: Any = _backend(folder / "tokenizer.json")
        settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        self.model_max_length = int(settings["model_max_length"])
        self.mask_token = str(settings["mask_token"])
        self.mask_token_id = self.backend_tokenizer.token_to_id(self.mask_token)
        self.unk_token = str(settings["unk_token"])
        self.unk_token_id = self.backend_tokenizer.token_to_id(self.unk_token)

    def __call__(
        self,
        text: list[str],
        text_pair: list[str] | None = None,
        *,
        max_length: int | None = None,
        add_special_tokens: bool = True,
        **_options: Any,
    ) -> Batch:
        """Encode a batch of one; ``max_length`` cuts the longer segment first."""
        backend = self.backend_tokenizer
        if max_length is None:
            backend.no_truncation()
        else:
            backend.enable_truncation(max_length, strategy="longest_first")
        pair = None if text_pair is None else text_pair[0]
        return Batch(backend.encode(text[0], pair, add_special_tokens=add_special_tokens))

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str | None]:
        return [self.backend_tokenizer.id_to_token(i) for i in ids]


def _backend(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError:  # it has no build for Pyodide
        from attn_widget.model.wordpiece import WordPiece

        return WordPiece(path)
    return Tokenizer.from_file(str(path))


class Batch(dict[str, list[list[int]]]):
    """One encoded text as `transformers` gives it: inputs by name, and the encodings themselves."""

    def __init__(self, encoding: Any) -> None:
        super().__init__(
            input_ids=[encoding.ids],
            token_type_ids=[encoding.type_ids],
            attention_mask=[encoding.attention_mask],
        )
        self.encodings = [encoding]
