"""A small sentiment classifier on the embedded encoder, fitted in a second: something real for the Task view.

A linear probe (Alain and Bengio 2016) on the first token's pooled state, over a few dozen sentences of
our own. It is for pictures and tests; `labels` are what the sentences below were written to be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SENTENCES: dict[str, tuple[str, ...]] = {
    "negative": (
        "The soup was cold and the waiter was rude.",
        "I hated every minute of this awful film.",
        "It broke after two days and nobody would help.",
        "A boring story with terrible acting.",
        "The worst hotel I have ever stayed in.",
        "The battery is bad and the screen is worse.",
        "What a waste of money and of time.",
        "The room was dirty, loud and far too small.",
        "He was angry and disappointed with the poor service.",
        "The book is dull, slow and badly written.",
    ),
    "neutral": (
        "The train leaves the station at nine.",
        "The box contains two cables and a manual.",
        "The film was shot in Canada in 1987.",
        "She bought the book in a shop near the river.",
        "The hotel has forty rooms on three floors.",
        "The phone comes in black and in gray.",
        "The second chapter describes the city.",
        "The museum is open from Monday to Friday.",
        "The soup is made of onions and water.",
        "The meeting was moved to the next week.",
    ),
    "positive": (
        "A wonderful film with brilliant actors.",
        "The food was delicious and the staff very kind.",
        "I love this phone, it works perfectly.",
        "The best book that I have read this year.",
        "What a beautiful, happy and moving story.",
        "Great value, I am very pleased with it.",
        "The room was clean, quiet and lovely.",
        "An excellent hotel with a superb view.",
        "She enjoyed the concert and smiled all evening.",
        "He was delighted with the fast and friendly service.",
    ),
}


def sentiment() -> tuple[Any, Any]:
    """``(model, tokenizer)``: a `BertForSequenceClassification` with three labels."""
    import torch
    from sklearn.linear_model import LogisticRegression
    from transformers import BertForSequenceClassification

    from attn_widget import load

    encoder = load(progress=False)
    labels = list(SENTENCES)
    texts = [text for label in labels for text in SENTENCES[label]]
    classes = [index for index, label in enumerate(labels) for _ in SENTENCES[label]]
    base = encoder.model.base_model
    batch = encoder.tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        pooled = base(**batch).pooler_output.float().numpy()
    fitted = LogisticRegression(C=10, max_iter=2000).fit(pooled, classes)
    config = type(base.config)(**base.config.to_dict())
    config.num_labels = len(labels)
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: index for index, label in enumerate(labels)}
    model = BertForSequenceClassification(config).eval()
    model.bert.load_state_dict(base.state_dict())
    with torch.no_grad():
        model.classifier.weight.copy_(torch.from_numpy(np.asarray(fitted.coef_)).float())
        model.classifier.bias.copy_(torch.from_numpy(np.asarray(fitted.intercept_)).float())
    return model, encoder.tokenizer
