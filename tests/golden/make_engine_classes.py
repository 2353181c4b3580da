"""Write ``engine_classes.json``: classifiers over the tiny encoder of ``engine.json``, and what the kernel answers.

Run ``python -m tests.golden.make_engine_classes`` after a change of the heads, and look at the difference.
"""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

import attn_widget as aw
from attn_widget.features.engine.classifier import class_reader
from attn_widget.features.engine.live import packed
from attn_widget.features.inside.slices import architecture
from attn_widget.features.tasks.cnn import TextCNNConfig, TextCNNForSequenceClassification
from attn_widget.features.tasks.mean import MeanPoolingConfig, MeanPoolingForSequenceClassification
from tests.golden.make_engine import SETTINGS, write_model
from tests.golden.make_engine_source import answered, painted

PATH = Path(__file__).with_name("engine_classes.json")
REQUESTS: tuple[dict[str, Any], ...] = (
    {"kind": "classification"},
    {"kind": "first_token", "head": "mean"},
    {"kind": "intact"},
)
LABELS = {
    "id2label": {0: "bad", 1: "so so", 2: "good"},
    "label2id": {"bad": 0, "so so": 1, "good": 2},
}
TEXTS: tuple[tuple[str, list[tuple[int, int]]], ...] = (("a bad cab", []), ("b", []), ("a bad cab c", [(0, 1)]))  # fmt: skip


def models() -> list[Any]:
    """A head of each kind, with large random weights; float16 holds the encoder's matrices."""
    torch.manual_seed(5)
    encoder = {key: value for key, value in SETTINGS.items() if key != "architectures"}
    single: dict[str, Any] = {**LABELS, "problem_type": "single_label_classification"}
    several: dict[str, Any] = {**LABELS, "problem_type": "multi_label_classification"}
    found: list[Any] = [
        MeanPoolingForSequenceClassification(MeanPoolingConfig(encoder=encoder, **single)),
        TextCNNForSequenceClassification(TextCNNConfig(encoder=encoder, filters=3, **several)),
        BertForSequenceClassification(BertConfig(**encoder, **single)),
    ]
    with torch.no_grad():
        for model in found:
            for one in model.parameters():
                one.add_(0.3 * torch.randn_like(one)).copy_(one.half())
            model.eval()
    return found


def golden() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tiny"
        folder.mkdir()
        write_model(folder)
        tokenizer = AutoTokenizer.from_pretrained(str(folder))
        for model in models():
            encoder = aw.load((model, tokenizer), progress=False)
            runs: list[dict[str, Any]] = []
            for text, off in TEXTS:
                run = aw.analyze(text, model=encoder, tagger=None, progress=False)
                run = run.ablate(off) if off else run
                slices = [answered(run, request) for request in REQUESTS]
                runs.append({**painted(run), "slices": slices})
            run = aw.analyze("a", model=encoder, tagger=None, progress=False)
            facts = {
                "classifier": class_reader(run),
                "architecture": architecture(run, {"kind": "architecture"})[0],
            }
            file = base64.b64encode(packed(encoder)).decode()
            found.append({"file": file, "facts": facts, "runs": runs})
    return found


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden(), ensure_ascii=True, separators=(",", ":")) + "\n")
