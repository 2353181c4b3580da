"""Pages and outputs inside the templates of a site (Jinja, Django): they come out as they went in."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jinja2
import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.model.places import MINI
from attn_widget.page import base85
from attn_widget.page.output import outputs

TEXT = "{{ 6 * 7 }} {% for a in b %} {# gone #} ${x} {{{{"
OPENINGS = re.compile(r"\{[{%#]")  # the three of Jinja and of Django's templates


@cache
def small(head: str = "ForMaskedLM") -> tuple[Any, Any]:
    """A narrow model of random weights with the embedded model's tokens, braces among them."""
    tokenizer = tf.AutoTokenizer.from_pretrained(MINI)
    config = tf.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )  # fmt: skip
    torch.manual_seed(0)
    return getattr(tf, f"Bert{head}")(config).eval(), tokenizer


def rendered(page: str) -> str:
    """As a template without variables gives it back; Jinja counts an unknown tag as an error."""
    environment = jinja2.Environment(keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(page).render()


def assert_plain(page: str) -> None:
    assert OPENINGS.findall(page) == []
    assert rendered(page) == page
    if find_spec("django") is not None:  # in the environments of scripts/versions.py
        from django.template import Context, Engine

        assert Engine().from_string(page).render(Context()) == page


def test_digits_are_no_markup_of_documents_and_templates() -> None:
    digits = base85.DIGITS.tobytes().decode()
    assert len(set(digits)) == len(digits) == base85.BASE
    assert set(digits).isdisjoint("{}<>&\"'\\` ")
    data = bytes(range(256)) * 40
    assert base85.decode(base85.encode(data)) == data


@pytest.mark.parametrize("engine", [False, True])
def test_a_page_comes_out_of_a_template_as_it_went_in(engine: bool, tmp_path: Path) -> None:
    widget = aw.show(TEXT, model=small(), tagger=None, progress=False)
    path = widget.to_html(tmp_path / "page.html", title=TEXT, engine=engine)
    page = path.read_bytes().decode()
    assert_plain(page)
    index = re.search(r'id="aw-index">(.*?)</script>', page)
    assert index is not None and json.loads(index[1])["runs"][0]["title"] == TEXT
    assert_plain(widget.as_html(title=TEXT))
    widget.close()


def test_pages_and_outputs_of_every_result_come_out_of_a_template_as_they_went_in(
    tmp_path: Path,
) -> None:
    other = f"{TEXT} a dog"
    given: dict[str, Any] = {"model": small(), "progress": False}
    embedder: dict[str, Any] = {"model": small("Model"), "pooling": "mean", "progress": False}
    results = {
        "run": aw.analyze(TEXT, **given),
        "profile": aw.profile([TEXT, other], tagger=None, **given),
        "comparison": aw.compare(TEXT, other, tagger=None, **given),
        "similarity": aw.similarity(TEXT, other, **embedder),
        "ranking": aw.similarity(TEXT, [other, "rain"], **embedder),
    }
    for name, result in results.items():
        widget = aw.show(result)
        assert_plain(outputs(widget._shown, code=True)["text/html"])
        assert_plain(aw.to_html(result, tmp_path / f"{name}.html").read_bytes().decode())
        widget.close()
    report = aw.report([TEXT, other], tmp_path / "report.html", **given)
    assert_plain(report.read_bytes().decode())
