"""ESM's tokenizer as a fast one, which knows where each residue stands in the text; `transformers` has a slow one alone."""

from __future__ import annotations

import re
from typing import Any

ESM = "esm"  # the family
RESIDUE = re.compile(r"<\w+>|\S")  # or <mask>


def each_residue(text: str) -> list[tuple[int, int, None]]:
    """Words of a protein, as a tagger gives them: every residue is one.

    >>> each_residue("MK <mask>")
    [(0, 1, None), (1, 2, None), (3, 9, None)]
    """
    return [(*found.span(), None) for found in RESIDUE.finditer(text)]


def fast_residues(slow: Any) -> Any:
    """The same vocabulary and special tokens in a fast tokenizer: a token for every residue.

    It differs from ``slow`` in letters that the vocabulary lacks: each is an unknown token by itself, and not those that follow
    each other together.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    named = slow.special_tokens_map
    special = sorted({str(token) for token in named.values()}, key=slow.convert_tokens_to_ids)
    backend = Tokenizer(models.WordLevel(slow.get_vocab(), unk_token=slow.unk_token))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("."), "isolated")]
    )
    backend.add_special_tokens([AddedToken(token, special=True) for token in special])
    begin, end = slow.cls_token, slow.eos_token
    backend.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} $B {end}",
        special_tokens=[(token, slow.convert_tokens_to_ids(token)) for token in (begin, end)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_input_names=slow.model_input_names,
        model_max_length=slow.model_max_length,
        **named,
    )


def has_residues(tokenizer: Any) -> bool:
    """True for the tokenizer of ESM."""
    from transformers import EsmTokenizer

    return isinstance(tokenizer, EsmTokenizer)
