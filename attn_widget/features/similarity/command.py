"""`attn-widget similarity A B`: the score and its strongest pairs of words, or a ranking, on the screen or as a page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attn_widget.command import (
    OUTPUT,
    SWITCH,
    TITLE,
    TRUNCATION,
    Option,
    add_options,
    ended,
    parse,
    say,
)

if TYPE_CHECKING:
    from attn_widget.features.similarity.ranking import Ranking
    from attn_widget.features.similarity.similarity import Similarity

OPTIONS = {
    "model": Option("hub name or folder; all-MiniLM-L6-v2 unless given", {}),
    "pooling": Option("of a model that names none: mean, cls, last, max ...", {}),
    "prompt": Option("put before both texts, or the name of a prompt", {}),
    "output": OUTPUT,
    "title": TITLE,
    "engine": Option("include the model, so that both texts can be typed", SWITCH, ("output",)),
    "top_k": Option("pairs or passages to print (10); a page has all", {"metavar": "K", "type": int}, (), ("output",)),
    "truncation": TRUNCATION,
}  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """`attn-widget similarity A B`: the score and its strongest pairs of words; with several B, a ranking."""
    parser = argparse.ArgumentParser(
        prog="attn-widget similarity",
        description="Why are two texts similar, by a sentence embedder or a reranker? Several B are ranked.",
    )
    parser.add_argument("a", metavar="A")
    parser.add_argument("b", metavar="B", nargs="+")
    add_options(parser, OPTIONS)
    return ended(show_similarity, parse(parser, OPTIONS, arguments))


def show_similarity(options: argparse.Namespace) -> None:
    """A page, or the largest numbers on the screen."""
    from attn_widget.features.similarity.ranking import Ranking
    from attn_widget.features.similarity.texts import similarity
    from attn_widget.host.files import destination

    target = None if options.output is None else destination(options.output)
    chosen = {n: getattr(options, n) for n in ("model", "pooling", "prompt", "truncation")}
    texts: Any = options.b if len(options.b) > 1 else options.b[0]
    result = similarity(options.a, texts, tagger=None, **chosen)
    if target is not None:
        for note in result.notes:
            say(note)
        path = result.to_html(target, title=options.title, engine=options.engine)
        say(f"wrote {path} ({path.stat().st_size / 1e6:.2f} MB)")
    elif isinstance(result, Ranking):
        print_ranking(result, options.top_k or 10)
    else:
        print_similarity(result, options.top_k or 10)


def print_similarity(compared: Similarity, top: int) -> None:
    """The score, the pairs of words that are largest in size, and what the rest adds."""
    for note in compared.notes:
        say(note)
    say(f"{compared.kind} {compared.score:.4f}")
    if compared.probability is not None:
        say(f"sigmoid {compared.probability:.4f}")
        explained = compared.contributions()
        own = [i for i, token in enumerate(explained.tokens) if not token.special]
        for i in sorted(own, key=lambda i: -abs(explained.values[i]))[:top]:
            say(f"{explained.values[i]:+8.4f}  {explained.tokens[i].surface}")
        return
    pairs = compared.pairs(top)
    for pair in pairs:
        say(f"{pair.value:+8.4f}  {pair.a} - {pair.b}")
    bias = float(compared.biases.sum()) if compared.kind != "maxsim" else 0.0
    rest = compared.score - bias - sum(pair.value for pair in pairs)
    say(f"{rest:+8.4f}  all other pairs")
    if compared.kind != "maxsim":
        say(f"{bias:+8.4f}  biases")


def print_ranking(ranking: Ranking, top: int) -> None:
    """The best passages with their scores, and those that failed."""
    for note in ranking.notes:
        say(note)
    for index, score, passage in ranking.top(top):
        say(f"{score:8.4f}  {index + 1:3}  {passage}")
    for index, reason in ranking.failed.items():
        say(f"{'-':>8}  {index + 1:3}  {reason}")
