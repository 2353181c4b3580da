"""Table 4 of the VADER paper, computed again from the sentences and the program that came with it.

``python -m benchmarks.vader_tables``, or with the word lists of Hu & Liu (2004), a file of
``word,positive`` and ``word,negative`` lines: ``python -m benchmarks.vader_tables --hu-liu opinion.csv``

Correlation is Pearson's, of a program's score with the mean human rating of each sentence. Precision,
recall and F1 are of three classes by the sign (negative, exactly 0, positive), weighted by how often
each class occurs. What the differences mean: docs/tasks.md.

References
----------
Hutto & Gilbert (2014), VADER: A parsimonious rule-based model for sentiment analysis of social media
text.
"""

from __future__ import annotations

import argparse
import ast
import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support

from attn_widget.features.tasks import lexicon, rated_sentences
from attn_widget.features.tasks.data.archive import member
from attn_widget.features.tasks.data.rated import SOURCES, RatedSentences

Score = Callable[[Sequence[str]], NDArray[np.float64]]


class Figures(NamedTuple):
    correlation: float
    precision: float
    recall: float
    f1: float


DIGITS = Figures(3, 2, 2, 2)  # those that the paper prints
PAPER = {
    "tweets": {
        "Ind. Humans": Figures(0.888, 0.95, 0.76, 0.84),
        "VADER": Figures(0.881, 0.99, 0.94, 0.96),
        "Hu-Liu04": Figures(0.756, 0.94, 0.66, 0.77),
    },
    "films": {
        "Ind. Humans": Figures(0.899, 0.95, 0.90, 0.92),
        "VADER": Figures(0.451, 0.70, 0.55, 0.61),
        "Hu-Liu04": Figures(0.416, 0.66, 0.56, 0.59),
    },
    "amazon": {
        "Ind. Humans": Figures(0.911, 0.94, 0.80, 0.85),
        "VADER": Figures(0.565, 0.78, 0.55, 0.63),
        "Hu-Liu04": Figures(0.571, 0.74, 0.56, 0.62),
    },
    "editorials": {
        "Ind. Humans": Figures(0.745, 0.87, 0.55, 0.65),
        "VADER": Figures(0.492, 0.69, 0.49, 0.55),
        "Hu-Liu04": Figures(0.487, 0.70, 0.45, 0.52),
    },
}


def figures(truth: NDArray[np.float64], scores: NDArray[np.float64]) -> Figures:
    """The four figures of scores against the mean ratings."""
    three = precision_recall_fscore_support(
        np.sign(truth), np.sign(scores), average="weighted", zero_division=0
    )
    return Figures(float(np.corrcoef(truth, scores)[0, 1]), *map(float, three[:3]))


def published_program(valences: dict[str, float]) -> Score:
    """The program of 2014, from the same archive, with a lexicon.

    It is Python 2 in two places, both of which are left out: ``reload(sys)`` and the lines that read
    the lexicon, which is given instead.
    """
    source = member("vaderSentiment.py").decode()
    start, end = source.index("f = 'vader_sentiment_lexicon.txt'"), source.index("# for removing")
    source = source[:start] + source[end : source.index("if __name__")]
    space: dict[str, Any] = {"word_valence_dict": valences}
    exec(compile(source.replace("reload(sys)", ""), "vaderSentiment.py", "exec"), space)
    return lambda texts: np.array([space["sentiment"](text)["compound"] for text in texts])


def published_lexicon() -> dict[str, float]:
    lines = member("vader_sentiment_lexicon.txt").decode("latin-1").splitlines()
    rows = [line.strip().split("\t") for line in lines if line.strip()]
    return {row[0]: float(row[1]) for row in rows}


def opinion_lexicon(path: Path) -> dict[str, float]:
    """1 for a positive word, -1 for a negative one."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.reader(lines) if len(row) == 2]
    signs = {"positive": 1.0, "negative": -1.0}
    return {word: signs[sign.strip()] for word, sign in rows if sign.strip() in signs}


def humans(sentences: RatedSentences) -> Figures:
    """Each single rating against the mean of its sentence, found by id (20 lines are out of order)."""
    name = SOURCES[sentences.name].replace("GroundTruth", "anonDataRatings")
    rows = [line.split("\t") for line in member(name).decode("utf-8-sig").splitlines() if line]
    single = {row[0]: ast.literal_eval(row[3]) for row in rows}
    ratings_of = [np.array(single[identifier], dtype=float) for identifier in sentences.ids]
    truth = np.repeat(sentences.scores, [len(ratings) for ratings in ratings_of])
    return figures(truth, np.concatenate(ratings_of))


def line(source: str, run: str, row: str, found: Figures) -> str:
    cells = [f"{source:<10} {run:<28} {row:<12}"]
    for ours, paper, digits in zip(found, PAPER[source][row], DIGITS, strict=True):
        ours = round(ours, int(digits))
        cells.append(f"{paper:.{digits}f} {ours:.{digits}f} {ours - paper:+.{digits}f}")
    return "   ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description="Table 4 of the VADER paper, computed again.")
    parser.add_argument("--hu-liu", type=Path, help="word,positive and word,negative lines")
    given = parser.parse_args().hu_liu
    vader = published_program(published_lexicon())
    hu_liu = published_program(opinion_lexicon(given)) if given else None
    print(f"{'':<52}   " + "   ".join(f"{name:<17}" for name in Figures._fields))
    print(
        f"{'source':<10} {'run':<28} {'paper’s row':<12}   " + "   ".join(["paper ours diff  "] * 4)
    )
    for source in PAPER:
        sentences = rated_sentences(source)
        print(line(source, "single ratings", "Ind. Humans", humans(sentences)))
        measured = figures(sentences.scores, vader(sentences.texts))
        for row in ("VADER", "Hu-Liu04"):
            print(line(source, "program and lexicon of 2014", row, measured))
        if hu_liu is not None:
            measured = figures(sentences.scores, hu_liu(sentences.texts))
            for row in ("VADER", "Hu-Liu04"):
                print(line(source, "2014, Hu & Liu's words", row, measured))
        measured = figures(sentences.scores, lexicon(sentences.texts))
        print(line(source, "vaderSentiment 3.3.2", "VADER", measured))


if __name__ == "__main__":
    main()
