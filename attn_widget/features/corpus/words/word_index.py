"""WordIndex: which words, in which texts, a layer reads alike."""

from __future__ import annotations

import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.checks import (
    check_count,
    check_flag,
    check_kind,
    check_path,
    check_seed,
    first_line,
    index_in,
    short_repr,
)
from attn_widget.errors import InputError, NotPickled
from attn_widget.features.corpus.identity import same_model
from attn_widget.host.frames import dataframe
from attn_widget.host.installed import require_extra
from attn_widget.host.json_file import parsed_object
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load

if TYPE_CHECKING:
    from attn_widget.features.similarity.ranking import Ranking

KEYS = ("layer", "model", "weights", "tagger", "n_texts", "n_tokens", "failed")
LARGEST = 2**53  # of a number in JSON
TOKENS, TEXTS, SETTINGS = "tokens", "texts", "settings"
METRIC = "cosine"
PROBED = 24  # partitions that an approximate search reads
REFINED = 20  # times k: candidates whose distance is computed from the whole vectors
LARGE = (
    50_000  # tokens from which `index` adds an approximate index: an exact search takes 0.1 s there
)

# The index that was opened last for a model: its widgets show it.
_open: weakref.WeakKeyDictionary[Any, WordIndex] = weakref.WeakKeyDictionary()


def need_lancedb() -> None:
    require_extra("lancedb", "An index of words needs LanceDB", "index")
    require_extra("pyarrow", "An index of words needs pyarrow", "index")


def open_index(encoder: Encoder) -> WordIndex | None:
    """The index that was opened last for this model."""
    return _open.get(encoder.network)


def connect(path: str | Path) -> Any:
    """The database at a path or an address.

    Raises `InputError`: it cannot be opened or made. Raises `NotAvailableError`: LanceDB is not installed.
    """
    need_lancedb()
    import lancedb

    place = path if isinstance(path, str) and "://" in path else str(check_path(path, "path"))
    try:
        return lancedb.connect(place)
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(
            f"{place!r} cannot be opened: {first_line(error)}.", "Give a folder."
        ) from error


def holds(database: Any, name: str) -> bool:
    """True if the database has a table of this name."""
    try:
        database.open_table(name)
    except (ValueError, RuntimeError, OSError):
        return False
    return True


@contextmanager
def _readable() -> Generator[None]:
    """Say that the tables cannot be read, and why: of a damaged one LanceDB raises errors of many kinds."""
    try:
        yield
    except Exception as error:
        raise InputError(
            f"The index of words cannot be read: {first_line(error)}.", "Make it again."
        ) from error


