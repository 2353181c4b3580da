"""Small random models of every family, each with a real fast tokenizer of its kind.

``build("roberta")`` gives a masked-LM model of two or three layers and its tokenizer, in half a
second and without a network. Weights are random but large, so that attention is far from uniform.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from packaging.version import Version
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
    """A fast tokenizer: ``"wordpiece"``, ``"bytes"`` (BPE), ``"untrimmed"`` (BPE), ``"unigram"``, and of
    decoders ``"beginning"`` (BPE after a beginning token) or ``"text"`` (BPE alone); ``"ending"``: unigram before an
    end token."""
    return {
        "wordpiece": _wordpiece, "bytes": _bytes, "untrimmed": _untrimmed, "unigram": _unigram,
        "beginning": _beginning, "text": _text, "ending": _ending,
    }[kind]()  # fmt: skip


def _wordpiece() -> Any:
    # Trained once on TEXTS: WordPieceTrainer gives other pieces each time.
    pieces = Path(__file__).with_name("tiny_wordpiece.txt").read_text().split()
    vocab = {piece: k for k, piece in enumerate(pieces)}
    backend = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    backend.add_special_tokens(pieces[:5])
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


def _beginning() -> Any:
    """As Llama's: a beginning token before the text."""
    backend = _bpe()
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)]
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def _text() -> Any:
    """As GPT-2's: no token but those of the text. It names segment ids, as tokenizers do by default."""
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=_bpe(), eos_token="</s>", unk_token="</s>",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


def _ending() -> Any:
    """As T5's, Marian's and Pegasus': SentencePiece's marks, and an end token alone."""
    backend = Tokenizer.from_str(_unigram().backend_tokenizer.to_str())
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    return _wrap_angles(backend)


def languages(kind: str) -> Any:
    """A new tokenizer of letters that marks its texts with their language: ``"nllb"``, ``"mbart"`` or ``"mbart50"``."""
    letters = sorted({letter for text in TEXTS for letter in text} - {" "})
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *letters, *(f"▁{letter}" for letter in letters)]
    if kind == "nllb":
        vocab = {piece: k for k, piece in enumerate(pieces)}
        merges = [("▁", letter) for letter in letters]
        marks = ["eng_Latn", "fra_Latn", "deu_Latn"]
        return tf.NllbTokenizer(vocab=vocab, merges=merges, extra_special_tokens=marks)
    cls = {"mbart": tf.MBartTokenizer, "mbart50": tf.MBart50Tokenizer}[kind]
    return cls(vocab=[(piece, 0.0) for piece in pieces], src_lang="en_XX")


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
    # The trainer sets pieces of equal score 0.0001 apart, in another order each time.
    pieces = json.loads(backend.to_str())["model"]["vocab"][len(ANGLES) :]
    pieces = sorted((-round(score, 2), piece) for piece, score in pieces)
    vocab = [*((name, 0.0) for name in ANGLES), *((piece, -score) for score, piece in pieces)]
    backend.model = models.Unigram(vocab, ANGLES.index("<unk>"), False)
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
# The sums of one run, for `tests.close`: as long as a hidden state, one layer after the other.
SUMS = {"terms": SMALL["hidden_size"], "steps": SMALL["num_hidden_layers"]}
# The same where all kernels may differ: four products follow on each other in a layer (values, output, two of the
# feed-forward part), and two in a head. The longest sum is that of the feed-forward part.
RUN = {"terms": SMALL["intermediate_size"], "steps": 4 * SMALL["num_hidden_layers"] + 2}
# A run and a pass back through it, or two runs.
BOTH_WAYS = {"terms": RUN["terms"], "steps": 2 * RUN["steps"]}
# As `RUN` and `BOTH_WAYS`, of the embedded model.
EMBEDDED = {"terms": 1536, "steps": 4 * 6 + 2}
EMBEDDED_BOTH_WAYS = {"terms": 1536, "steps": 2 * EMBEDDED["steps"]}
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


GROUPED: dict[str, Any] = {**SMALL, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 1}
GPT: dict[str, Any] = {
    "vocab_size": 512, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 128, "initializer_range": SPREAD,
}  # fmt: skip
ONE_GROUP: dict[str, Any] = {**GROUPED, "num_key_value_heads": 1}
IDS: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 2}

