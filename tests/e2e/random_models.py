"""Seeded random models with a vocabulary of their own: what they show stays the same when the embedded model is trained again."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

# Every token of the texts of `test_pictures`, and words that can be predicted beside them.
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LISTED = """
. , ! ? the a an and but was were is are it they he she on in at near with from that who
cat cats dog dogs bird mat sofa river bank tree house garden window morning evening
sat sit sleep slept looked looks closed open warm cold old new tired small wide
film story music boring long short good bad great never always very really
key keys cabinet door lock here there left right lost found want ##ed ##s ##ing ##ly
"""
WORDS = LISTED.split()
SPREAD = 0.3  # standard deviation of the weights: peaked attention in a narrow model
SMALL: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
    "initializer_range": SPREAD,
}  # fmt: skip
LABELS = {0: "negative", 1: "neutral", 2: "positive"}


@cache
def tokenizer(longest: int = 128) -> Any:
    """A fast WordPiece tokenizer."""
    vocabulary = {token: index for index, token in enumerate((*SPECIAL, *WORDS))}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=longest,
    )  # fmt: skip


@cache
def bert() -> tuple[Any, Any]:
    """``(model, tokenizer)`` of 3 layers and 4 heads that predicts masked tokens."""
    torch.manual_seed(0)
    config = tf.BertConfig(vocab_size=len(SPECIAL) + len(WORDS), **SMALL)
    return tf.BertForMaskedLM(config).eval(), tokenizer()


@cache
def classifier() -> tuple[Any, Any]:
    """The same shape with three classes."""
    torch.manual_seed(1)
    config = tf.BertConfig(
        vocab_size=len(SPECIAL) + len(WORDS), id2label=LABELS,
        label2id={label: index for index, label in LABELS.items()}, **SMALL,
    )  # fmt: skip
    return tf.BertForSequenceClassification(config).eval(), tokenizer()


@cache
def modernbert() -> tuple[Any, Any]:
    """Three layers of ModernBERT's kind, for texts of up to 2,048 tokens."""
    torch.manual_seed(2)
    config = tf.ModernBertConfig(
        vocab_size=len(SPECIAL) + len(WORDS), max_position_embeddings=2048, pad_token_id=0,
        bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3, **SMALL,
    )  # fmt: skip
    return tf.ModernBertForMaskedLM(config).eval(), tokenizer(2048)
