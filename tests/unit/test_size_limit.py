"""Pages of at most so many bytes: what goes along, what is left out, and that the page says so."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError
from attn_widget.page.compress import inflate
from attn_widget.page.encodings.chunks import PRECISIONS, best_encoding
from attn_widget.page.page import page_parts
from attn_widget.page.saved_run import saved_run
from attn_widget.page.size_limit import size_of
from attn_widget.protocol.pack import unpack
from tests.unit import tiny_models

TEXT = "The cat sat on the mat, and the dog looked at the bird in the old tree near our house. " * 5


@pytest.fixture(scope="module")
def widget() -> Iterator[aw.AttentionWidget]:
    shown = aw.show(TEXT, layer=2, head=4, tagger=None, progress=False)
    yield shown
    shown.close()


def chunks_of(page: Path) -> dict[str, Any]:
    """The packs of a page by name."""
    found = re.findall(
        r'class="aw-data" data-run="0" data-chunk="([^"]+)">([^<]+)<', page.read_text()
    )
    return {name: unpack(inflate(data)) for name, data in found}


def saved(widget: aw.AttentionWidget, path: Path, most: int) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        widget.to_html(path, max_bytes=most)
    assert path.stat().st_size <= most
    return chunks_of(path)


def test_smaller_pages_have_fewer_layers_around_the_selected_one(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    whole = widget.to_html(tmp_path / "whole.html").stat().st_size
    counts: list[int] = []
    for share in (1.0, 0.8, 0.7):
        found = saved(widget, tmp_path / f"{share}.html", int(whole * share))
        meta, arrays = found["paint"]
        layers = meta["snapshot"]["layers"]
        assert 2 in layers and layers == list(range(layers[0], layers[-1] + 1))
        assert sorted(found) == sorted(["paint", *(f"layer-{layer}" for layer in layers)])
        assert arrays["thumbs"].shape[:2] == (6, 12), "thumbnails of all heads go along"
        lacks = meta["snapshot"].get("left_out", "")
        assert ("matrices of layers" in lacks) == (len(layers) < 6)
        counts.append(len(layers))
    assert counts[0] == 6 and counts == sorted(counts, reverse=True)


def test_a_page_is_no_larger_than_was_reckoned(widget: aw.AttentionWidget) -> None:
    run = saved_run(widget.source)
    page = b"".join(page_parts([run], "", "stack"))
    elements = re.findall(rb'<script[^<]+data-chunk="[^<]+</script>\n', page)
    assert len(elements) == len(run.snapshot.texts)
    assert 0.9 * size_of(run, 0) < sum(map(len, elements)) <= size_of(run, 0)


def test_a_warning_says_what_was_left_out(widget: aw.AttentionWidget, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"made without .*tensors of the view Inside"):
        widget.to_html(tmp_path / "a.html", max_bytes=560_000)


def test_the_least_page_is_named_where_nothing_fits(
    widget: aw.AttentionWidget, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"no room.*max_bytes=(\d+)") as caught:
        widget.to_html(tmp_path / "b.html", max_bytes=320_000)
    assert not (tmp_path / "b.html").exists()
    least = int(re.search(r"max_bytes=(\d+)", str(caught.value)).group(1))  # pyright: ignore
    found = saved(widget, tmp_path / "b.html", int(least * 1.02))
    assert 4 in found["paint"][0]["snapshot"]["heads"] and "layer-2" in found


@pytest.mark.parametrize(
    ("most", "error"), [("1 MB", InputTypeError), (0, InputError), (1.5, InputTypeError)]
)
def test_a_size_is_a_number_of_bytes(
    widget: aw.AttentionWidget, tmp_path: Path, most: Any, error: type
) -> None:
    with pytest.raises(error, match="max_bytes"):
        widget.to_html(tmp_path / "c.html", max_bytes=most)
    with pytest.raises(InputError, match="engine"):
        widget.to_html(tmp_path / "c.html", max_bytes=10**6, engine=True)


def test_a_page_of_several_widgets_has_no_limit(widget: aw.AttentionWidget, tmp_path: Path) -> None:
    path = tmp_path / "several.html"
    with pytest.raises(InputError, match=r"got 2 widgets.*in a page of its own"):
        aw.to_html([widget, widget], path, max_bytes=590_000)
    assert not path.exists()
    with pytest.warns(UserWarning, match="made without"):
        aw.to_html([widget], path, max_bytes=590_000)
    assert path.stat().st_size <= 590_000


def test_held_weights_get_coarser_codes_where_the_room_asks_for_them() -> None:
    encoder = aw.load(tiny_models.build("deberta-v2"))
    a = aw.analyze(TEXT[:160], model=encoder, tagger=None, progress=False)
    layers, heads = range(a.n_layers), range(a.n_heads)
    assert best_encoding(a, layers, heads) == ("weights", PRECISIONS["weights"][0][1])
    assert best_encoding(a, layers, heads, most=1) == ("weights", PRECISIONS["weights"][-1][1])


def test_coarse_codes_keep_their_error(tmp_path: Path) -> None:
    from attn_widget.page.encodings.codec import encode_weights

    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(60, 0.2), 60).astype(np.float32)
    for _, levels in PRECISIONS["weights"]:
        encoded = encode_weights(weights, int(levels))
        off = np.abs(encoded.decoded - weights)
        assert off.max() <= encoded.error
        assert (off <= np.sqrt(weights) / levels + 1 / (4 * levels**2) + 1e-6).all()
