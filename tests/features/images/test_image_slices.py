"""Slices of a picture, its figures, and what a saved page keeps of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import attn_widget as aw
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.images.patterns import PATTERNS, chance, morans, separated
from attn_widget.features.images.recorded import answers_of
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.pack import unpack
from tests.answers import ask
from tests.features.images.image_models import build, classifier, drawn


def run(name: str = "vit") -> aw.Analysis:
    return aw.analyze(drawn(), model=build(name), progress=False)


def test_the_first_paint_says_where_the_patches_are() -> None:
    for name, first in (("vit", 1), ("dinov2_with_registers", 4), ("siglip_vision_model", 0)):
        meta, _ = unpack(first_paint(run(name), 0, 0))
        assert meta["image"] == {"rows": 4, "columns": 4, "width": 60, "height": 44, "first": first}
        assert meta["note"] == "60 × 44 px"
        assert meta["text"] == "" and meta["predictions"] is None and "chat" not in meta
    meta, _ = unpack(first_paint(aw.analyze("the cat", progress=False), 0, 0))
    assert "image" not in meta and "chat" not in meta


def test_the_picture_and_its_rectangles() -> None:
    a = run("dinov2")
    data, arrays = ask(a, kind="image")
    picture = Image.open(io.BytesIO(arrays["bytes"].tobytes()))
    assert data == {"type": f"image/{str(picture.format).lower()}", "width": 60, "height": 44}
    assert arrays["rects"].shape == (17, 4) and np.isnan(arrays["rects"][0]).all()
    np.testing.assert_allclose(arrays["rects"][1], [0, 0, 15, 11])


def test_rows_of_all_heads_are_those_of_the_matrices() -> None:
    a = run()
    weights = np.stack([a.trace.layer_weights(layer) for layer in range(3)])
    _, arrays = ask(a, kind="patch_rows", token=5)
    np.testing.assert_allclose(arrays["rows"], weights[:, :, 5], atol=1e-7)
    _, arrays = ask(a, kind="patch_rows", tokens=[2, 3, 6])
    np.testing.assert_allclose(arrays["rows"], weights[:, :, [2, 3, 6]].mean(axis=2), atol=1e-6)
    assert arrays["rows"].dtype == np.float32
    view = a.view(special=False)
    _, arrays = ask(view, kind="patch_rows", token=5)
    np.testing.assert_allclose(arrays["rows"], weights[:, :, 5], atol=1e-7)


@pytest.mark.parametrize(
    "fields",
    [
        {}, {"token": 17}, {"token": -1}, {"token": "5"}, {"token": True}, {"tokens": []}, {"tokens": [17]},
        {"tokens": [1] * 18}, {"tokens": "12"}, {"tokens": [1.5]}, {"tokens": {"a": 1}}, {"tokens": [[1]]},
    ],
)  # fmt: skip
def test_hostile_rows_are_refused(fields: dict[str, Any]) -> None:
    reply, _ = answer(run(), {"kind": "patch_rows", **fields})
    assert not reply["ok"]


def test_a_run_of_a_text_has_no_picture() -> None:
    a = aw.analyze("the cat sat", progress=False)
    for kind in ("image", "patch_rows", "patch_patterns"):
        reply, _ = answer(a, {"kind": kind, "token": 0})
        assert not reply["ok"] and "not of an image" in reply["error"]
    with pytest.raises(NotAvailableError, match="not of an image"):
        _ = a.image.grid


def by_hand(weights: Any, first: int, rows: int, columns: int) -> list[float]:
    """Shares of one head's matrix, cell by cell."""
    sums = dict.fromkeys(PATTERNS, 0.0)
    count = rows * columns
    for i in range(count):
        for j in range(len(weights)):
            weight = float(weights[first + i, j])
            if not first <= j < first + count:
                sums["special"] += weight
                continue
            down = abs(i // columns - (j - first) // columns)
            across = abs(i % columns - (j - first) % columns)
            far = max(down, across)
            sums["self" if far == 0 else "near" if far <= 2 else "far"] += weight
            if far and down == 0:
                sums["row"] += weight
            if far and across == 0:
                sums["column"] += weight
    return [sums[name] / count for name in PATTERNS]


@pytest.mark.parametrize("name", ["vit", "dinov2_with_registers", "siglip_vision_model"])
def test_patterns_are_shares_by_place(name: str) -> None:
    a = run(name)
    data, arrays = ask(a, kind="patch_patterns")
    assert data["names"] == [*PATTERNS]
    first = sum(token.special for token in a.tokens)
    for layer, head in ((0, 0), (2, 3)):
        expected = by_hand(a.attention(layer, head), first, 4, 4)
        np.testing.assert_allclose(arrays["patterns"][layer, head], expected, atol=1e-6)
    n = a.trace.n_tokens
    np.testing.assert_allclose(
        arrays["chance"], by_hand(np.full((n, n), 1 / n), first, 4, 4), atol=1e-6
    )
    whole = arrays["patterns"][..., [0, 1, 2, 5]].sum(axis=-1)
    np.testing.assert_allclose(whole, 1, atol=1e-5)
    assert arrays["patterns"].dtype == arrays["separation"].dtype == np.float32
    assert arrays["groups"].shape == (3, 4, n) and not arrays["groups"][..., :first].any()
    layer, head = data["best"]
    assert arrays["clarity"][layer, head] == arrays["clarity"].max()


def test_chance_of_patterns_is_that_of_even_attention() -> None:
    even = chance(5, 7, 36)
    assert even[[0, 1, 2, 5]].sum() == pytest.approx(1)
    assert even[0] == pytest.approx(1 / 36) and even[5] == pytest.approx(1 / 36)
    assert even[3] == pytest.approx(6 / 36) and even[4] == pytest.approx(4 / 36)


# The head that separates the picture


def maps(kind: str, side: int = 16) -> Any:
    rng = np.random.default_rng(0)
    noise = np.exp(rng.normal(0, 0.3, (side, side)))
    down, across = np.indices((side, side))
    disk = (down - 7) ** 2 + (across - 8) ** 2 < 20
    found = {
        "noise": noise,
        "disk": noise * np.where(disk, 8, 1),
        "bright": noise * np.where((down == 3) & (across == 4), 1000, 1),
        "scattered": noise * np.where(rng.random((side, side)) < 0.25, 8, 1),
        "even": np.ones((side, side)),
    }[kind]
    return (found / found.sum()).astype(np.float32).reshape(1, -1)


def test_a_region_separates_a_picture_and_noise_does_not() -> None:
    found = {
        kind: separated(maps(kind), 16, 16)
        for kind in ("noise", "disk", "bright", "scattered", "even")
    }
    clarity = {kind: float(each.clarity[0]) for kind, each in found.items()}
    assert clarity["disk"] > 0.6
    for kind in ("noise", "bright", "scattered", "even"):
        assert clarity[kind] < 0.2, kind
        assert found[kind].deviations[0] < 4, kind
    assert found["disk"].deviations[0] > 10
    down, across = np.indices((16, 16))
    disk = (down - 7) ** 2 + (across - 8) ** 2 < 20
    assert (found["disk"].groups.reshape(16, 16) == disk).mean() > 0.98
    assert found["even"].separation[0] == 0 and not found["even"].groups.any()


def test_otsu_and_moran_by_hand() -> None:
    rng = np.random.default_rng(1)
    values = np.exp(rng.normal(size=24)).astype(np.float32)
    logs = np.sort(np.log(values.astype(np.float64)))
    shares = [
        k * (24 - k) / 24**2 * (logs[k:].mean() - logs[:k].mean()) ** 2 / logs.var()
        for k in range(2, 23)
    ]
    found = separated(values[None], 4, 6)
    assert found.separation[0] == pytest.approx(max(shares), abs=1e-5)
    assert found.groups.sum() == 24 - (2 + int(np.argmax(shares)))
    grid = rng.normal(size=(4, 6))
    z = grid - grid.mean()
    edges = [((r, c), (r + dr, c + dc)) for r in range(4) for c in range(6) for dr, dc in ((0, 1), (1, 0)) if r + dr < 4 and c + dc < 6]  # fmt: skip
    expected = 24 / len(edges) * sum(z[a] * z[b] for a, b in edges) / (z**2).sum()
    index, apart = morans(grid.reshape(1, -1), 4, 6)
    assert index[0] == pytest.approx(expected)
    drawn_ = np.stack([rng.permutation(grid.ravel()) for _ in range(20_000)])
    others, _ = morans(drawn_, 4, 6)
    assert others.mean() == pytest.approx(-1 / 23, abs=0.01)
    assert apart[0] == pytest.approx((expected - others.mean()) / others.std(), abs=0.05)


def test_small_grids_separate_nothing() -> None:
    for rows, columns in ((1, 1), (1, 2), (1, 3), (2, 1)):
        found = separated(np.full((2, rows * columns), 0.3, np.float32), rows, columns)
        assert (found.clarity == 0).all()
    line = np.exp(np.arange(9)).astype(np.float32)[None]
    assert np.isfinite(separated(line, 1, 9).clarity).all()


def test_a_widget_opens_on_the_clearest_head_and_its_first_token() -> None:
    a = run()
    layer, head, _ = a.image.clearest()
    widget = aw.show(a)
    assert (widget.layer, widget.head, widget.token, widget.view) == (layer, head, 0, "images")
    widget.close()
    widget = aw.show(run("siglip_vision_model"))
    assert widget.token is None
    widget.close()
    widget = aw.show(a, layer=1)
    assert widget.layer == 1
    assert (1, widget.head) == a.image.clearest(layers=[1])[:2]
    widget.close()


def test_figures_of_language_say_why_there_are_none() -> None:
    a = run("dinov2")
    with pytest.raises(NotAvailableError, match="reads images, so it predicts no tokens"):
        a.predictions()
    assert a.words == () and "reads no text" in str(a.language.notes)
    assert all(token.word is None for token in a.tokens)
    with pytest.raises(NotAvailableError, match="no mask token"):
        a.mask([3])
    with pytest.raises((NotAvailableError, InputError)):
        a.why.contributions(aw.target(position=3, token="cat"))
    model = classifier("vit")
    b = aw.analyze(drawn(), model=model, progress=False)
    for method in ("occlusion", "integrated_gradients"):
        with pytest.raises(NotAvailableError, match="no mask token"):
            b.why.contributions(aw.target(label="cat"), method)
    for given in (
        ("lens", {"kind": "lens"}),
        ("sentences", {"kind": "sentences", "layer": 0, "head": 0}),
    ):
        reply, _ = answer(a, given[1])
        assert not reply["ok"] and reply["error"], given


def test_another_text_cannot_be_asked_for() -> None:
    """A page could otherwise name a file of the kernel's machine."""
    widget = aw.show(run())
    with pytest.raises(InputError, match="of an image"):
        widget.run("/etc/hostname")
    widget.close()


def test_metrics_rollout_and_tables() -> None:
    a = aw.analyze(drawn(), model=classifier("beit"), progress=False)
    assert a.to_dataframe().shape[0] == 12
    assert np.isfinite(a.metrics.focus_entropy).all()
    widget = aw.show(a)
    for view in ("attention", "heads", "inside", "why", "tree", "images"):
        widget.view = view
        assert len(widget.to_dataframe())
    widget.close()


# Saved


@pytest.mark.parametrize("name", ["vit", "dinov2_with_registers", "siglip_vision_model"])
def test_a_saved_page_has_the_picture(name: str, tmp_path: Path) -> None:
    from attn_widget.page.snapshot import snapshot
    from attn_widget.protocol.selection import Selection

    a = run(name)
    shot = snapshot(a, {**Selection().as_dict(), "layer": 0, "head": 0, "view": "images"})
    meta, arrays = unpack(shot.chunks["paint"])
    recorded = {each["request"]["kind"]: each for each in meta["recorded"]}
    assert {"image", "patch_patterns"} <= {*recorded}
    assert meta["image"]["rows"] == 4
    data, expected = ask(a, kind="image")
    assert recorded["image"]["data"] == data
    np.testing.assert_array_equal(arrays[recorded["image"]["arrays"]["bytes"]], expected["bytes"])
    widget = aw.show(a)
    path = tmp_path / "page.html"
    widget.to_html(path)
    assert "patch_patterns" not in path.read_text()[:2000] and path.stat().st_size > 1000
    widget.close()


def test_a_page_of_a_text_has_none_of_it() -> None:
    from attn_widget.page.snapshot import snapshot
    from attn_widget.protocol.selection import Selection

    a = aw.analyze("the cat sat", progress=False)
    shot = snapshot(a, {**Selection().as_dict(), "layer": 0, "head": 0})
    meta, _ = unpack(shot.chunks["paint"])
    assert "images" not in meta["snapshot"]["views"]
    assert not {"image", "patch_patterns"} & {each["request"]["kind"] for each in meta["recorded"]}


@pytest.mark.parametrize("name", ["vit", "siglip_vision_model"])
def test_a_page_has_the_rows_that_it_opens_on_without_steps(name: str) -> None:
    a = run(name)
    tokens = [0] if name == "vit" else [*range(16)]
    choices: Any = (({}, tokens), ({"token": 3}, [3]), ({"token": None, "group": [5, 4]}, [4, 5]))
    for chosen, asked_for in choices:
        found = {
            asked["kind"]: (asked, arrays) for asked, _, arrays in answers_of(a, chosen, PageSpec())
        }
        asked, arrays = found["patch_rows"]
        assert (asked.get("tokens") or [asked["token"]]) == asked_for
        exact = a.image.rows(asked_for)
        np.testing.assert_allclose(arrays["rows"], exact, rtol=2**-12, atol=0)
        assert not np.any(arrays["rows"].view(np.uint32) & 0xFFF)