# decoder -> (its class, its config, its tokenizer)
DECODERS: dict[str, tuple[str, Callable[[], Any], str]] = {
    "gpt2": ("GPT2LMHeadModel", lambda: tf.GPT2Config(**GPT, **IDS), "text"),
    "gpt_neo": (
        "GPTNeoForCausalLM",
        lambda: tf.GPTNeoConfig(
            vocab_size=512, hidden_size=32, num_layers=2, num_heads=4, intermediate_size=48,
            max_position_embeddings=128, window_size=8, attention_types=[[["global", "local"], 1]],
            initializer_range=SPREAD, **IDS,
        ),
        "text",
    ),
    "gptj": ("GPTJForCausalLM", lambda: tf.GPTJConfig(**GPT, **IDS, rotary_dim=4), "text"),
    "gpt_neox": ("GPTNeoXForCausalLM", lambda: tf.GPTNeoXConfig(**SMALL, **IDS), "text"),
    "llama": ("LlamaForCausalLM", lambda: tf.LlamaConfig(**GROUPED, **IDS), "beginning"),
    "mistral": (
        "MistralForCausalLM", lambda: tf.MistralConfig(**GROUPED, **IDS, sliding_window=8), "beginning"
    ),
    "qwen2": ("Qwen2ForCausalLM", lambda: tf.Qwen2Config(**GROUPED, **IDS), "text"),
    "qwen3": ("Qwen3ForCausalLM", lambda: tf.Qwen3Config(**GROUPED, **IDS), "text"),
    "gemma": (
        "GemmaForCausalLM",
        lambda: tf.GemmaConfig(**ONE_GROUP, **IDS),
        "beginning",
    ),
    "gemma2": (
        "Gemma2ForCausalLM",
        lambda: tf.Gemma2Config(
            **GROUPED, **IDS, sliding_window=8, query_pre_attn_scalar=8,
            attn_logit_softcapping=5.0, final_logit_softcapping=3.0,
        ),
        "beginning",
    ),
    "gemma3_text": (
        "Gemma3ForCausalLM",
        lambda: tf.Gemma3TextConfig(
            **GROUPED, **IDS, sliding_window=8, query_pre_attn_scalar=8,
            layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        ),
        "beginning",
    ),
    "phi3": ("Phi3ForCausalLM", lambda: tf.Phi3Config(**GROUPED, **IDS), "beginning"),
    "olmo2": ("Olmo2ForCausalLM", lambda: tf.Olmo2Config(**GROUPED, **IDS), "text"),
    "smollm3": (
        "SmolLM3ForCausalLM", lambda: tf.SmolLM3Config(**GROUPED, **IDS, no_rope_layers=[1, 0, 1]), "text"
    ),
    "opt": (
        "OPTForCausalLM",
        lambda: tf.OPTConfig(
            vocab_size=512, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, ffn_dim=48,
            max_position_embeddings=128, word_embed_proj_dim=32, init_std=SPREAD, pad_token_id=1, **IDS,
        ),
        "beginning",
    ),
    "xglm": (
        "XGLMForCausalLM",
        lambda: tf.XGLMConfig(
            vocab_size=512, d_model=32, num_layers=3, attention_heads=4, ffn_dim=48, max_position_embeddings=128,
            init_std=SPREAD / 2, pad_token_id=1, **IDS,
        ),
        "beginning",
    ),
    "bloom": (
        "BloomForCausalLM",
        lambda: tf.BloomConfig(
            vocab_size=512, hidden_size=32, n_layer=3, n_head=4, initializer_range=SPREAD, **IDS
        ),
        "text",
    ),
    "mpt": (
        "MptForCausalLM",
        lambda: tf.MptConfig(
            vocab_size=512, d_model=32, n_layers=3, n_heads=4, expansion_ratio=2, max_seq_len=128,
            initializer_range=SPREAD, use_cache=True, **IDS,
        ),
        "text",
    ),
    "falcon": (
        "FalconForCausalLM",
        lambda: tf.FalconConfig(
            vocab_size=512, hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
            initializer_range=SPREAD, **IDS,
        ),
        "text",
    ),
    "gpt_oss": (
        "GptOssForCausalLM",
        lambda: tf.GptOssConfig(
            **GROUPED, **IDS, num_local_experts=3, num_experts_per_tok=2, sliding_window=8,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        ),
        "text",
    ),
    "mixtral": (
        "MixtralForCausalLM",
        lambda: tf.MixtralConfig(**GROUPED, **IDS, num_local_experts=3, num_experts_per_tok=2),
        "beginning",
    ),
}  # fmt: skip

STACKS: dict[str, Any] = {
    "vocab_size": 512, "d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64,
    "init_std": SPREAD / 3, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
}  # fmt: skip
T5: dict[str, Any] = {
    "vocab_size": 512, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 16, "pad_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 1, "initializer_factor": 1.0,
}  # fmt: skip


