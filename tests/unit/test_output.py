"""What the output of a cell keeps: a picture that is right, a page that cannot break out, or nothing."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from traitlets import TraitError

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError
from attn_widget.page.compress import inflate
from attn_widget.page.output import CodePlace, outputs
from attn_widget.page.picture import MASKED, PICTURE_SIDE, picture_of
from attn_widget.protocol.pack import unpack
from tests.unit.tiny_models import build

PICTURE_BYTES = 20_000
HOSTILE = '</script><img src=x onerror=alert(1)> "quotes" \' & <!-- </p></div>'


@pytest.fixture
def widget() -> Iterator[aw.AttentionWidget]:
    made = aw.show("the cat sat on the mat", layer=3, head=5, progress=False)
    yield made
    made.close()


def luminance(png: bytes) -> np.ndarray:
    image = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=np.float64)
    return image @ [0.2126, 0.7152, 0.0722]


def test_the_picture_is_darker_where_the_weight_is_larger(widget: aw.AttentionWidget) -> None:
    light = luminance(picture_of(widget._shown_source, widget.selection).png)
    weights = widget.analysis.attention(3, 5)
    n = len(weights)
    side = PICTURE_SIDE // n
    assert light.shape == (n * side, n * side)
    cells = light[side // 2 :: side, side // 2 :: side]
    order = np.argsort(weights, axis=None)
    # Even steps of lightness: no larger weight is lighter, but for rounding of colors.
    assert (np.diff(cells.ravel()[order]) <= 1).all()
    assert cells.ravel()[order[-1]] < 60 < 230 < cells.ravel()[order[0]]


def test_the_picture_is_gray_where_the_mask_of_the_model_forbids() -> None:
    made = aw.show("a cat sat on the mat", model=build("modernbert"), layer=1, head=0,
                   tagger=None, progress=False)  # fmt: skip
    allowed = made.analysis.trace.allowed(1)
    assert allowed is not None and not allowed.all()
    image = np.asarray(
        Image.open(io.BytesIO(picture_of(made._shown_source, made.selection).png)).convert("RGB")
    )
    side = PICTURE_SIDE // len(allowed)
    cells = image[side // 2 :: side, side // 2 :: side]
    np.testing.assert_array_equal((cells == MASKED).all(axis=-1), ~allowed)
    made.close()


def test_the_picture_of_a_long_text_is_small() -> None:
    made = aw.show("word " * 500, layer=5, head=3, progress=False)
    png = picture_of(made._shown_source, made.selection).png
    assert len(png) <= PICTURE_BYTES
    assert min(luminance(png).shape) > PICTURE_SIDE // 2
    made.close()


@pytest.mark.parametrize(
    ("saved", "kinds"),
    [
        ("page", {"text/html", "image/png"}),
        ("picture", {"text/html", "image/png"}),
        ("none", set()),
    ],
)
def test_keeps_what_is_asked_for(saved: str, kinds: set[str], widget: aw.AttentionWidget) -> None:
    widget.saved = saved
    assert set(outputs(widget._shown, widget.saved, code=True)) == kinds


def test_a_full_output_keeps_every_layer_scores_and_the_tensors_inside(
    widget: aw.AttentionWidget,
) -> None:
    widget.saved, widget.view = "full", "inside"
    page = outputs(widget._shown, widget.saved, code=False)["text/html"]
    chunks = dict(re.findall(r'data-chunk="([\w-]+)">([^<]+)<', page))
    assert next(iter(chunks)) == "paint"
    assert sorted(chunks) == [*(f"layer-{layer}" for layer in range(6)), "paint"]
    meta, _ = unpack(inflate(chunks["paint"]))
    assert meta["snapshot"]["selection"]["view"] == "inside"
    assert meta["snapshot"]["score_error"] < 0.001  # of "page" it is 0.05
    asked = [one["request"] for one in meta["recorded"]]
    assert {"kind": "roles"} in asked
    assert any(request.get("name") == "attention_output" for request in asked)


def test_an_output_keeps_the_texts_beside_its_own() -> None:
    model = build("bert", "ForSequenceClassification")
    made = aw.show("the cat sat", model=model, compare_with=["it slept"], progress=False)
    page = outputs(made._shown, made.saved, code=False)["text/html"]
    chunks = dict(re.findall(r'data-chunk="([\w-]+)">([^<]+)<', page))
    meta, _ = unpack(inflate(chunks["paint"]))
    assert {"kind": "beside"} in [one["request"] for one in meta["recorded"]]
    made.close()


def test_the_code_is_two_thirds_of_an_output_and_goes_along_when_asked(
    widget: aw.AttentionWidget,
) -> None:
    without = outputs(widget._shown, widget.saved, code=False)["text/html"]
    carrying = outputs(widget._shown, widget.saved, code=True)["text/html"]
    assert 'class="attn-widget-code"' not in without.split("<script>")[0]
    assert len(carrying) > 2 * len(without)


class Elements(HTMLParser):
    """All elements that a browser would make."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


