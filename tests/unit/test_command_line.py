"""The command line: the whole analysis as JSON, errors as one line and exit status 2."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.__main__ import main

TEXT = "Alice lives in Paris. She likes it."


@pytest.fixture(scope="module")
def printed() -> dict[str, object]:
    """What the real command prints."""
    command = [sys.executable, "-m", "attn_widget", TEXT, "--pair", "Bob does too.", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_json_holds_the_figures_of_the_analysis(printed: dict) -> None:
    analysis = aw.analyze(TEXT, "Bob does too.", progress=False)
    assert [token["text"] for token in printed["tokens"]] == [t.text for t in analysis.tokens]
    for key, values in analysis.metrics.as_dict().items():
        np.testing.assert_allclose(printed["metrics"][key], values, rtol=1e-5, atol=1e-6)
    for key, values in analysis.specialization.raw.items():
        there = np.array(printed["specialization"]["raw"][key], dtype=float)
        np.testing.assert_allclose(there, values, atol=1e-5)
    np.testing.assert_allclose(printed["rollout"], analysis.rollout(), atol=1e-5)
    np.testing.assert_allclose(
        printed["next_sentence"]["probabilities"], analysis.next_sentence.probabilities, atol=1e-4
    )
    n = analysis.n_tokens
    assert len(printed["predictions"]) == 5 * n
    assert np.shape(printed["residuals"]["ffn"]) == (analysis.n_layers, n)


def test_what_is_missing_is_null_with_a_reason(printed: dict) -> None:
    assert printed["classification"] is None
    assert printed["not_available"]["classification"] == "The model has no classifier."


def test_without_json_the_predictions_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["the cat sat", "--top-k", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["[CLS]", "the", "cat", "sat", "[SEP]"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([" "], "only white space"),
        (["word " * 600], "602 tokens"),
        (["a", "--top-k", "0"], "top_k"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
