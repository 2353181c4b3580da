"""The command line: the whole analysis as JSON, errors as one line and exit status 2."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.__main__ import main
from attn_widget.features.exports.command import read_lines
from attn_widget.page.compress import inflate
from attn_widget.protocol.pack import unpack
from tests.close import assert_close
from tests.unit.tiny_models import EMBEDDED

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
        assert_close(printed["metrics"][key], values, **EMBEDDED, size=np.fmax(values, 1))
    for key, values in analysis.heads.specialization.raw.items():
        there = np.array(printed["specialization"]["raw"][key], dtype=float)
        assert_close(there, values, **EMBEDDED, size=np.fmax(values, 1))
    assert_close(printed["rollout"], analysis.rollout(), **EMBEDDED)
    assert_close(
        printed["next_sentence"]["probabilities"],
        analysis.model.next_sentence.probabilities,
        **EMBEDDED,
        size=analysis.trace.nsp_logits,
    )
    n = analysis.trace.n_tokens
    assert len(printed["predictions"]) == 5 * n
    assert np.shape(printed["residuals"]["ffn"]) == (analysis.trace.n_layers, n)


def test_what_is_missing_is_null_with_a_reason(printed: dict) -> None:
    assert printed["classification"] is None
    assert printed["not_available"]["classification"] == "The model has no classifier."


def test_without_json_the_predictions_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["the cat sat", "--top-k", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["[CLS]", "the", "cat", "sat", "[SEP]"]


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"attn-widget {aw.__version__}\n"


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


def test_a_text_becomes_a_page_and_a_file_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, report, lines = (tmp_path / name for name in ("cat.html", "all.html", "lines.txt"))
    lines.write_text("\ufeffthe cat sat\n\n  it slept \n", encoding="utf-8")
    assert main(["the cat sat", "-o", str(page), "--title", "A <cat>"]) == 0
    assert main(["--file", str(lines), "-o", str(report)]) == 0
    assert "<title>A &lt;cat&gt;</title>" in page.read_text("utf-8")
    assert '"title": "it slept"' in report.read_text("utf-8")
    assert capsys.readouterr().out.count("wrote") == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--file", "missing.txt", "-o", "x.html"], "cannot be read"),
        (["the cat", "-o", "missing/x.html"], "does not exist"),
        (["the cat", "-o", "."], "is a folder"),
    ],
)
def test_a_page_that_cannot_be_made_is_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give a text"),
        (["a", "--file", "b", "-o", "c"], "give a text"),
        (["--file", "b"], "--file needs -o PAGE"),
        (["--file", "b", "-o", "c", "--masked"], "--file cannot be combined with --masked"),
        (["a", "--title", "b"], "--title needs -o PAGE"),
        (["a", "-o", "out.json", "--json"], "--json cannot be combined with -o PAGE"),
        (["a", "-o", "c.html", "--top-k", "3"], "--top-k cannot be combined"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_page_has_masked_predictions_when_they_are_asked_for(tmp_path: Path) -> None:
    long = "the cat sat " * 22  # 68 tokens; up to 64 they go along anyway
    for text, flags, has in (
        (long, [], False),
        (long, ["--masked"], True),
        ("the cat", [], True),
    ):
        page = tmp_path / "cat.html"
        assert main([text, "-o", str(page), *flags]) == 0
        (chunk,) = re.findall(r'data-chunk="paint">([^<]+)<', page.read_text("utf-8"))
        meta, _ = unpack(inflate(chunk))
        modes = [one["request"].get("mode") for one in meta["recorded"]]
        assert ("masked" in modes) == has


def test_the_place_of_a_page_and_its_title_are_checked_before_the_model_runs(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    # By its name, which in the package is that of the function.
    module = importlib.import_module("attn_widget.analysis.texts")
    monkeypatch.setattr(module, "analyze", lambda *_, **__: pytest.fail("it ran"))
    assert main(["the cat", "-o", str(tmp_path / "missing" / "x.html")]) == 2
    assert main(["the cat", "-o", str(tmp_path / "x.html"), "--title", "\udcff"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 and "does not exist" in errors[0] and "lone surrogate" in errors[1]
    assert list(tmp_path.iterdir()) == []


def test_a_line_of_a_file_ends_where_editors_end_it(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufeffa\u2028b\x0bc\x0cd\x85e\u2029f\r\ng\rh\n\n".encode())
    assert read_lines(str(path)) == ["a\u2028b\x0bc\x0cd\x85e\u2029f", "g", "h"]
    path.write_bytes(b"caf\xe9")
    with pytest.raises(aw.AttnWidgetError, match="is not UTF-8"):
        read_lines(str(path))


def test_standard_input_is_utf_8_in_every_locale(tmp_path: Path) -> None:
    code = (
        "from attn_widget.features.exports.command import read_lines; print(ascii(read_lines('-')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="\ufeffcaf\u00e9\n".encode(),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )
    assert done.stdout.decode().strip() == "['caf\\xe9']"


def test_what_a_terminal_cannot_show_is_escaped() -> None:
    code = "from attn_widget.__main__ import say; say('caf\u00e9 \\udcff')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.stdout.decode().strip() == "caf\\xe9 \\udcff"


def test_a_text_in_windows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["the cat sat on the mat", "--windows", "5,1", "--top-k", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8
    for wrong in ("5", "five,1", "5;1"):
        with pytest.raises(SystemExit):
            main(["the cat sat", "--windows", wrong])
        assert "--windows 256,64" in capsys.readouterr().err
    assert main(["the cat sat on the mat", "--windows", "9000,1"]) == 2
    assert "size of windows" in capsys.readouterr().err