def test_a_hostile_text_makes_no_element() -> None:
    tags: list[list[str]] = []
    for text in ("the cat sat", HOSTILE):
        made = aw.show(text, layer=0, head=0, progress=False)
        parser = Elements()
        parser.feed(outputs(made._shown, made.saved, code=False)["text/html"])
        tags.append([tag for tag in parser.found if tag != "script"])
        made.close()
    assert tags[0] == tags[1] == ["div", "figure", "img", "figcaption", "p"]


def test_a_long_text_keeps_the_selected_head_alone() -> None:
    made = aw.show("word " * 200, layer=4, head=7, progress=False)
    page = outputs(made._shown, made.saved, code=False)["text/html"]
    assert re.findall(r'data-chunk="(layer-\d+)"', page) == ["layer-4"]
    assert len(page) < 300_000
    made.close()


def test_a_widget_made_of_tensors_has_a_page_too() -> None:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(5), size=(2, 3, 5)).astype(np.float32)
    analysis = aw.from_attentions(weights, list("abcde"))
    made = aw.AttentionWidget(analysis)
    assert set(outputs(made._shown, made.saved, code=False)) == {
        "text/html",
        "image/png",
    }
    made.close()


def test_the_code_moves_on_when_its_output_was_taken_away() -> None:
    place = CodePlace()
    assert place.takes("a", 1, [])
    place.forget(1)
    assert place.takes("b", 2, [])
    place.forget(1)
    assert not place.takes("c", 3, [])


def test_a_host_that_names_no_cells_gets_the_code_once() -> None:
    place = CodePlace()
    assert [place.takes(None, count, []) for count in (1, 2, 3)] == [True, False, False]


def test_outside_a_notebook_a_widget_carries_its_code_and_no_page(
    widget: aw.AttentionWidget,
) -> None:
    found = widget._repr_mimebundle_()
    assert found is not None
    assert set(found[0]) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
    assert len(widget._esm) > 100_000


def test_the_picture_is_a_png_in_base64(widget: aw.AttentionWidget) -> None:
    data = base64.b64decode(
        outputs(widget._shown, widget.saved, code=False)["image/png"],
        validate=True,
    )
    assert Image.open(io.BytesIO(data)).format == "PNG"


@pytest.mark.parametrize("height", [0, -1, True, 2.5, "600"])
def test_a_frame_has_a_height(height: object, widget: aw.AttentionWidget) -> None:
    with pytest.raises((InputError, InputTypeError), match=r"^height is"):
        widget.as_html(height)  # pyright: ignore[reportArgumentType]


def test_a_closed_widget_saves_no_page(tmp_path: Path) -> None:
    made = aw.show("the cat sat", progress=False)
    made.close()
    for save in (lambda: made.to_html(tmp_path / "a.html"), made.as_html):
        with pytest.raises(InputError, match="closed"):
            save()
    assert list(tmp_path.iterdir()) == []


def test_a_profile_has_a_page_of_its_figures_without_weights(tmp_path: Path) -> None:
    profile = aw.profile(["the cat sat", "it slept"], progress=False)
    made = aw.show(profile, layer=2, head=7, metric="uniformity")
    text = made.to_html(tmp_path / "a.html", title="Two texts").read_text("utf-8")
    assert re.findall(r'data-chunk="([\w-]+)"', text) == ["paint"]
    assert made.as_html().startswith("<iframe sandbox=")
    for wrong in ({"layers": [0]}, {"heads": [0]}, {"views": ["tree"]}):
        with pytest.raises(InputError, match="A profile has"):
            made.to_html(tmp_path / "b.html", **wrong)
    made.close()
    with pytest.raises(InputError, match="closed"):
        made.to_html(tmp_path / "b.html")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.html"]


@pytest.mark.parametrize(
    ("given", "message"),
    [("engine", "one of 'page', 'full', 'picture', 'none'"), ("all", "one of 'page', 'full'")],
)
def test_an_output_that_does_not_exist_is_refused(given: str, message: str) -> None:
    analysis = aw.analyze("the cat sat", tagger=None, progress=False)
    with pytest.raises(TraitError, match=message):
        aw.AttentionWidget(analysis, saved=given)
    widget = aw.AttentionWidget(analysis)
    with pytest.raises(TraitError, match=message):
        widget.saved = given
    assert widget.saved == "page"
    widget.close()