class WordIndex(NotPickled):
    """Hidden states of the tokens of many texts, with text, tag and place, in LanceDB.

    Made by `attn_widget.corpus.index`, or opened again by `WordIndex.open`. The one that was opened last for a model is
    searched by the view Inside of its widgets, until `close`.

    Parameters
    ----------
    database
        As LanceDB connects it.
    encoder : Encoder
        The model that the hidden states are of.
    settings : dict

    Attributes
    ----------
    layer : int
        Whose output the hidden states are, 0-based.
    n_texts, n_tokens : int
    model : str
    approximate : bool
        Whether there is an approximate index.
    """

    _WHY = "it holds an open database"
    _INSTEAD = "Open it again: attn_widget.WordIndex.open(path)."

    def __init__(self, database: Any, encoder: Encoder, settings: dict[str, Any]) -> None:
        hint = "index(texts, path, layer=...) makes a WordIndex."
        check_kind(settings, dict, "settings", hint)
        check_kind(encoder, Encoder, "encoder", hint)
        need_lancedb()
        from lancedb.db import DBConnection

        check_kind(database, DBConnection, "database", hint)
        if missing := [key for key in KEYS if key not in settings]:
            raise InputError(f"settings has no {missing[0]!r}.", hint)
        for name in ("layer", "n_texts", "n_tokens"):
            check_count(settings[name], f"{name} of the settings", 0, LARGEST, hint)
        check_kind(settings["model"], str, "model of the settings", hint)
        check_kind(settings["failed"], list, "failed of the settings", hint)
        with _readable():
            self._tokens = database.open_table(TOKENS)
            self._texts = database.open_table(TEXTS)
        self._encoder, self.settings = encoder, settings
        self.layer, self.model = int(settings["layer"]), str(settings["model"])
        self.n_texts, self.n_tokens = int(settings["n_texts"]), int(settings["n_tokens"])
        self.failed: list[dict[str, Any]] = settings["failed"]
        self.approximate = bool(self._tokens.list_indices())
        _open[encoder.network] = self

    @classmethod
    def open(cls, path: str | Path, *, model: Any = None) -> WordIndex:
        """Open an existing index.

        Parameters
        ----------
        path : str or path
        model : optional
            The one that it was made with; as for `analyze`.

        Raises
        ------
        InputError
            There is none, or it was made with another model.
        NotAvailableError
            LanceDB is not installed.
        """
        database = connect(path)
        try:
            rows = database.open_table(SETTINGS).to_arrow().to_pylist()
            settings = parsed_object(rows[0]["json"])
        except Exception as error:  # of a damaged table LanceDB raises errors of many kinds
            raise InputError(
                f"There is no finished index of words in {str(path)!r}.",
                "Make one with: attn_widget.corpus.index(texts, path, layer=...)",
            ) from error
        if settings is None:
            raise InputError(
                f"The index of words in {str(path)!r} is damaged.",
                "Make it again in another folder.",
            )
        encoder = load(model, progress=False)
        if not same_model(encoder, settings):
            raise InputError(
                f"The index in {str(path)!r} is of {settings['model']}, and model is {encoder.name} or has "
                "other weights or another tokenizer.",
                "Pass the model that it was made with. An index of an earlier version must be made again.",
            )
        return cls(database, encoder, settings)

    def close(self) -> None:
        """Stop showing the index in widgets."""
        if _open.get(self._encoder.network) is self:
            del _open[self._encoder.network]

    def near(
        self,
        analysis: Analysis,
        token: int,
        k: int = 10,
        layer: int | None = None,
        *,
        exact: bool = False,
    ) -> Any:
        """The ``k`` tokens of the index whose hidden states are most like that of a token (needs pandas).

        Parameters
        ----------
        analysis : Analysis
            Of any text, by the model of the index.
        token : int
        k : int
        layer : int, optional
            The one of the index, which no other can be searched in.
        exact : bool
            Search all tokens, also where there is an approximate index.

        Returns
        -------
        pandas.DataFrame
            ``similarity`` (cosine), ``token``, ``pos``, ``text``, ``index`` (place of the text), ``position``
            (of the token), ``start, end`` (code points), nearest first.

        Raises
        ------
        InputError, InputTypeError
            No analysis, of another model, no such token, another layer.
        NotAvailableError
            pandas is not installed.
        """
        return dataframe(self.neighbors(analysis, token, k, layer, exact=exact))

    def similar(
        self,
        text: str,
        model: Any = None,
        *,
        pooling: Any = None,
        truncation: bool = False,
        progress: bool = True,
    ) -> Ranking:
        """The texts of the index, ranked by their similarity to ``text``; each one is explained by a click, or by `explain`.

        Texts are embedded when this is called: an index holds vectors of words, not of texts.

        Parameters
        ----------
        text : str
        model, pooling, truncation, progress : optional
            As in `attn_widget.similarity`. The model need not be that of the index, which may be no embedder; by default
            all-MiniLM-L6-v2.

        Raises
        ------
        InputError, InputTypeError, ModelLoadError
            As in `attn_widget.similarity`; also an index that cannot be read.
        """
        from attn_widget.features.similarity.texts import similarity

        with _readable():
            rows = self._texts.search().select(["index", "text"]).to_list()
        rows.sort(key=lambda row: int(row["index"]))
        texts = [str(row["text"]) for row in rows]
        options: dict[str, Any] = {"pooling": pooling, "truncation": truncation}
        return similarity(text, texts, model, progress=progress, **options)

    def neighbors(
        self, analysis: Any, token: int, k: int, layer: int | None = None, *, exact: bool = False
    ) -> list[dict[str, Any]]:
        """The rows of `near`.

        Parameters
        ----------
        analysis, token, k, layer, exact
            As in `near`.
        """
        check_kind(analysis, Analysis, "analysis", "analyze(text) makes one.")
        token = index_in(token, analysis.trace.n_tokens, "token")
        k, exact = check_count(k, "k", 1, 1000), check_flag(exact, "exact")
        if layer is not None and index_in(layer, self._encoder.n_layers, "layer") != self.layer:
            raise InputError(
                f"layer is {short_repr(layer)}, and this index holds the output of layer {self.layer}.",
                "Make another index: attn_widget.corpus.index(texts, path, layer=...)",
            )
        run = analysis.run
        if run is None or not same_model(run.encoder, self.settings, cached=True):
            raise InputError(
                f"The analysis is not of {self.model}, or of other weights.",
                "Analyze the text with the model of the index.",
            )
        return self._search(analysis.model.hidden_states[self.layer + 1][token], k, exact)

    def _search(self, vector: NDArray[np.float32], k: int, exact: bool) -> list[dict[str, Any]]:
        columns = ["token", "pos", "index", "position", "start", "end", "_distance"]
        query = self._tokens.search(vector.astype(np.float32)).distance_type(METRIC).limit(k)
        if exact or not self.approximate:
            query = query.bypass_vector_index()
        else:
            query = query.nprobes(PROBED).refine_factor(REFINED)
        with _readable():
            rows = query.select(columns).to_list()
            places = sorted({int(row["index"]) for row in rows})
            texts: dict[int, str] = {}
            if places:
                wanted = f"index in ({', '.join(map(str, places))})"
                matches = self._texts.search().where(wanted).limit(len(places)).to_list()
                texts = {int(row["index"]): row["text"] for row in matches}
        return [
            {
                "similarity": 1.0 - float(row["_distance"]),
                "token": row["token"],
                "pos": row["pos"],
                "text": texts[int(row["index"])],
                **{name: int(row[name]) for name in ("index", "position", "start", "end")},
            }
            for row in rows
        ]

    def recall(self, k: int = 10, queries: int = 100, seed: int = 0) -> float:
        """Share of the ``k`` nearest that the approximate index finds, over a uniform sample of its tokens.

        Parameters
        ----------
        k : int
        queries : int
            Tokens that are drawn.
        seed : int

        Raises
        ------
        InputError, InputTypeError
            No such ``k``, ``queries`` or ``seed``.
        """
        k, queries = check_count(k, "k", 1, 1000), check_count(queries, "queries", 1, 100_000)
        rng = np.random.default_rng(check_seed(seed))
        places = rng.choice(self.n_tokens, min(queries, self.n_tokens), replace=False)
        taken = self._tokens.take_offsets(sorted(places.tolist())).select(["vector"]).to_arrow()
        hits = total = 0
        for vector in taken["vector"].to_pylist():
            query = np.array(vector, np.float32)
            near = [
                {(row["index"], row["position"]) for row in self._search(query, k, exact)}
                for exact in (False, True)
            ]
            hits += len(near[0] & near[1])
            total += len(near[1])
        return hits / total

    def __repr__(self) -> str:
        how = "approximate" if self.approximate else "exact"
        return (
            f"<WordIndex of {self.model}, layer {self.layer}: {self.n_tokens} tokens of {self.n_texts} "
            f"texts, {how}>"
        )
