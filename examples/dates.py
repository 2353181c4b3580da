"""A small encoder-decoder that anyone can train: dates in words to ISO 8601, letter by letter.

``python examples/dates.py build/dates`` trains a BART of 0.44 million parameters on one thread for some minutes, saves it with
weights in float16, and prints the share of held-out dates that it writes without an error. The package includes what it
wrote as the model ``"dates"``::

    import attn_widget as aw

    a = aw.analyze("the 8th of November 1987", generate=12, model="dates")
    a.text                                  # 1987-11-08
    a.of("cross").heads.monotony.monotony        # which heads go through the source in order

``python examples/dates.py FOLDER --check`` measures a model that is there already: on every held-out date in every
order of words, and on spellings that it never read.
"""

from __future__ import annotations

import argparse
import datetime
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
HELD_OUT = 10  # one date in so many is never trained on
ORDERS = (
    "{month} {day}, {year}",
    "{day} {month} {year}",
    "{weekday}, {day} {month} {year}",
    "the {day}{th} of {month} {year}",
    "{month} {day}{th}, {year}",
    "{year}, {month} {day}",
)


def in_words(date: datetime.date, order: str, *, short: bool) -> str:
    """A date as people write it.

    Examples
    --------
    >>> in_words(datetime.date(1987, 11, 8), ORDERS[3], short=False)
    'the 8th of November 1987'
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(date.day % 10, "th")
    return order.format(
        year=date.year,
        month=date.strftime("%b" if short else "%B"),
        day=date.day,
        weekday=date.strftime("%A"),
        th="th" if 11 <= date.day <= 13 else ending,
    )


def pairs(random_: random.Random, count: int, *, held_out: bool) -> tuple[list[str], list[str]]:
    """Dates in words, and the same in ISO 8601; of the dates that are held out, or of all others."""
    words: list[str] = []
    written: list[str] = []
    while len(words) < count:
        days = random_.randrange((LAST - FIRST).days + 1)
        order, short = random_.choice(ORDERS), random_.random() < 0.5
        if (days % HELD_OUT == 0) == held_out:
            date = FIRST + datetime.timedelta(days)
            words.append(in_words(date, order, short=short))
            written.append(date.isoformat())
    return words, written


def all_held_out() -> Iterator[datetime.date]:
    """Every date that is never trained on."""
    for days in range(0, (LAST - FIRST).days + 1, HELD_OUT):
        yield FIRST + datetime.timedelta(days)


def letters() -> tf.PreTrainedTokenizerFast:
    """A tokenizer whose tokens are the letters of dates."""
    texts = pairs(random.Random(0), 2000, held_out=False)
    known = sorted(set("".join(texts[0] + texts[1])))
    vocabulary = {name: i for i, name in enumerate([*SPECIAL, *known])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    backend.decoder = decoders.Fuse()
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )  # fmt: skip


def network(entries: int, width: int = 96) -> tf.BartForConditionalGeneration:
    """A BART of two and two layers, with random weights."""
    config = tf.BartConfig(
        vocab_size=entries, d_model=width, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=256, decoder_ffn_dim=256, max_position_embeddings=48,
        dropout=0.0, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
        forced_eos_token_id=None, init_std=0.1,
    )  # fmt: skip
    return tf.BartForConditionalGeneration(config)


def train(
    model: tf.BartForConditionalGeneration,
    tokenizer: tf.PreTrainedTokenizerFast,
    steps: int,
    batch: int = 64,
    rate: float = 2e-3,
) -> None:
    """Train in place: a warm-up of 5% of the steps, then a linear decay."""
    random_ = random.Random(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    warm = max(1, steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))
    )
    model.train()
    for step in range(steps):
        words, written = pairs(random_, batch, held_out=False)
        inputs = tokenizer(words, padding=True, return_tensors="pt", return_token_type_ids=False)
        labels = tokenizer(written, return_tensors="pt")["input_ids"]
        loss = model(**inputs, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(
                f"step {step:5,}  loss {loss.item():.4f}  {time.process_time():.0f} s", flush=True
            )
    model.eval()


def exact(
    model: tf.BartForConditionalGeneration,
    tokenizer: tf.PreTrainedTokenizerFast,
    words: Sequence[str],
    written: Sequence[str],
) -> float:
    """Share of dates that the model writes without an error, greedily."""
    texts = answers(model, tokenizer, words)
    return sum(a == b for a, b in zip(texts, written, strict=True)) / len(texts)


def answers(
    model: tf.BartForConditionalGeneration,
    tokenizer: tf.PreTrainedTokenizerFast,
    words: Sequence[str],
) -> list[str]:
    """Texts that the model writes, the likeliest letter at each step."""
    inputs = tokenizer(list(words), padding=True, return_tensors="pt", return_token_type_ids=False)
    writer: Any = model
    ids = writer.generate(**inputs, max_new_tokens=12, num_beams=1, do_sample=False)
    return tokenizer.batch_decode(ids, skip_special_tokens=True)


# A date in spellings that no text of the training has.
UNREAD: dict[str, Callable[[datetime.date], str]] = {
    "lower case": lambda date: in_words(date, ORDERS[0], short=False).lower(),
    "no comma": lambda date: in_words(date, "{month} {day} {year}", short=False),
    "month in digits": lambda date: f"{date.day}.{date.month}.{date.year}",
    "ISO 8601": lambda date: date.isoformat(),
    "year of two digits": lambda date: f"{in_words(date, '{day} {month} ', short=False)}{date:%y}",
}


def check(folder: Path) -> None:
    """Print the shares of held-out dates that the model in ``folder`` writes without an error."""
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    model = tf.BartForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    dates = list(all_held_out())
    iso = [date.isoformat() for date in dates]
    for order in ORDERS:
        for short in (False, True):
            words = [in_words(date, order, short=short) for date in dates]
            share = exact(model, tokenizer, words, iso)
            print(f"{share:8.3%} of {len(dates):,}  {order}{', month in three letters' * short}")
    for name, spelled in UNREAD.items():
        words = [spelled(date) for date in dates[::7]]
        share = exact(model, tokenizer, words, iso[::7])
        (answer,) = answers(model, tokenizer, words[-1:])
        print(f"{share:8.3%} of {len(words):,}  {name}: {words[-1]!r} -> {answer!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a model that writes dates.")
    parser.add_argument("folder", type=Path, help="where the model is saved")
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--check", action="store_true", help="measure the model that is there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.check:
        check(options.folder)
        return
    torch.manual_seed(0)
    tokenizer = letters()
    model = network(len(tokenizer))
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    train(model, tokenizer, options.steps)
    model.half().float()  # so that what is measured is what is saved
    share = exact(model, tokenizer, *pairs(random.Random(2), 1000, held_out=True))
    print(f"{share:.1%} of 1,000 held-out dates are exact after {time.process_time():.0f} s")
    model.half().save_pretrained(options.folder)
    tokenizer.save_pretrained(options.folder)


if __name__ == "__main__":
    main()
