"""Write runs for the dev page: packs and slices out of plain transformers, eager attention.

``python js/dev/make_fixture.py`` fills ``js/dev/fixtures/<name>/`` with ``pack.awp``, ``arrays.bin`` and
``arrays.json``. The numbers come from ``output_attentions=True``, independently of the package's own capture.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

HERE = Path(__file__).parent
MODEL = HERE.parent.parent / "attn_widget" / "mini"
THUMB_SIDE = 24
WEIGHT_CELLS = 40_000
TOP_K = 5

PARAGRAPH = (
    "The Amazon rainforest covers most of the Amazon basin of South America. This basin encompasses seven million "
    "square kilometres, of which five and a half million are covered by the rainforest. The region includes territory "
    "belonging to nine nations. The majority of the forest is contained within Brazil, with sixty per cent of the "
    "rainforest, followed by Peru with thirteen per cent, Colombia with ten per cent, and with minor amounts in "
    "Bolivia, Ecuador, Guyana, Suriname and Venezuela. Four nations have names containing the word Amazon. "
)
TEXTS: dict[str, tuple[str, str | None]] = {
    "cat": ("The cat sat on the mat.", None),
    "pair": (
        "Who wrote the transformer paper?",
        "Vaswani and colleagues published it in 2017, at NeurIPS.",
    ),
    "sixty": (
        "When the representatives of the two embattled neighbourhoods finally met, they didn't shake hands; "
        "instead, each of them unrolled a hand-drawn map of the riverbank, pointed at the same abandoned watermill, "
        "and said, almost in unison, that it had belonged to their grandparents since 1887.",
        None,
    ),
    "n128": (PARAGRAPH * 2, None),
    "long": (PARAGRAPH * 4, None),
    "huge": (PARAGRAPH * 6, None),
    "hard": (
        "שלום עולם 你好世界 👩‍🚀🚀 naïve <script>alert(1)</script>\n"
        "Pneumonoultramicroscopicsilicovolcanoconiosis",
        None,
    ),
    "two": ("", None),
}
MAX_TOKENS = {"n128": 128, "long": 300, "huge": 512, "hard": 128}


def pack(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """``AWP1`` as in docs/protocol.md."""

    def align(offset: int) -> int:
        return -(-offset // 8) * 8

    header, size = b"", 0
    while True:
        offset, entries = align(8 + size), []
        for name, array in arrays.items():
            entries.append(
                {
                    "name": name,
                    "dtype": array.dtype.name,
                    "shape": list(array.shape),
                    "offset": offset,
                }
            )
            offset = align(offset + array.nbytes)
        header = json.dumps({"meta": meta, "arrays": entries}, ensure_ascii=False).encode()
        if len(header) == size:
            break
        size = len(header)
    out = bytearray(b"AWP1" + len(header).to_bytes(4, "little") + header)
    for array in arrays.values():
        out += b"\0" * (align(len(out)) - len(out)) + array.tobytes()
    return bytes(out)


def columns(encoding: Any, texts: tuple[str, str | None], tokenizer: Any) -> dict[str, list[Any]]:
    ids = encoding["input_ids"]
    reached = [0, 0]
    table: dict[str, list[Any]] = {
        name: []
        for name in ("text", "surface", "before", "id", "start", "end", "segment", "special")
    }
    for i, token in enumerate(tokenizer.convert_ids_to_tokens(ids)):
        start, end = encoding["offset_mapping"][i]
        segment = encoding["token_type_ids"][i]
        special = encoding["special_tokens_mask"][i] == 1
        text = texts[segment] or ""
        before = "" if special else text[reached[segment] : start]
        if not special:
            reached[segment] = max(reached[segment], end)
        row = (
            token,
            token if special else text[start:end],
            before,
            ids[i],
            start,
            end,
            segment,
            special,
        )
        for name, value in zip(table, row, strict=True):
            table[name].append(value)
    return table


def metrics(weights: np.ndarray) -> dict[str, np.ndarray]:
    n = weights.shape[-1]
    flat = weights.reshape(*weights.shape[:2], -1).astype(np.float64)
    entropy = -np.where(flat > 0, flat * np.log(np.where(flat > 0, flat, 1)), 0).sum(-1)
    figures = {
        "confidence_max": flat.max(-1),
        "confidence_avg": weights.max(-1).mean(-1),
        "focus_entropy": entropy,
        "focus_normalized": entropy / (n * np.log(n)),
        "sparsity": (flat < 0.01).mean(-1),
        "distribution_median": np.median(flat, -1),
        "uniformity": flat.std(-1),
    }
    return {key: value.astype(np.float32) for key, value in figures.items()}


def run(name: str, model: Any, tokenizer: Any) -> None:
    text, pair = TEXTS[name]
    encoding = tokenizer(
        text,
        pair,
        truncation=True,
        max_length=MAX_TOKENS.get(name, 512),
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
    )
    inputs = {
        key: torch.tensor([encoding[key]])
        for key in ("input_ids", "token_type_ids", "attention_mask")
    }
    taken: dict[int, list[np.ndarray]] = {}
    hooks = []
    for layer, block in enumerate(model.bert.encoder.layer):
        taken[layer] = []
        for part in ("query", "key", "value"):
            projection = getattr(block.attention.self, part)
            hooks.append(
                projection.register_forward_hook(
                    lambda _m, _i, out, layer=layer: taken[layer].append(out[0].numpy())
                )
            )
    with torch.no_grad():
        out = model(**inputs, output_attentions=True)
    for hook in hooks:
        hook.remove()
    weights = torch.cat(out.attentions).numpy()
    n_layers, n_heads, n, _ = weights.shape
    dim = model.config.hidden_size // n_heads
    q, k, v = (
        np.stack(
            [taken[i][part].reshape(n, n_heads, dim).transpose(1, 0, 2) for i in range(n_layers)]
        )
        for part in range(3)
    )
    scores = np.einsum("lhid,lhjd->lhij", q, k) / np.sqrt(dim)

    logits = out.logits[0].double()
    probabilities = logits.softmax(-1)
    top = logits.topk(TOP_K, -1)
    ids = torch.tensor(encoding["input_ids"])
    own = logits.gather(1, ids[:, None])
    head_max = weights.max((2, 3))
    side = min(n, THUMB_SIDE)
    starts = np.arange(side) * n // side
    pooled = np.maximum.reduceat(np.maximum.reduceat(weights, starts, axis=2), starts, axis=3)
    figures = metrics(weights)
    arrays = {
        "thumbs": np.ceil(pooled / head_max[..., None, None] * 255).astype(np.uint8),
        "head_max": head_max.astype(np.float32),
        **{f"metric:{key}": value for key, value in figures.items()},
        **({"weights": weights[0, 0]} if n * n <= WEIGHT_CELLS else {}),
        "prediction_ids": top.indices.int().numpy(),
        "prediction_probabilities": probabilities.gather(1, top.indices).float().numpy(),
        "prediction_logits": top.values.float().numpy(),
        "logit_max": logits.max(-1).values.float().numpy(),
        "log_sum_exp": logits.logsumexp(-1).numpy(),
        "original_rank": ((logits > own).sum(-1) + 1).int().numpy(),
        "original_probability": probabilities.gather(1, ids[:, None])[:, 0].float().numpy(),
    }
    config = model.config
    listed = sorted({int(i) for i in top.indices.flatten()})
    words = encoding.word_ids()
    if pair is not None:
        first = max(
            (
                w
                for w, s in zip(words, encoding["token_type_ids"], strict=True)
                if not s and w is not None
            )
        )
        words = [
            None if w is None else w + (first + 1) * s
            for w, s in zip(words, encoding["token_type_ids"], strict=True)
        ]
    meta = {
        "version": 1,
        "model": {
            "name": "attn-widget-mini",
            "family": "bert",
            "n_layers": n_layers,
            "n_heads": n_heads,
            "head_dim": dim,
            "hidden_size": config.hidden_size,
            "vocab_size": config.vocab_size,
            "max_length": config.max_position_embeddings,
            "revision": None,
            "has": {"mlm": True, "nsp": False, "classifier": False, "scores": True, "qkv": True},
        },
        "text": text,
        "text_pair": pair,
        "truncated": {"limit": n, "length": n + 9} if name == "hard" else None,
        "tokens": columns(encoding, (text, pair), tokenizer),
        "metrics": {"keys": list(figures), "tau": 0.01},
        "thumb": side,
        "predictions": {
            "mode": "as_is",
            "top_k": TOP_K,
            "vocabulary": dict(
                zip(map(str, listed), tokenizer.convert_ids_to_tokens(listed), strict=True)
            ),
        },
        "selected": {"layer": 0, "head": 0} if n * n <= WEIGHT_CELLS else None,
        "versions": {"attn_widget": "dev"},
    }
    folder = HERE / "fixtures" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pack.awp").write_bytes(pack(meta, arrays))
    place: dict[str, Any] = {"scaling": 1 / np.sqrt(dim), "token_word": words, "arrays": {}}
    with (folder / "arrays.bin").open("wb") as file:
        for key, array in {"weights": weights, "scores": scores, "q": q, "k": k, "v": v}.items():
            place["arrays"][key] = {"offset": file.tell(), "shape": list(array.shape)}
            file.write(np.ascontiguousarray(array, dtype=np.float32).tobytes())
        mean = np.ascontiguousarray(weights.mean(1), dtype=np.float32)
        place["arrays"]["mean"] = {"offset": file.tell(), "shape": [n_layers, 1, n, n]}
        file.write(mean.tobytes())
        place["arrays"]["logits"] = {"offset": file.tell(), "shape": [n, config.vocab_size]}
        file.write(out.logits[0].numpy().tobytes() if n <= 100 else b"")
    (folder / "arrays.json").write_text(json.dumps(place))
    print(name, n)


def main() -> None:
    torch.set_num_threads(2)
    model = AutoModelForMaskedLM.from_pretrained(MODEL, attn_implementation="eager").eval().float()
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    for name in TEXTS:
        run(name, model, tokenizer)


if __name__ == "__main__":
    main()
