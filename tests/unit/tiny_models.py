"""Small random models of every family, each with a real fast tokenizer of its kind.

``build("roberta")`` gives a masked-LM model of two or three layers and its tokenizer, in half a
second and without a network. Weights are random but large, so that attention is far from uniform.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import transformers as tf
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

TEXTS = [
    "The cat sat on the mat, and the dog looked at the bird in the old tree near our house.",
    "It didn't rain; Dr. Smith's naïve café was state-of-the-art in 1998!",
    "A quick brown fox jumps over the lazy dog while the children sleep.",
    "She sells sea shells on the sea shore, and he buys them for a dollar each.",
]
VOCABULARY = 400  # entries
SPREAD = 0.3  # standard deviation of the weights: peaked attention in a narrow model


@cache
def tokenizer(kind: str) -> Any:
    """A fast tokenizer: ``"wordpiece"``, ``"bytes"`` (BPE), ``"untrimmed"`` (BPE) or ``"unigram"``."""
    return {"wordpiece": _wordpiece, "bytes": _bytes, "untrimmed": _untrimmed, "unigram": _unigram}[kind]()  # fmt: skip


def _wordpiece() -> Any:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False)
    )  # fmt: skip
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=128,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],  # as BERT's
    )  # fmt: skip


ANGLES = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def _wrap_angles(backend: Tokenizer) -> Any:
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", cls_token="<s>",
        sep_token="</s>", pad_token="<pad>", unk_token="<unk>",
        mask_token=AddedToken("<mask>", lstrip=True, special=True),
    )  # fmt: skip


def _bpe() -> Tokenizer:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=ANGLES, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    backend.train_from_iterator(TEXTS, trainer)
    return backend


def _bytes() -> Any:
    """As RoBERTa's: two separators between the segments, no segment ids."""
    backend = _bpe()
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return _wrap_angles(backend)


def _untrimmed() -> Any:
    """As ModernBERT's: byte-level, but the offsets include the space before a word."""
    backend = _bpe()
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return _wrap_angles(backend)


def _unigram() -> Any:
    """As XLM-R's and ALBERT's: SentencePiece's marks for spaces."""
    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCABULARY, special_tokens=ANGLES, unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator(TEXTS, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return _wrap_angles(backend)


SMALL: dict[str, Any] = {
    "vocab_size": 512,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 128,
    "initializer_range": SPREAD,
}
ROBERTA: dict[str, Any] = {
    **SMALL, "max_position_embeddings": 130, "type_vocab_size": 1, "pad_token_id": 1,
    "bos_token_id": 0, "eos_token_id": 2,
}  # fmt: skip

# family -> (prefix of its classes, its config, its tokenizer)
FAMILIES: dict[str, tuple[str, Callable[[], Any], str]] = {
    "bert": ("Bert", lambda: tf.BertConfig(**SMALL), "wordpiece"),
    "roberta": ("Roberta", lambda: tf.RobertaConfig(**ROBERTA), "bytes"),
    "xlm-roberta": ("XLMRoberta", lambda: tf.XLMRobertaConfig(**ROBERTA), "unigram"),
    "camembert": ("Camembert", lambda: tf.CamembertConfig(**ROBERTA), "unigram"),
    "distilbert": (
        "DistilBert",
        lambda: tf.DistilBertConfig(
            vocab_size=512, dim=32, n_layers=2, n_heads=4, hidden_dim=48, initializer_range=SPREAD,
            max_position_embeddings=128,
        ),
        "wordpiece",
    ),
    "albert": (
        "Albert",
        lambda: tf.AlbertConfig(**SMALL, embedding_size=16, num_hidden_groups=1, inner_group_num=1),
        "unigram",
    ),
    "electra": ("Electra", lambda: tf.ElectraConfig(**SMALL, embedding_size=16), "wordpiece"),
    "mobilebert": (
        "MobileBert",
        lambda: tf.MobileBertConfig(  # NoNorm lets large weights grow from layer to layer
            **{**SMALL, "initializer_range": 0.15}, embedding_size=16, intra_bottleneck_size=16
        ),
        "wordpiece",
    ),
    "modernbert": (
        "ModernBert",
        lambda: tf.ModernBertConfig(
            **SMALL, local_attention=8, global_attn_every_n_layers=3, pad_token_id=1,
            bos_token_id=0, cls_token_id=0,
            eos_token_id=2, sep_token_id=2,
        ),
        "untrimmed",
    ),
    "deberta": (
        "Deberta",
        lambda: tf.DebertaConfig(
            **SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"], type_vocab_size=0,
            max_relative_positions=-1, position_biased_input=False,
        ),
        "bytes",
    ),
    "deberta-v2": (
        "DebertaV2",
        lambda: tf.DebertaV2Config(
            **SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=16,
            max_relative_positions=-1, type_vocab_size=0, share_att_key=True,
            position_biased_input=False, norm_rel_ebd="layer_norm",
        ),
        "unigram",
    ),
    "mpnet": ("MPNet", lambda: tf.MPNetConfig(**{**ROBERTA, "type_vocab_size": 2}), "bytes"),
}  # fmt: skip
DISPATCHED = tuple(name for name in FAMILIES if name not in ("deberta", "deberta-v2", "mpnet"))


def build(family: str, head: str = "ForMaskedLM", seed: int = 0, **changes: Any) -> tuple[Any, Any]:
    """A random model of ``family`` and its tokenizer.

    Parameters
    ----------
    head : str
        The end of the class's name: ``"ForMaskedLM"``, ``"ForPreTraining"``, ``"Model"`` ...
    changes
        Attributes of the config.
    """
    prefix, config_of, kind = FAMILIES[family]
    config = config_of()
    for name, value in changes.items():
        setattr(config, name, value)
    torch.manual_seed(seed)
    model = getattr(tf, f"{prefix}{head}")(config).eval()
    with torch.no_grad():  # biases and norms start at 0 and 1, where many mistakes cannot be seen
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
        if family == "mobilebert":  # its small weights would leave attention uniform
            for name, parameter in model.named_parameters():
                if name.endswith(("self.query.weight", "self.key.weight")):
                    parameter.mul_(6)
    return model, tokenizer(kind)
