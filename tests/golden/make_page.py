"""Write ``page.json``: whole saved runs, and what the kernel answers to every kind of question about them.

Run ``python -m tests.golden.make_page`` after a change of what pages hold, and look at the difference.
``js/tests/snapshot.test.ts`` asks a `SavedSource` the same questions.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import attn_widget as aw
from attn_widget.features.why.methods import METHODS
from attn_widget.features.why.slices import described
from attn_widget.page.compress import deflate
from attn_widget.page.saved_run import saved_run
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection
from tests.golden.make import analysis as held
from tests.unit.tiny_models import build

PATH = Path(__file__).with_name("page.json")
TEXT = "The cat sat. A dog </script> ran!"
Request = dict[str, Any]

# How a page answers: word for word; out of the codes, within the stated errors; or not at all.
EXACT, CODED, REFUSED = "exact", "coded", "refused"

RECORDED: tuple[Request, ...] = (
    {"kind": "language"},
    {"kind": "specialization"},
    {"kind": "patterns"},
    {"kind": "layer_change"},
    {"kind": "roles", "seed": 0},
    {"kind": "roles"},
    {"kind": "metrics", "tau": 0.01},
    {"kind": "metrics", "tau": "uniform"},
    {"kind": "sentences", "aggregation": "mass"},
    {"kind": "sentences", "aggregation": "max"},
    {"kind": "sentences", "aggregation": "mass", "layer": 1},
    {"kind": "first_token", "head": "mean"},
)
OF_A_MODEL: tuple[Request, ...] = (
    {"kind": "architecture"},
    {"kind": "hidden_path"},
    {"kind": "residuals"},
)
OF_A_LANGUAGE_MODEL: tuple[Request, ...] = (
    {"kind": "predictions", "mode": "as_is", "top_k": 20},
    {"kind": "predictions", "mode": "as_is", "top_k": 5},
    {"kind": "predictions", "mode": "masked", "top_k": 3},
    {"kind": "softmax", "position": 2},
    {"kind": "softmax", "position": 0, "mode": "masked"},
    {"kind": "next_sentence"},
)
TARGET: dict[str, Any] = {"position": 3, "token": 351, "against": 117, "masked": True}
OF_A_TARGET: tuple[Request, ...] = (
    {"kind": "targets"},
    {"kind": "contributions", "target": TARGET, "method": "decomposition"},
    {"kind": "contributions", "target": {"next_sentence": True}, "method": "occlusion"},
    {"kind": "trust", "target": TARGET, "methods": [*METHODS]},
    {"kind": "head_effects", "target": TARGET},
    {"kind": "logit_lens", "target": TARGET},
)
OF_A_DECODER: Request = {"kind": "components", "target": TARGET}
OF_THE_NEXT: dict[str, Any] = {"position": 3, "token": 51, "against": 17}
WINDOWS: tuple[Request, ...] = (
    {"kind": "tensor", "name": "token", "cols": [0, 64]},
    {"kind": "tensor", "name": "hidden", "layer": 3, "cols": [0, 64]},
    {"kind": "tensor", "name": "attention_output", "layer": 2, "cols": [0, 64]},
    {"kind": "tensor", "name": "ffn_activation", "layer": 1, "cols": [0, 96]},
    {"kind": "tensor", "name": "query", "layer": 1, "head": 3, "cols": [0, 48]},
    {"kind": "qkv", "layer": 1, "head": 3},
)
# Of the focus token, where there is no room for whole tensors.
ROWS: tuple[Request, ...] = (
    {"kind": "tensor", "name": "token", "rows": [1, 2]},
    {"kind": "tensor", "name": "hidden", "layer": 3, "rows": [1, 2]},
    {"kind": "tensor", "name": "ffn_activation", "layer": 1, "rows": [1, 2]},
    {"kind": "tensor", "name": "query", "layer": 1, "head": 3, "rows": [1, 2]},
    {"kind": "tensor", "name": "head_output", "layer": 0, "head": 2, "rows": [1, 2]},
)
OTHER_ROWS: tuple[Request, ...] = tuple({**request, "rows": [2, 3]} for request in ROWS)
COMPUTED: tuple[Request, ...] = (
    {"kind": "weights", "layer": 1, "head": 1},
    {"kind": "weights", "layer": 0, "head": "mean"},
    {"kind": "weights", "layer": 1, "head": 0, "rows": [1, 3]},
    {"kind": "rollout", "layer": 1},
    {"kind": "rollout", "layer": 0, "rows": [0, 2]},
    {"kind": "sentences", "aggregation": "mass", "layer": 1, "head": 1},
    {"kind": "sentences", "aggregation": "max", "layer": 0, "head": 1},
    {"kind": "drill", "aggregation": "mass", "a": 0, "b": 0},
    {"kind": "drill", "aggregation": "max", "a": 0, "b": 0, "layer": 1},
    {"kind": "first_token", "head": 1},
)
SCORES: tuple[Request, ...] = (
    {"kind": "scores", "layer": 1, "head": 1},
    {"kind": "scores", "layer": 0, "head": 0, "rows": [2, 4]},
)
LENGTHS: tuple[Request, ...] = ({"kind": "value_lengths", "layer": 1},)
MIXING: tuple[Request, ...] = (
    {"kind": "mixing", "quantity": "norms", "layer": 1},
    {"kind": "mixing", "quantity": "norms", "layer": 1, "head": 2},
    {"kind": "mixing", "quantity": "mixing", "layer": 0},
    {"kind": "mixing", "quantity": "alti", "layer": 2, "rows": [1, 3]},
    {"kind": "mixing", "quantity": "value_zeroing", "layer": 1},
    {"kind": "mixing_rollout", "quantity": "norms", "layer": 1},
    {"kind": "mixing_rollout", "quantity": "alti", "layer": 2},
)
NO_MIXING: tuple[Request, ...] = (
    {"kind": "mixing_pair", "layer": 1, "query": 2, "key": 1},
    {"kind": "mixing", "quantity": "value_zeroing", "layer": 0},
    {"kind": "mixing_rollout", "quantity": "value_zeroing", "layer": 1},
)
NEW_WORK: tuple[Request, ...] = (
    {"kind": "flow", "token": 1},
    {"kind": "roles", "seed": 7},
    {"kind": "metrics", "tau": 0.05},
    {"kind": "weights", "layer": 9, "head": 0},
    {"kind": "intact"},
    {"kind": "nothing"},
)


def runs() -> dict[str, tuple[aw.Analysis, dict[str, Any], list[tuple[Request, str]]]]:
    """By name: a run, how it is saved, and questions with the kind of answer that a page has."""
    pretrained = build("bert", "ForPreTraining")
    model = aw.analyze(TEXT, "It slept.", model=pretrained, tagger=None, progress=False)
    model.predictions(mode="masked", top_k=3)
    classes = aw.analyze(
        TEXT, model=build("bert", "ForSequenceClassification"), tagger=None, progress=False
    )

    decoder = aw.analyze(TEXT, model=build("gpt2"), tagger=None, progress=False)
    written = aw.target(**OF_THE_NEXT)

    def told(how: str, *lists: tuple[Request, ...]) -> list[tuple[Request, str]]:
        return [(request, how) for requests in lists for request in requests]

    whole = told(EXACT, RECORDED, OF_A_MODEL, OF_A_LANGUAGE_MODEL, OF_A_TARGET, WINDOWS, LENGTHS)
    silent = PageSpec(why=[])  # a random model's likeliest words are nearly alike
    explained = PageSpec(why=[aw.target(**TARGET), aw.target(next_sentence=True)])
    asked = [*told(CODED, COMPUTED, SCORES, MIXING), *told(REFUSED, NEW_WORK, NO_MIXING)]
    missing = told(REFUSED, ({"kind": "beside"}, {"kind": "classification"}, OF_A_DECODER))
    of_classes: tuple[Request, ...] = (
        {"kind": "classification"},
        {"kind": "class_gradient", "label": 0, "head": "mean"},
    )
    return {
        "factors and tensors": (model, {"spec": explained}, [*whole, *asked, *missing]),
        "factors without tensors": (
            model,
            {"spec": replace(silent, tensors=0)},
            told(CODED, ({"kind": "qkv", "layer": 1, "head": 3},))
            + told(EXACT, ROWS)
            + told(REFUSED, WINDOWS[:-1], OTHER_ROWS),
        ),
        # Scores are saved wherever there are queries and keys, however little room there is.
        "coarse factors": (
            model,
            {"spec": replace(silent, tensors=0, most=0)},
            told(CODED, COMPUTED, SCORES) + told(REFUSED, MIXING),
        ),
        "coarse weights": (
            held(),
            {"spec": PageSpec(tensors=0, most=0)},
            told(CODED, COMPUTED) + told(REFUSED, SCORES, MIXING),
        ),
        "held weights and a mask": (
            held(),
            {"spec": PageSpec(tensors=0)},
            told(CODED, COMPUTED) + told(REFUSED, OF_A_MODEL, SCORES, NEW_WORK, MIXING),
        ),
        "classes": (classes, {"spec": replace(silent, tensors=0)}, told(EXACT, of_classes)),
        # Numbers of the cells that the mask allows, and no others.
        "a decoder": (
            decoder,
            {"spec": PageSpec(why=[written], views=["attention", "sentences", "why"])},
            told(EXACT, LENGTHS, ({"kind": "components", "target": OF_THE_NEXT},))
            + told(CODED, COMPUTED, SCORES, MIXING[1:5]),
        ),
    }


def golden() -> list[dict[str, Any]]:
    """One entry a page."""

    def encoded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    pages: list[dict[str, Any]] = []
    for name, (analysis, options, asked) in runs().items():
        saved = saved_run(RunSource(analysis), Selection(layer=1, head=0), **options).snapshot
        slices: list[dict[str, Any]] = []
        for request, how in asked:
            # The page's windows are wider than these tensors, and the kernel is asked for what there is.
            narrow = {key: value for key, value in request.items() if key != "cols"}
            reply, buffers = answer(analysis, narrow)
            if request["kind"] == "targets":  # those that were saved, whatever the kernel proposes
                named = [described(analysis, one) for one in options["spec"].why]
                reply = {"ok": True, "data": {"targets": named}, "arrays": []}
            one = {"request": request, "how": how}
            if how != REFUSED:
                one |= {"reply": reply, "buffers": [encoded(data) for data in buffers]}
            slices.append(one)
        chunks = {key: deflate(chunk).decode() for key, chunk in saved.chunks.items()}
        paint = deflate(first_paint(analysis, 1, 0)).decode()
        pages.append({"name": name, "chunks": chunks, "paint": paint, "slices": slices})
    return pages


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden(), indent=1, ensure_ascii=True) + "\n")
    print(f"wrote {PATH.name}, {PATH.stat().st_size:,} bytes")
