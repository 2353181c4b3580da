"""Shared by the benchmarks: a bert-base shape with random weights, texts of a given length, timing."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

import attn_widget

MINI = Path(attn_widget.__file__).parent / "mini"
WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "the",
    "mat",
    "and",
    "looked",
    "at",
    "a",
    "bird",
    "in",
    "the",
    "old",
    "tree",
    "near",
    "our",
    "house",
    "while",
    "it",
    "rained",
]


def bert_base(attention: str = "sdpa", seed: int = 0) -> BertForMaskedLM:
    """bert-base-uncased's shape (12 x 12 heads, 768 wide) with random weights."""
    torch.manual_seed(seed)
    return BertForMaskedLM(BertConfig(attn_implementation=attention)).eval()


def gpt2(seed: int = 0) -> GPT2LMHeadModel:
    """GPT-2's shape (12 x 12 heads, 768 wide) with random weights, for `tokenizer`."""
    torch.manual_seed(seed)
    ends = {"bos_token_id": None, "eos_token_id": None}
    return GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer()), **ends)).eval()


def smollm2_135m(seed: int = 0) -> LlamaForCausalLM:
    """SmolLM2-135M's shape (30 x 9 heads in groups of 3, 576 wide) with random weights, for `tokenizer`."""
    torch.manual_seed(seed)
    shape = LlamaConfig(
        vocab_size=len(tokenizer()),
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
    )
    return LlamaForCausalLM(shape).eval()


def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(MINI)


def text_of(n_tokens: int) -> str:
    """A text with ``n_tokens`` tokens, the special ones included (each word is one token)."""
    return " ".join(WORDS[i % len(WORDS)] for i in range(n_tokens - 2))


def median_ms(action: Callable[[], Any], repeats: int, warm_up: int = 1) -> float:
    """Median wall-clock milliseconds of ``action``."""
    for _ in range(warm_up):
        action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    )
