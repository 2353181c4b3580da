"""What classifiers, pretraining heads, bare encoders and unknown families leave in a trace."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.errors import ModelLoadError, NotAvailableError
from attn_widget.trace.capture import capture
from attn_widget.trace.forward import forward_ids, lm_logits
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.plain import CLOSE, PAIR, TEXT, plain


@pytest.mark.parametrize(
    ("head", "kind", "shape"),
    [("ForSequenceClassification", "sequence", (3,)), ("ForTokenClassification", "token", (-1, 3)),
     ("ForQuestionAnswering", "question_answering", (-1, 2))],
)  # fmt: skip
def test_classifier_logits_are_the_models(head: str, kind: str, shape: tuple[int, ...]) -> None:
    labels = {0: "bad", 1: "fair", 2: "good"} if "Question" not in head else {0: "a", 1: "b"}
    model, tokenizer = tiny_models.build("roberta", head, id2label=labels)
    encoder = aw.load((model, tokenizer))
    assert encoder.classifier == kind and not encoder.has_lm
    assert encoder.id2label == ({} if "Question" in head else labels)
    encoding = encoder.encode(TEXT)
    trace = capture(encoder, encoding)
    expected = plain(model, encoding.inputs, "sdpa")
    logits = expected.get("logits")
    if logits is None:
        logits = torch.stack([expected.start_logits, expected.end_logits], dim=-1)
    n = trace.n_tokens
    assert trace.classifier_logits is not None
    assert trace.classifier_logits.shape == tuple(n if size < 0 else size for size in shape)
    assert_close(trace.classifier_logits, logits[0], **tiny_models.RUN)
    assert trace.logits is None and trace.nsp_logits is None


def test_pretraining_heads_give_tokens_and_next_sentence() -> None:
    model, tokenizer = tiny_models.build("bert", "ForPreTraining")
    encoder = aw.load((model, tokenizer))
    assert encoder.has_lm and encoder.has_nsp and encoder.classifier is None
    encoding = encoder.encode(TEXT, PAIR)
    trace = capture(encoder, encoding)
    expected = plain(model, encoding.inputs, "sdpa")
    assert_close(trace.logits, expected.prediction_logits[0], **tiny_models.RUN)
    assert_close(trace.nsp_logits, expected.seq_relationship_logits[0], **tiny_models.RUN)
    last = torch.from_numpy(np.array(trace.hidden_states[-1]))
    assert_close(lm_logits(encoder, last), trace.logits, **tiny_models.RUN)


def test_a_bare_encoder_has_no_predictions() -> None:
    encoder = aw.load(tiny_models.build("distilbert", "Model"))
    assert not encoder.has_lm and not encoder.has_nsp and encoder.classifier is None
    trace = capture(encoder, encoder.encode(TEXT))
    assert trace.logits is None and trace.hidden_states is not None
    with pytest.raises(NotAvailableError, match="no language-model head"):
        forward_ids(encoder, torch.tensor([[2, 5, 3]]))


UNKNOWN = {
    "ernie": (tf.ErnieForMaskedLM, tf.ErnieConfig),
    "roformer": (tf.RoFormerForMaskedLM, tf.RoFormerConfig),
    "megatron-bert": (tf.MegatronBertForMaskedLM, tf.MegatronBertConfig),
}


@pytest.mark.parametrize("family", UNKNOWN)
def test_a_family_without_an_adapter_still_gives_attention_states_and_predictions(
    family: str,
) -> None:
    make, config = UNKNOWN[family]
    torch.manual_seed(0)
    model = make(config(**tiny_models.SMALL)).eval()
    encoder = aw.load((model, tiny_models.tokenizer("wordpiece")))
    assert encoder.family.mechanism is None
    encoding = encoder.encode(TEXT, PAIR)
    trace = capture(encoder, encoding)
    expected = plain(model, encoding.inputs, "eager")
    for layer, attention in enumerate(expected.attentions):
        np.testing.assert_allclose(trace.layer_weights(layer), attention[0], rtol=0, atol=CLOSE)
    states = torch.stack(expected.hidden_states)[:, 0]
    assert_close(trace.hidden_states, states, **tiny_models.RUN)
    assert_close(trace.logits, expected.logits[0], **tiny_models.RUN)


def test_a_model_without_attention_is_refused_in_words() -> None:
    config = tf.FNetConfig(
        vocab_size=512, hidden_size=32, num_hidden_layers=2, intermediate_size=48,
        tpu_short_seq_length=16,
    )  # fmt: skip
    model = tf.FNetForMaskedLM(config).eval()
    with pytest.raises(ModelLoadError, match="has no attention heads"):
        aw.load((model, tiny_models.tokenizer("wordpiece")))
