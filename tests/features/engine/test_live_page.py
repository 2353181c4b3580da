"""Pages whose model runs in them, as they are written: what goes along, and what is refused."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.__main__ import main
from attn_widget.errors import AttnWidgetError, InputError, InputTypeError, NotAvailableError
from attn_widget.features.engine.live import page_model
from attn_widget.features.engine.rounding import rounding_of
from attn_widget.model.places import MINI
from tests.unit import tiny_models

TEXT = "The cat sat on the mat."


def shown(family: str = "bert", head: str = "ForMaskedLM", **options: Any) -> Any:
    model = tiny_models.build(family, head)
    return aw.show(TEXT, model=model, tagger=None, progress=False, **options)


def test_a_page_with_an_engine_holds_the_run_and_the_weights(tmp_path: Path) -> None:
    path = aw.to_html(shown(quantity="mixing", view="heads"), tmp_path / "p.html", engine=True)
    page = path.read_text(encoding="utf-8")
    assert page.count('class="aw-weights"') == 1
    assert "wasm-unsafe-eval" in page
    assert 'data-chunk="paint"' in page
    plain = aw.to_html(shown(), tmp_path / "q.html").read_text(encoding="utf-8")
    assert "aw-weights" not in plain
    assert "wasm-unsafe-eval" not in plain
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', plain)
    assert policy is not None
    assert re.fullmatch(
        r"default-src 'none'; script-src( 'sha256-\S+'){4}; style-src( 'sha256-\S+'){2}; "
        r"img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'",
        policy[1].replace("&#x27;", "'"),
    )


def test_a_page_with_the_embedded_model_carries_its_notices(tmp_path: Path) -> None:
    widget = aw.show(TEXT, tagger=None, progress=False)
    page = aw.to_html(widget, tmp_path / "p.html", engine=True).read_text(encoding="utf-8")
    notices = (MINI / "NOTICE").read_text(encoding="utf-8")
    assert page.count(f"<!--\n{notices}-->") == 1
    model = page_model(widget.analysis.run.encoder, [(TEXT, None)], folder=tmp_path)
    script = (tmp_path / model.facts["beside"]["src"]).read_text(encoding="utf-8")
    assert script.startswith(f"/*\n{notices}*/\n(globalThis")
    assert "-->" not in notices and "*/" not in notices
    other = aw.to_html(shown(), tmp_path / "q.html", engine=True).read_text(encoding="utf-8")
    assert "MiniLM" not in other


def test_the_page_says_what_float16_moved(tmp_path: Path) -> None:
    model, tokenizer = tiny_models.build("bert", "ForMaskedLM")
    analysis = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    inputs = analysis.run.encoding.inputs
    half = copy.deepcopy(model)
    for one in half.parameters():
        if one.ndim > 1:
            one.data = one.data.half().float()
    plain = copy.deepcopy(model)
    for one in (plain, half):
        one.set_attn_implementation("eager")
    with torch.no_grad():
        a, b = (one.bert(**inputs, output_attentions=True).attentions for one in (plain, half))
    moved = max(float((x - y).abs().max()) for x, y in zip(a, b, strict=True))
    assert moved > 1e-6
    encoder = analysis.run.encoder
    found = rounding_of(encoder, [(TEXT, None)])
    np.testing.assert_allclose(found["weight"], moved, rtol=1e-2)
    path = aw.to_html(shown(), tmp_path / "p.html", engine=True)
    facts = facts_of(path)
    assert facts["rounding"] == pytest.approx(found)
    assert facts["tagger"] is None
    assert facts["architecture"]["sizes"]["hidden"] == model.config.hidden_size
    again = aw.load((half, tokenizer), progress=False)
    assert rounding_of(again, [(TEXT, None)]) == {"weight": 0, "rollout": 0, "score": 0}


def facts_of(page: Path) -> dict[str, Any]:
    found = re.search(r'id="aw-engine">([^<]*)<', page.read_text(encoding="utf-8"))
    assert found is not None
    return dict(json.loads(found[1]))


@pytest.mark.parametrize(
    ("head", "kind"), [("Model", None), ("ForSequenceClassification", "first")]
)
def test_a_model_needs_no_masked_lm_head(tmp_path: Path, head: str, kind: str | None) -> None:
    page = aw.to_html(shown("bert", head), tmp_path / "p.html", engine=True)
    found = facts_of(page)["classifier"]
    assert (found and found["kind"]) == kind


def test_widgets_of_one_page_share_an_engine_if_they_share_a_model(tmp_path: Path) -> None:
    model = tiny_models.build("bert", "ForMaskedLM")
    one, two = (aw.show(text, model=model, tagger=None, progress=False) for text in (TEXT, "A b."))
    page = aw.to_html([one, two], tmp_path / "p.html", engine=True).read_text(encoding="utf-8")
    assert page.count('class="aw-weights"') == 1
    assert page.count('data-chunk="paint"') == 2
    with pytest.raises(InputError, match="these have several"):
        aw.to_html([one, shown()], tmp_path / "q.html", engine=True)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"views": ["why"]}, InputError, "no view 'why'"),
        ({"layers": [0]}, InputError, "computes all layers and heads"),
        ({"why": [aw.target(position=2, token=17)]}, InputError, "explains no target"),
        ({"engine": 1}, InputTypeError, "expected True or False"),
        ({"engine": "lite"}, InputTypeError, "expected True or False"),
    ],
)
def test_what_an_engine_cannot_do_is_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, Any], error: type[AttnWidgetError], message: str
) -> None:
    chosen: dict[str, Any] = {"engine": True, **options}
    with pytest.raises(error, match=message):
        aw.to_html(shown(), tmp_path / "p.html", **chosen)
    assert list(tmp_path.iterdir()) == []


def test_a_distilbert_has_a_page_too(tmp_path: Path) -> None:
    path = aw.to_html(shown("distilbert"), tmp_path / "p.html", engine=True)
    assert facts_of(path)["architecture"]["sizes"]["hidden"] == 32


def test_models_and_runs_that_an_engine_cannot_run_are_named(tmp_path: Path) -> None:
    path = tmp_path / "p.html"
    for family in ("roberta", "albert"):
        with pytest.raises(NotAvailableError, match="cannot run"):
            aw.to_html(shown(family), path, engine=True)
    with pytest.raises(NotAvailableError, match="no head like BertForTokenClassification"):
        aw.to_html(shown("bert", "ForTokenClassification"), path, engine=True)
    widget = shown()
    mean = aw.AttentionWidget(widget.analysis.ablate([(0, 0)], "mean"))
    with pytest.raises(NotAvailableError, match="means of heads"):
        aw.to_html(mean, path, engine=True)
    assert not path.exists()


def test_the_command_line_refuses_what_does_not_go_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for line in (["cat", "--engine"], ["cat", "--engine", "-o", "p.html", "--masked"]):
        with pytest.raises(SystemExit):
            main(line)
        assert "--engine" in capsys.readouterr().err
