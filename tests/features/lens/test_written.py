"""The lens of what an encoder-decoder writes, against the model's own pass with the states of a layer in place of the last ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.features.lens.recorded import answers_of
from attn_widget.page.spec import PageSpec
from tests.unit import tiny_models

TEXT, OUTPUT = "The cat sat on the mat.", "A dog ran there."
NORMS = {  # below the decoder; the others have none behind their last layer
    **dict.fromkeys(("t5", "mt5", "umt5", "switch_transformers"), "final_layer_norm"),
    **dict.fromkeys(("mbart", "pegasus", "m2m_100", "blenderbot"), "layer_norm"),
    "t5gemma": "norm",
}


def written_by(pair: Any) -> aw.Analysis:
    a = aw.analyze(TEXT, model=pair, output=OUTPUT, tagger=None, progress=False)
    return a.of("decoder")


def by_hand(family: str, a: aw.Analysis) -> np.ndarray:
    """Log probabilities of every layer [L + 1, n, vocabulary]: head, bias and scale are those of `forward`."""
    run = a.run
    assert run is not None
    model = run.encoder.network
    inputs = {name: torch.as_tensor(np.array(array)) for name, array in run.encoding.arrays.items()}
    decoder = model.get_decoder()
    found: list[torch.Tensor] = []
    with torch.no_grad():
        states = model(**inputs, output_hidden_states=True, use_cache=False).decoder_hidden_states
        norm = getattr(decoder, NORMS[family]) if family in NORMS else torch.nn.Identity()
        for layer, state in enumerate(states):
            hidden = state if layer == len(states) - 1 else norm(state)

            def instead(_module: Any, _args: Any, output: Any, hidden: Any = hidden) -> Any:
                output[0].copy_(hidden)
                return output

            inside = getattr(decoder, "base_model", decoder)
            hook = inside.register_forward_hook(instead)
            found.append(model(**inputs, use_cache=False).logits[0].double())
            hook.remove()
    return torch.stack(found).log_softmax(-1).numpy()


BIASED = ("bart", "mbart", "marian", "pegasus", "plbart", "blenderbot", "blenderbot-small")


@pytest.mark.parametrize(
    ("family", "changed"),
    [(family, False) for family in tiny_models.ENCODER_DECODERS]
    + [(family, True) for family in ("t5", *BIASED)],
)
def test_every_layer_is_what_norm_and_head_say(family: str, changed: bool) -> None:
    model, tokenizer = tiny_models.build(family)
    if changed and family == "t5":
        model.config.scale_decoder_outputs = not model.config.scale_decoder_outputs
    elif changed:
        model.final_logits_bias.normal_(generator=torch.Generator().manual_seed(1))
    a = written_by((model, tokenizer))
    found = a.lens(top_k=5)
    logs = by_hand(family, a)
    assert len(logs) == len(found.ids) == a.trace.n_layers + 1
    best = np.sort(np.exp(logs), axis=-1)[..., :-6:-1]
    np.testing.assert_allclose(found.probabilities, best, atol=1e-5)
    np.testing.assert_allclose(found.entropies, -(np.exp(logs) * logs).sum(-1) / math.log(2), atol=1e-4)  # fmt: skip
    last = logs[-1]
    divergence = (np.exp(last) * (last - logs)).sum(-1) / math.log(2)
    np.testing.assert_allclose(found.divergences, divergence, atol=1e-4)
    np.testing.assert_allclose(found.probabilities[-1], a.predictions(top_k=5).probabilities, atol=1e-5)  # fmt: skip


def test_cross_attention_records_the_decoders_lens_and_the_encoder_has_none() -> None:
    a = aw.analyze(TEXT, model=tiny_models.build("bart"), output=OUTPUT, tagger=None, progress=False)  # fmt: skip
    answers = {part: answers_of(a.of(part), {}, PageSpec()) for part in a.model.parts}
    assert answers["encoder"] == []
    (request, _, arrays), *_ = answers["decoder"]
    (_, _, same), *_ = answers["cross"]
    assert request["mode"] == "next"
    np.testing.assert_array_equal(arrays["ids"], same["ids"])
    with pytest.raises(NotAvailableError):
        a.of("encoder").lens()


def test_a_saved_page_opens_on_it(tmp_path: Path) -> None:
    a = aw.analyze(TEXT, model=tiny_models.build("t5"), output=OUTPUT, tagger=None, progress=False)
    widget = aw.show(a, part="decoder", view="lens")
    assert widget.view == "lens"
    assert widget.to_html(tmp_path / "lens.html").stat().st_size > 0
    widget.close()
