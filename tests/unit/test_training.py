"""The training pipeline with a tiny model: prepare, train, kill, resume, export, measure, load."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForPreTraining, AutoTokenizer, BertForPreTraining

from training.card import build_card, fill_guide, training_section
from training.corpus import Corpus
from training.curve import curve_svg, run_facts
from training.evaluate import describe, evaluate
from training.export import export
from training.level import SHIPPED, level_by
from training.model import build_model, load_checkpoint
from training.prepare import load_tokenizer, pack
from training.settings import Settings, read_settings
from training.train import learning_rate, train, validate

# about a minute of one core in all, but minutes beside a training run that has priority
pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).resolve().parents[2]
BASE = str(ROOT / "attn_widget" / "mini")  # its tokenizer is the real base's
TINY = [
    f"model.base={json.dumps(BASE)}",
    "model.pretrained=false",
    "model.layers=3",
    "model.heads=2",
    "model.width=32",
    "batch.step_tokens=512",
    "batch.micro_tokens=256",
    "batch.length=64",
    "batch.long_length=128",
    "train.peak_lr=5e-3",
    "train.warmup_tokens=3_000",
    "train.decay_tokens=6_000",
    "train.whole_tokens=6_000",
    "train.final_tokens=6_000",
    "train.eval_tokens=4_000",
    "train.threads=1",
    "train.log_steps=10",
    'train.optimizer="adamw"',
    "train.keep_share=0.5",
    "train.rest_weight=0.0",
    "train.nsp_weight=0.5",
    "batch.single=0.42",
    "batch.pair=0.38",
    "batch.short=0.15",
    "batch.names=0",
    "train.average_tokens=20_000",
    *(
        f"{section}.{name}=0"
        for section, names in (
            ("running", "books dialogues"),
            ("alone", "books dialogues examples proverbs"),
            ("named", "dialogues"),
        )
        for name in names.split()
    ),
]
TOTAL, DECAY, STEP = 12_000, 6_000, 512  # tokens
SHORT = [*TINY, f"train.total_tokens={TOTAL}", 'train.optimizer="muon"']  # and its state is kept
TWO_HUNDRED_STEPS = [
    "batch.step_tokens=2048",
    "batch.micro_tokens=2048",
    "batch.length=128",
    "train.total_tokens=409_600",
    "train.decay_tokens=100_000",
    "train.keep_share=1.0",
    "train.rest_weight=0.5",
]


TOPICS = (
    ("farmer cow horse dog field barn milk grass", "feeds sees"),
    ("sailor captain ship boat island harbor storm wave", "follows fears"),
    ("king queen prince knight castle sword crown throne", "loves guards"),
    ("teacher student child friend school book lesson room", "likes reads"),
)


def paragraphs(seed: int, count: int) -> list[str]:
    """Made-up prose, each paragraph about one of four topics in turn, with that topic's words.

    Sentences differ in length: were they all alike, a position alone would tell the word.
    """
    rng = np.random.default_rng(seed)

    def sentence(nouns: list[str], verbs: list[str]) -> str:
        young = "young " * int(rng.integers(3))
        near = f" near the {rng.choice(nouns)}" * int(rng.integers(2))
        return f"The {young}{rng.choice(nouns)}{near} {rng.choice(verbs)} the {rng.choice(nouns)}."

    made: list[str] = []
    for number in range(count):
        nouns, verbs = (words.split() for words in TOPICS[number % len(TOPICS)])
        made.append(" ".join(sentence(nouns, verbs) for _ in range(int(rng.integers(20, 30)))))
    return made


def entropy(texts: list[str]) -> float:
    """Entropy of the word pieces of ``texts`` in nats: the loss of knowing their frequencies."""
    tokenizer = load_tokenizer(BASE)
    ids = [i for text in texts for i in tokenizer.encode(text, add_special_tokens=False).ids]
    share = np.unique(ids, return_counts=True)[1] / len(ids)
    return float(-(share * np.log(share)).sum())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    tokenizer = load_tokenizer(BASE)
    pack(iter(paragraphs(0, 200)), tokenizer, folder, "wikipedia")
    pack(iter(paragraphs(3, 20)), tokenizer, folder, "tatoeba")
    pack(iter(paragraphs(1, 20)), tokenizer, folder, "validation")
    return folder


def new_run(tmp_path: Path, data: Path, name: str) -> Path:
    run = tmp_path / name
    run.mkdir()
    (run / "data").symlink_to(data, target_is_directory=True)
    return run


@pytest.fixture(scope="module")
def short_run(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    run = new_run(tmp_path_factory.mktemp("runs"), data, "short")
    train(run, read_settings(overrides=SHORT))
    return run


def test_names_are_the_words_that_keep_their_capital_inside_a_sentence(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(BASE)
    prose = ["The Turkey sandwich of Paris was cold, and a turkey ran to Rome. May it rest."] * 5
    pack(
        iter([*prose, "He went to Oslo once, and he may go to Paris in May."]),
        tokenizer,
        tmp_path,
        "t",
    )
    names = [tokenizer.id_to_token(int(i)) for i in np.fromfile(tmp_path / "t.names", np.uint16)]
    assert sorted(names) == ["paris", "rome"]


def test_a_killed_run_ends_with_the_parameters_of_one_that_was_not(
    tmp_path: Path, data: Path, short_run: Path
) -> None:
    settings = read_settings(overrides=SHORT)
    killed = new_run(tmp_path, data, "killed")
    every_step = [*SHORT, "train.checkpoint_minutes=0"]
    overrides = itertools.chain.from_iterable(("--set", entry) for entry in every_step)
    process = subprocess.Popen(
        [sys.executable, "-m", "training.train", "--run", str(killed), *overrides],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
    )
    while not (killed / "checkpoint.pt").exists():
        assert process.poll() is None, "the run ended without a checkpoint"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, step_of_kill, _ = load_checkpoint(killed, settings["model"])
    train(killed, settings)
    ours, step, tokens = load_checkpoint(killed, settings["model"])
    theirs, other_step, other_tokens = load_checkpoint(short_run, settings["model"])
    assert 0 < step_of_kill < step == other_step
    assert tokens == other_tokens >= TOTAL
    for (name, a), b in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert torch.equal(a, b), name


def test_a_longer_run_goes_on_from_before_the_decay(
    tmp_path: Path, data: Path, short_run: Path
) -> None:
    settings = read_settings(overrides=SHORT)
    run = new_run(tmp_path, data, "longer")
    shutil.copy(short_run / "before-decay.pt", run / "checkpoint.pt")
    _, _, tokens = load_checkpoint(run, settings["model"])
    assert TOTAL - DECAY - STEP <= tokens < TOTAL - DECAY
    settings["train"]["total_tokens"] = TOTAL + 4 * STEP
    train(run, settings)
    assert load_checkpoint(run, settings["model"])[2] >= TOTAL + 4 * STEP


def test_a_second_run_begins_with_an_exported_model_and_warms_up_anew(
    tmp_path: Path, data: Path, short_run: Path
) -> None:
    settings = read_settings(overrides=SHORT)
    done = export(short_run, tmp_path / "first", settings)
    settings["train"]["total_tokens"] = TOTAL + 12 * STEP
    settings["train"]["optimizer"] = "adamw"
    run = new_run(tmp_path, data, "second")
    train(run, settings, begin=tmp_path / "first")
    _, step, tokens = load_checkpoint(run, settings["model"])
    assert (step, tokens) > (done.step, TOTAL + 12 * STEP - 1)
    records = [json.loads(line) for line in (run / "curve.jsonl").read_text().splitlines()]
    before = [json.loads(line) for line in (short_run / "curve.jsonl").read_text().splitlines()]
    assert records[0]["tokens"] == done.tokens
    # What ships is float16, of 11 digits.
    ended = before[-1]["validation_loss"]
    assert records[0]["validation_loss"] == pytest.approx(ended, rel=2**-10)
    state = torch.load(run / "checkpoint.pt", weights_only=True)
    assert state["begun"] == done.tokens
    first = run_facts(short_run, read_settings(overrides=SHORT))
    both = run_facts(run, settings, first)
    assert [stretch["begun"] for stretch in both["stretches"]] == [0, done.tokens]
    assert sum(stretch["steps"] for stretch in both["stretches"]) == both["steps"] == step
    assert len(both["validation"]) == len(first["validation"]) + 2

    export(run, tmp_path / "mean", settings, (tmp_path / "first", 0.25))
    stored, _, _ = load_checkpoint(run, settings["model"])
    level_by(stored, data, SHIPPED)
    ends = (BertForPreTraining.from_pretrained(tmp_path / name) for name in ("first", "mean"))
    begun, mean = (dict(end.named_parameters()) for end in ends)
    for name, value in stored.named_parameters():
        wanted = 0.75 * value + 0.25 * begun[name]
        # float16 has 11 digits, of the larger values that a small one may be the difference of.
        size = float(((0.75 * value).abs().max() + (0.25 * begun[name]).abs().max()).detach())
        # and its numbers are 2^-24 apart where they are smallest
        torch.testing.assert_close(mean[name], wanted, rtol=2**-10, atol=2**-11 * size + 2**-25)
    with pytest.raises(ValueError, match=r"share 1\.0: expected a number between 0 and 1"):
        export(run, tmp_path / "mean", settings, (tmp_path / "first", 1.0))
    told = training_section(both)
    assert "Muon for the layers' matrices" in told and "AdamW, peak rate 0.005, schedule" in told
    with pytest.raises(ValueError, match="does not fit"):
        train(new_run(tmp_path, data, "other"), settings, begin=Path(BASE))


def test_two_hundred_steps_from_text_to_a_model_that_shows(tmp_path: Path, data: Path) -> None:
    settings = read_settings(overrides=[*TINY, *TWO_HUNDRED_STEPS])
    run, out = new_run(tmp_path, data, "run"), tmp_path / "model"
    train(run, settings)
    done = export(run, out, settings)
    assert done.step >= 200
    assert done.max_logit_error < 0.05  # logits of about 10 in half precision

    text, prose = tmp_path / "validation.txt", paragraphs(2, 40)
    text.write_text("\n".join(prose), encoding="utf-8")
    held = tmp_path / "short.txt"
    held.write_text("\n".join(line.split(". ")[0] + "." for line in prose), encoding="utf-8")
    figures = evaluate(out, text, settings, quick=True, held=[held])
    masked = figures["masked"]
    # the first thing a model learns beyond frequencies is the topic; half of its worth is asked for
    worth = entropy(prose) - np.mean([entropy(prose[topic::4]) for topic in range(4)])
    assert worth > 0.5
    assert masked["model"]["loss"] < masked["word_frequency"]["loss"] - worth / 2
    assert masked["model"]["top1"] > masked["word_frequency"]["top1"]
    assert masked["before_training"]["top1"] < masked["model"]["top1"]
    assert figures["model"] == {"step": done.step, "tokens": done.tokens}
    assert json.loads(json.dumps(figures)) == figures
    assert "minimal pairs" in describe(figures)

    facts = run_facts(run, settings)
    assert facts["steps"] == done.step
    assert curve_svg(facts).count("<circle") == len(facts["validation"])
    card = build_card(facts, figures)
    assert f"{masked['model']['top1']:.1%}" in card
    assert f"{masked['model']['hidden_top1']:.1%}" in card
    assert figures["kinds"]["short"]["alone"] and not figures["kinds"]["validation"]["alone"]
    assert "| short, a sentence at a time |" in card
    assert f"{figures['heads']['resting']} of 6 heads give more than half" in card
    relations = figures["heads"]["words_only"]["patterns"]
    best = max(value for own in relations["object to verb"]["accuracy"] for value in own)
    assert re.search(rf"\| object to verb \| L\d H\d \| {best:.1%} \|", card)
    assert figures["everyday"]["n"] == 120 and "| proverbs from elsewhere | 5 |" in card
    assert "tatoeba.org" in card and "Project Gutenberg" not in card
    guide = (ROOT / "training" / "README.md").read_text(encoding="utf-8")
    assert f"{facts['steps']:,} steps" in fill_guide(guide, facts)

    import attn_widget as aw

    widget = aw.show("The farmers near the barn see the cow.", model=str(out))
    assert widget.status == "ready"
    assert widget.first_paint[:4] == b"AWP1"
    widget.close()


def test_the_exported_model_loads_without_a_warning_and_is_tied(
    tmp_path: Path, short_run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = read_settings(overrides=SHORT)
    out = tmp_path / "model"
    export(short_run, out, settings)
    model = AutoModelForPreTraining.from_pretrained(out, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(out, local_files_only=True)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    assert isinstance(model, BertForPreTraining)
    assert model.dtype == torch.float32
    assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight
    assert tokenizer.is_fast
    plain = load_tokenizer(BASE)
    for text in ("Café unaffable 你好!", "a [MASK] b", "x " * 400, "<b>\tit's</b>"):
        assert (
            tokenizer(text, add_special_tokens=False).input_ids
            == plain.encode(text, add_special_tokens=False).ids
        )
    stored, _, _ = load_checkpoint(short_run, settings["model"])
    level_by(stored, short_run / "data", SHIPPED)
    for (name, a), b in zip(model.named_parameters(), stored.parameters(), strict=True):
        assert torch.equal(a, b.half().float()), name


def test_the_real_shape_is_under_48_megabytes_in_half_precision() -> None:
    from training.export import MAX_BYTES, half_weights
    from training.model import build_config

    with torch.device("meta"):
        model = BertForPreTraining(build_config(read_settings()["model"]))
    n_bytes = sum(
        2 * value.numel()
        for name, value in model.state_dict().items()
        if "predictions.decoder" not in name
    )
    assert n_bytes <= MAX_BYTES == 48_000_000
    tiny = read_settings(overrides=TINY)["model"]
    weights = half_weights(BertForPreTraining(build_config(tiny)))
    assert {value.dtype for value in weights.values()} == {torch.float16}
    assert not [name for name in weights if "predictions.decoder" in name]


def test_a_weight_that_float16_cannot_hold_is_refused() -> None:
    from training.export import half_weights
    from training.model import build_config

    model = BertForPreTraining(build_config(read_settings(overrides=TINY)["model"]))
    with torch.no_grad():
        model.bert.embeddings.word_embeddings.weight[5, 5] = 1e6
    with pytest.raises(ValueError, match=r"word_embeddings.*float16"):
        half_weights(model)


def test_validation_masks_fifteen_per_cent_whatever_training_does(data: Path) -> None:
    settings = read_settings(overrides=SHORT)
    corpus = Corpus.open(data, "validation")
    model = build_model(settings["model"], corpus.unigram_counts(30522))
    usual = validate(model, corpus, settings, torch.device("cpu"))
    more = read_settings(overrides=[*SHORT, "batch.mask_rate=0.4"])
    assert validate(model, corpus, more, torch.device("cpu")) == usual


def test_an_unknown_setting_is_named_with_the_known_ones() -> None:
    with pytest.raises(KeyError, match=r"no setting 'train.speed'.*train\.peak_lr"):
        read_settings(overrides=["train.speed=3"])


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("train.compile=1", "true or false"),
        ("train.total_tokens=2.5", "a whole number"),
        ("train.total_tokens=true", "a whole number"),
        ("train.peak_lr=fast", "a number"),
        ("train.schedule=3", "a string"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused(override: str, expected: str) -> None:
    with pytest.raises(ValueError, match=f"{re.escape(override)}: expected {expected}, as in"):
        read_settings(overrides=[override])


@pytest.mark.parametrize("other", ["train.keep_share=0.5", "train.compile=true"])
def test_what_hides_the_weights_excludes_a_penalty_that_reads_them(
    other: str, tmp_path: Path
) -> None:
    settings = read_settings(overrides=["train.rest_weight=0.5", other])
    with pytest.raises(ValueError, match="set one of them"):
        train(tmp_path, settings)


@pytest.mark.parametrize("schedule", ["trapezoid", "linear", "cosine"])
def test_every_schedule_warms_up_and_ends_at_zero(schedule: str) -> None:
    options: Settings = read_settings(overrides=[f'train.schedule="{schedule}"'])
    train_options = options["train"]
    total, warmup = train_options["total_tokens"], train_options["warmup_tokens"]
    assert learning_rate(0, train_options) == 0
    assert learning_rate(warmup, train_options) == pytest.approx(1)
    rates = [learning_rate(tokens, train_options) for tokens in range(warmup, total, 100_000)]
    assert rates == sorted(rates, reverse=True)
    assert learning_rate(total, train_options) == pytest.approx(0)
    begun = 2 * warmup
    assert learning_rate(begun, train_options, begun) == 0
    assert learning_rate(begun + warmup // 2, train_options, begun) == pytest.approx(0.5)
    assert learning_rate(begun + warmup, train_options, begun) == pytest.approx(1)
    assert learning_rate(total, train_options, begun) == pytest.approx(0)
