"""The example that writes dates: its texts, a few steps of its training, and the trained model in the package."""

from __future__ import annotations

import datetime
import json
import random
import re
import socket
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

import attn_widget as aw
from attn_widget.analysis.opening import opening
from attn_widget.errors import ModelLoadError
from attn_widget.model import places

PATH = Path(__file__).parents[2] / "examples" / "dates.py"


@pytest.fixture(scope="module")
def dates() -> Any:
    spec = spec_from_file_location("dates", PATH)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_dates_are_written_in_words_and_some_are_never_trained_on(dates: Any) -> None:
    for day, ending in (
        (1, "st"),
        (2, "nd"),
        (3, "rd"),
        (4, "th"),
        (11, "th"),
        (13, "th"),
        (22, "nd"),
    ):
        date = datetime.date(2001, 2, day)
        assert (
            dates.in_words(date, dates.ORDERS[3], short=False)
            == f"the {day}{ending} of February 2001"
        )
    assert dates.in_words(date, dates.ORDERS[2], short=True) == "Thursday, 22 Feb 2001"
    drawn = [set(dates.pairs(random.Random(0), 2000, held_out=held)[1]) for held in (True, False)]
    assert not drawn[0] & drawn[1] and min(map(len, drawn)) > 1000


def test_a_few_steps_make_the_loss_smaller_and_the_widget_reads_the_letters(
    dates: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(0)
    tokenizer = dates.letters()
    model = dates.network(len(tokenizer), width=16)
    words, written = dates.pairs(random.Random(3), 64, held_out=True)
    inputs = tokenizer(words, padding=True, return_tensors="pt", return_token_type_ids=False)
    labels = tokenizer(written, return_tensors="pt")["input_ids"]

    def loss() -> float:
        with torch.no_grad():
            return float(model(**inputs, labels=labels).loss)

    before = loss()
    dates.train(model, tokenizer, steps=20, batch=16)
    assert loss() < before - 0.5 and "step     0" in capsys.readouterr().out
    assert 0 <= dates.exact(model, tokenizer, words[:4], written[:4]) <= 1
    a = aw.analyze(
        words[0], output=written[0], model=(model, tokenizer), tagger=None, progress=False
    )
    assert [token.surface for token in a.tokens[1:]] == list(written[0])
    assert [token.surface for token in a.of("encoder").tokens[:-1]] == list(words[0])


# The model in the package


def test_it_opens_by_name_without_a_network_or_foreign_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    (tmp_path / "dates").mkdir()  # a folder of this name is "./dates"
    monkeypatch.chdir(tmp_path)
    aw.unload()
    model = aw.load("dates", progress=False)
    assert repr(model) == "<Encoder 'dates', bart, 2 layers of 4 heads, 96 wide>"
    assert aw.load("Dates", progress=False) is model and model.dtype == torch.float32
    a = aw.analyze("the 8th of November 1987", generate=12, model="dates", progress=False)
    assert a.text == "1987-11-08" and "".join(t.surface for t in a.model.generated) == a.text
    with pytest.raises(ModelLoadError, match=r"has no config\.json|its config\.json"):
        aw.load("./dates", progress=False)
    assert isinstance(model.tokenizer, PreTrainedTokenizerFast)
    settings = [json.loads(path.read_text()) for path in places.INCLUDED["dates"].glob("*.json")]
    assert not any("auto_map" in one for one in settings)
    monkeypatch.setitem(places.INCLUDED, "dates", tmp_path)
    with pytest.raises(ModelLoadError, match="'dates' is missing from the installed package"):
        aw.load("dates", progress=False)


def test_it_writes_all_of_1000_held_out_dates(dates: Any) -> None:
    model = aw.load("dates", progress=False)
    words, written = dates.pairs(random.Random(2), 1000, held_out=True)
    assert dates.exact(model.model, model.tokenizer, words, written) == 1
    for text, iso in list(zip(words, written, strict=True))[:20]:
        assert aw.analyze(text, generate=12, model=model, tagger=None, progress=False).text == iso
    held_out = {date.isoformat() for date in dates.all_held_out()}
    assert held_out >= set(written) and len(held_out) == 7305


def sources(words: str, date: datetime.date) -> list[list[int]]:
    """The letters of ``words`` from which each letter of the date is written; none for a hyphen."""
    year, month = words.index(str(date.year)), words.index(f"{date:%B}")
    day = re.search(rf"(?<!\d){date.day}(?!\d)", words)
    assert day is not None
    name, days = list(range(month, month + len(f"{date:%B}"))), list(range(*day.span()))
    century = [year, year + 1]  # either digit tells which one it is
    return [century, century, [year + 2], [year + 3], [], name, name, [], days, days[-1:]]


def test_cross_attention_opens_on_a_head_that_reads_the_right_letters(dates: Any) -> None:
    model = aw.load("dates", progress=False)
    found: list[np.ndarray[Any, Any]] = []
    opened: list[float] = []
    for date in [*dates.all_held_out()][::305]:
        for order in dates.ORDERS:
            words = dates.in_words(date, order, short=False)
            a = aw.analyze(words, output=date.isoformat(), model=model, tagger=None, progress=False)
            cross, right = a.of("cross"), sources(words, date)
            weights = np.stack([cross.trace.layer_weights(layer) for layer in range(2)])
            on_them = [
                weights[:, :, i, letters].sum(-1) for i, letters in enumerate(right) if letters
            ]
            found.append(np.mean(on_them, axis=0))
            chosen = opening(cross)
            assert isinstance(chosen.head, int)
            assert chosen.token is not None and right[chosen.token]
            for part in ("encoder", "decoder"):
                token = opening(a.of(part)).token
                assert token is None or a.of(part).tokens[token].surface.isalnum()
            opened.append(found[-1][chosen.layer, chosen.head])
    assert len(opened) == 24 * 6 and np.mean(opened) > 0.75 > np.mean(found)