def _t5gemma(**changes: Any) -> Any:
    own: dict[str, Any] = {
        "sliding_window": 64, "query_pre_attn_scalar": 8, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0,
    }  # fmt: skip
    return tf.T5GemmaModuleConfig(**{**GROUPED, **IDS, **own, **changes})


START: dict[str, Any] = {"decoder_start_token_id": 2, "pad_token_id": 0, "eos_token_id": 3}


def _bert_to_bert() -> Any:
    of_decoder: dict[str, Any] = {
        "num_attention_heads": 2,
        "is_decoder": True,
        "add_cross_attention": True,
    }
    stacks: dict[str, Any] = {
        "encoder": tf.BertConfig(**{**SMALL, "num_hidden_layers": 2}).to_dict(),
        "decoder": tf.BertConfig(**{**SMALL, **of_decoder}).to_dict(),
    }
    return tf.EncoderDecoderConfig(**stacks, **START)


# encoder-decoder -> (its class, its config, its tokenizer)
ENCODER_DECODERS: dict[str, tuple[str, Callable[[], Any], str]] = {
    "t5": ("T5ForConditionalGeneration", lambda: tf.T5Config(**T5), "ending"),
    "mt5": (
        "MT5ForConditionalGeneration",
        lambda: tf.MT5Config(**T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
        "ending",
    ),
    "bart": ("BartForConditionalGeneration", lambda: tf.BartConfig(**STACKS), "bytes"),
    "mbart": ("MBartForConditionalGeneration", lambda: tf.MBartConfig(**STACKS), "unigram"),
    "marian": ("MarianMTModel", lambda: tf.MarianConfig(**STACKS), "ending"),
    "pegasus": ("PegasusForConditionalGeneration", lambda: tf.PegasusConfig(**STACKS), "ending"),
    "umt5": ("UMT5ForConditionalGeneration", lambda: tf.UMT5Config(**T5), "ending"),
    "m2m_100": ("M2M100ForConditionalGeneration", lambda: tf.M2M100Config(**STACKS), "unigram"),
    "plbart": ("PLBartForConditionalGeneration", lambda: tf.PLBartConfig(**STACKS), "ending"),
    "blenderbot": (
        "BlenderbotForConditionalGeneration",
        lambda: tf.BlenderbotConfig(**STACKS),
        "ending",
    ),
    "blenderbot-small": (
        "BlenderbotSmallForConditionalGeneration",
        lambda: tf.BlenderbotSmallConfig(**STACKS, scale_embedding=True),
        "bytes",
    ),
    "switch_transformers": (
        "SwitchTransformersForConditionalGeneration",
        lambda: tf.SwitchTransformersConfig(
            **T5,
            num_experts=3,
            num_sparse_encoder_layers=1,
            num_sparse_decoder_layers=1,
            expert_capacity=64,
        ),
        "ending",
    ),
    "t5gemma": (
        "T5GemmaForConditionalGeneration",
        lambda: tf.T5GemmaConfig(
            encoder=_t5gemma(num_hidden_layers=2),
            decoder=_t5gemma(num_attention_heads=2),
            vocab_size=512,
            **IDS,
        ),
        "ending",
    ),
    "encoder-decoder": ("EncoderDecoderModel", lambda: _bert_to_bert(), "wordpiece"),
}


if Version(tf.__version__) < Version("5.18"):
    del ENCODER_DECODERS["umt5"]  # refused: its decoder sees later tokens


def build(family: str, head: str = "ForMaskedLM", seed: int = 0, **changes: Any) -> tuple[Any, Any]:
    """A random model of ``family`` and its tokenizer; those that write come with their language-model head.

    Parameters
    ----------
    head : str
        The end of the class's name: ``"ForMaskedLM"``, ``"ForPreTraining"``, ``"Model"`` ...
    changes
        Attributes of the config.
    """
    writing = {**DECODERS, **ENCODER_DECODERS}
    if family in writing:
        named, config_of, kind = writing[family]
    else:
        prefix, config_of, kind = FAMILIES[family]
        named = f"{prefix}{head}"
    config = config_of()
    for name, value in changes.items():
        setattr(config, name, value)
    torch.manual_seed(seed)
    model = getattr(tf, named)(config).eval()
    with torch.no_grad():  # biases and norms start at 0 and 1, where many mistakes cannot be seen
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
        if family == "mobilebert":  # its small weights would leave attention uniform
            for name, parameter in model.named_parameters():
                if name.endswith(("self.query.weight", "self.key.weight")):
                    parameter.mul_(6)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_()
    return model, tokenizer(kind)
