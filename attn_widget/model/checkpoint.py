"""A name or a folder to a model and its tokenizer, with errors that say what to do."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from logging import CRITICAL
from pathlib import Path
from typing import Any

from attn_widget.checks import shown, stands_at
from attn_widget.errors import InputTypeError, ModelLoadError
from attn_widget.host.notice import current_notice

MINI = Path(__file__).parent / "mini"
HUB_TIMEOUT = 5.0  # seconds to wait for the hub's first answer
OFFLINE_HINT = "The embedded model needs no network: load() or model=None."
ENCODERS_HINT = (
    "Use a BERT-family encoder such as bert-base-uncased, roberta-base or ModernBERT-base. "
    + OFFLINE_HINT
)
HEADS = (
    "ForPreTraining",
    "ForMaskedLM",
    "ForNextSentencePrediction",
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
)
VOCABULARIES = (
    "tokenizer.json",
    "vocab*",
    "*.model",
    "*.codes",
)  # one of them is in every tokenizer
OWN_MODEL_TYPES = {  # and the modules that tell transformers of them
    "attn_widget_mean_pooling": "attn_widget.tasks.mean",
    "attn_widget_text_cnn": "attn_widget.tasks.cnn",
}
# What a configuration may claim: a hundred times what the largest encoders have.
LARGEST = {
    "num_hidden_layers": 1000,
    "num_attention_heads": 1000,
    "hidden_size": 100_000,
    "intermediate_size": 1_000_000,
    "vocab_size": 50_000_000,
    "max_position_embeddings": 10_000_000,
    "type_vocab_size": 100_000,
}
MAY_BE_NONE = (
    "max_position_embeddings",
    "type_vocab_size",
)  # DeBERTa has neither segments nor places
LEAST_KNOWN = (
    0.1  # entries of a tokenizer, as a share of the embeddings; padding to a round number is less
)
MOST_NUMBERS = 2e11  # weights, by a rough count of embeddings and layers
DISCRIMINATORS = ("ElectraForPreTraining",)  # its head tells real tokens from replaced ones


@dataclass(frozen=True)
class Place:
    """Where a checkpoint lies.

    Attributes
    ----------
    path : str
        A folder or a hub name: what `from_pretrained` takes.
    name : str
        What it is called on screen.
    is_folder : bool
    revision : str or None
        Branch, tag or commit on the hub.
    """

    path: str
    name: str
    is_folder: bool
    revision: str | None = None


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model.

    Attributes
    ----------
    model, tokenizer
        Of `transformers`, or what stands for them until ``full`` is called.
    name : str
    revision : str or None
    untrained : frozenset of str
        Parameters that the checkpoint did not have.
    full : callable, optional
        Loads the same with the objects of `transformers`.
    """

    model: Any
    tokenizer: Any
    name: str
    revision: str | None
    untrained: frozenset[str] = frozenset()
    full: Callable[[], Checkpoint] | None = None


def locate(model: str | Path | None, revision: str | None = None) -> Place:
    """The folder or hub name that ``model`` means; None is the embedded model.

    Raises
    ------
    ModelLoadError
        A path that is no folder, or a str that is neither a folder nor a possible hub name.
    """
    if model is None:
        if not (MINI / "model.safetensors").is_file():
            raise ModelLoadError(
                "The embedded model is missing from the installed package.",
                "Install attn_widget again, or name another model.",
            )
        return Place(str(MINI), "attn_widget/mini", True)
    text = str(model)
    folder = Path(text).expanduser()
    if text and stands_at(folder) == "folder":
        return Place(str(folder.resolve()), folder.resolve().name, True)
    if isinstance(model, Path) or text.startswith((".", "/", "~")) or "\\" in text:
        what = "is a file" if stands_at(folder) else "does not exist"
        raise ModelLoadError(
            f"The folder {shorten(text)!r} {what}.",
            "Give the folder that save_pretrained() wrote, a hub name, or None.",
        )
    if not is_hub_name(text):
        raise ModelLoadError(
            f"{shorten(text)!r} is neither a folder nor a hub name such as 'bert-base-uncased'.",
            OFFLINE_HINT,
        )
    return Place(text, text, False, revision)


def is_hub_name(text: str) -> bool:
    """Whether the hub can have a model of this name."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(text)
    except HFValidationError:
        return False
    return True


def shorten(text: str) -> str:
    """The beginning of a name that is longer than a message should be."""
    return text if len(text) <= 200 else text[:199] + "…"


def load_checkpoint(place: Place, tokenizer: Any, dtype: Any, progress: bool) -> Checkpoint:
    """Load what lies at ``place``; from the local cache when it is there, else from the hub.

    Raises
    ------
    ModelLoadError
        Not found, no network, broken files, needs code from the hub, no encoder, no fast tokenizer.
    """
    with quiet(place.name, progress):
        if place.is_folder:
            return _load(place, tokenizer, dtype, local=True)
        if _cached_config(place) is not None:
            try:
                return _load(place, tokenizer, dtype, local=True)
            except ModelLoadError as error:
                if not isinstance(error.__cause__, OSError):
                    raise
        _ask_hub(place)
        return _load(place, tokenizer, dtype, local=False)


def embedded_checkpoint(place: Place) -> Checkpoint:
    """The embedded model (float32, on the CPU) without the import of `transformers`.

    Raises
    ------
    ModelLoadError
        Its files cannot be read.
    """
    with _told(place, "its weights"):
        from attn_widget.model.embedded import FastTokenizer, embedded_network

        network, tokenizer = embedded_network(MINI), FastTokenizer(MINI)

    def full() -> Checkpoint:
        return load_checkpoint(place, None, None, progress=False)

    return Checkpoint(network, tokenizer, place.name, None, full=full)


@contextmanager
def quiet(name: str, progress: bool) -> Generator[None]:
    """Keep the messages of `transformers` to itself; its bar over the weights becomes ours."""
    from huggingface_hub import utils as hub
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging

    def bar(_factory: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        return loading_bar(name, args, {**kwargs, "unit": " tensors", "disable": not progress})

    verbosity, hub_verbosity = logging.get_verbosity(), hub_logging.get_verbosity()
    bars_were_off = hub.are_progress_bars_disabled()
    logging.set_verbosity(CRITICAL)
    hub_logging.set_verbosity(CRITICAL)
    previous = logging.set_tqdm_hook(bar)
    if not progress and not bars_were_off:
        hub.disable_progress_bars()
    try:
        yield
    finally:
        if not progress and not bars_were_off:
            hub.enable_progress_bars()
        logging.set_tqdm_hook(previous)
        hub_logging.set_verbosity(hub_verbosity)
        logging.set_verbosity(verbosity)


def loading_bar(name: str, args: Any, options: dict[str, Any]) -> Any:
    """A bar over the weights, which is gone once they are loaded: in the notice of a cell, else on stderr."""
    from tqdm import tqdm

    label = f"Loading {name}"
    notice = current_notice()
    if notice is None:
        return tqdm(*args, **{**options, "desc": label, "leave": False})

    class NoticeBar(tqdm):  # pyright: ignore[reportMissingTypeArgument]
        def display(self, *_: Any, **__: Any) -> None:
            notice.say(label, self.n / self.total if self.total else None)

    return NoticeBar(*args, **{**options, "file": io.StringIO(), "leave": True})


def _cached_config(place: Place) -> str | None:
    """Path of the ``config.json`` that the hub's local cache holds, if any."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(place.path, "config.json", revision=place.revision)
    return found if isinstance(found, str) else None


def _commit(place: Place) -> str | None:
    """The commit that was loaded: the cache keeps each in a folder of its name."""
    config = None if place.is_folder else _cached_config(place)
    return place.revision if config is None else Path(config).parent.name


def _ask_hub(place: Place) -> None:
    """One short question to the hub, because `from_pretrained` retries for most of a minute."""
    from huggingface_hub import constants, errors, get_hf_file_metadata, hf_hub_url

    if constants.HF_HUB_OFFLINE:
        raise ModelLoadError(
            f"{place.name!r} is not in the local cache, and HF_HUB_OFFLINE forbids to fetch it.",
            "Unset HF_HUB_OFFLINE, or give a folder. " + OFFLINE_HINT,
        )
    url = hf_hub_url(place.path, "config.json", revision=place.revision)
    try:
        get_hf_file_metadata(url, timeout=HUB_TIMEOUT)
    except errors.GatedRepoError as error:
        raise ModelLoadError(
            f"{place.name!r} is gated on the hub.",
            "Accept its terms on its page and log in with `hf auth login`.",
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ModelLoadError(
            f"{place.name!r} has no revision {place.revision!r}.", "Use a branch, tag or commit."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ModelLoadError(
            f"The hub has no model {place.name!r} (or it is private).",
            "Check the name, or log in with `hf auth login`. " + OFFLINE_HINT,
        ) from error
    except errors.EntryNotFoundError as error:
        raise ModelLoadError(
            f"{place.name!r} has no config.json, so it is no transformers model.", ENCODERS_HINT
        ) from error
    except Exception as error:  # each HTTP library has its own; all mean that nothing came back
        raise ModelLoadError(
            f"{place.name!r} is not in the local cache, and the hub cannot be reached.",
            "Check the name and the network, or give a folder. " + OFFLINE_HINT,
        ) from error


def _load(place: Place, tokenizer: Any, dtype: Any, local: bool) -> Checkpoint:
    import torch
    from transformers import AutoConfig

    options = {"revision": place.revision, "local_files_only": local, "trust_remote_code": False}
    options = {key: value for key, value in options.items() if value is not None}
    with _told(place, "its config.json"):
        if place.is_folder and (own := OWN_MODEL_TYPES.get(_model_type(place) or "")):
            import_module(own)
        config = AutoConfig.from_pretrained(place.path, **options)
    check_config(config, place.name)
    with _told(place, "its tokenizer"):
        source = place.path if tokenizer is None else tokenizer
        _need_vocabulary(source)
        fast = load_tokenizer(source, place.name, options)
    with _told(place, "its weights"):
        weights = {**options, "dtype": torch.float32 if dtype is None else dtype}
        model, untrained = _load_model(place, config, weights)
    return Checkpoint(model.eval(), fast, place.name, _commit(place), untrained)


def _model_type(place: Place) -> str | None:
    from transformers import PreTrainedConfig

    found, _ = PreTrainedConfig.get_config_dict(place.path, local_files_only=True)
    return found.get("model_type")


@contextmanager
def _told(place: Place, part: str) -> Generator[None]:
    """Errors of `transformers` in our words."""
    try:
        yield
    except (ModelLoadError, InputTypeError, MemoryError):
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "trust_remote_code" in str(error):
            raise ModelLoadError(
                f"{place.name!r} needs Python code from its repository, which attn_widget never runs.",
                "Load it yourself and pass (model, tokenizer).",
            ) from error
        raise ModelLoadError(
            f"{place.name!r} cannot be loaded: {part} failed ({reason}).", OFFLINE_HINT
        ) from error


def check_config(config: Any, name: str) -> None:
    """Refuse what is no text encoder, before its weights are fetched.

    Raises
    ------
    ModelLoadError
    """
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL,
    )
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED,
    )

    kind = str(getattr(config, "model_type", "") or type(config).__name__)
    if getattr(config, "is_encoder_decoder", False):
        raise ModelLoadError(f"{name!r} ({kind}) is an encoder-decoder model.", ENCODERS_HINT)
    if kind in CAUSAL and kind not in MASKED:
        raise ModelLoadError(f"{name!r} ({kind}) is a decoder-only model.", ENCODERS_HINT)
    if not isinstance(getattr(config, "vocab_size", None), int):
        raise ModelLoadError(f"{name!r} ({kind}) does not read text.", ENCODERS_HINT)
    if not isinstance(getattr(config, "num_attention_heads", None), int):
        raise ModelLoadError(f"{name!r} ({kind}) has no attention heads.", ENCODERS_HINT)
    check_sizes(config, f"{name!r} ({kind})")


def check_sizes(config: Any, name: str) -> None:
    """Refuse sizes that no encoder has, before memory is asked for them.

    Raises
    ------
    ModelLoadError
    """
    sizes = {key: getattr(config, key, None) for key in LARGEST}
    for key, value in sizes.items():
        if value is None:
            continue
        least = 0 if key in MAY_BE_NONE else 1
        sane = isinstance(value, int) and not isinstance(value, bool)
        if not sane or not least <= value <= LARGEST[key]:
            raise ModelLoadError(
                f"The configuration of {name} says {key} {shown(value)}, expected {least} to "
                f"{LARGEST[key]:,}.",
                "Mend its config.json, or get the checkpoint again.",
            )
    width = sizes["hidden_size"] or 1
    numbers = width * (sizes["vocab_size"] or 1) + 12 * width**2 * (sizes["num_hidden_layers"] or 1)
    if numbers > MOST_NUMBERS:
        raise ModelLoadError(
            f"The configuration of {name} claims some {numbers:.1e} weights, at most "
            f"{MOST_NUMBERS:.0e} are loaded.",
            "Mend its config.json, or get the checkpoint again.",
        )


def check_vocabulary(tokenizer: Any, n_embeddings: int, name: str) -> None:
    """Refuse a tokenizer that knows special tokens alone; warn of one far smaller than the model's embeddings.

    The former is what `transformers` makes of a folder whose configuration belongs to another family than its
    vocabulary: every word of every text would be unknown.

    Raises
    ------
    ModelLoadError
    """
    known = len(set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids))
    hint = "Use the tokenizer that the model was trained with: load(name, tokenizer=...)."
    if known == 0:
        raise ModelLoadError(
            f"The tokenizer of {name!r} knows {len(tokenizer)} special tokens and no word, the model has "
            f"{n_embeddings:,} embeddings.",
            hint,
        )
    if len(tokenizer) < n_embeddings * LEAST_KNOWN:
        warnings.warn(
            f"The tokenizer of {name!r} has {len(tokenizer):,} entries, the model {n_embeddings:,} embeddings. "
            + hint,
            UserWarning,
            stacklevel=2,
        )


def load_tokenizer(source: Any, name: str, options: dict[str, Any]) -> Any:
    """A fast tokenizer: ``source`` itself, or the one that lies there.

    Raises
    ------
    InputTypeError
        Neither a str, a path nor a tokenizer of `transformers`.
    ModelLoadError
        It is not a fast one.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerBase

    if isinstance(source, (str, Path)):
        source = AutoTokenizer.from_pretrained(str(source), **options)
    if not isinstance(source, PreTrainedTokenizerBase):
        raise InputTypeError(
            f"The tokenizer is a {type(source).__name__}, expected a fast tokenizer of transformers.",
            "AutoTokenizer.from_pretrained(...) gives one.",
        )
    if not source.is_fast:
        raise ModelLoadError(
            f"{name!r} has no fast tokenizer ({type(source).__name__} is a slow one), so its tokens "
            "cannot be placed in the text.",
            "Pass tokenizer= with a fast one, or convert it with tokenizers and save tokenizer.json.",
        )
    return source


def _need_vocabulary(source: Any) -> None:
    """`transformers` would make a tokenizer of special tokens alone, to which every word is unknown."""
    if not isinstance(source, (str, Path)) or not Path(source).is_dir():
        return
    if not any(path for pattern in VOCABULARIES for path in Path(source).glob(pattern)):
        raise ModelLoadError(
            f"The folder {str(source)!r} has no tokenizer (tokenizer.json, vocab.txt ...), and without "
            "the one that they were trained with its weights cannot be used.",
            "Put it there with tokenizer.save_pretrained(folder), or pass tokenizer=.",
        )


def _load_model(place: Place, config: Any, options: dict[str, Any]) -> tuple[Any, frozenset[str]]:
    import transformers

    cls = model_class(config)
    model, info = cls.from_pretrained(
        place.path, config=config, output_loading_info=True, **options
    )
    has_nsp = any("seq_relationship" in key for key in info["unexpected_keys"])
    fuller = getattr(
        transformers, type(model).__name__.replace("ForMaskedLM", "ForPreTraining"), cls
    )
    if has_nsp and type(model).__name__.endswith("ForMaskedLM") and fuller is not type(model):
        # bert-base-uncased's config names BertForMaskedLM, its weights hold the NSP head as well.
        model, info = fuller.from_pretrained(
            place.path, config=config, output_loading_info=True, **options
        )
    untrained = frozenset(
        key if isinstance(key, str) else key[0]
        for key in (*info["missing_keys"], *info["mismatched_keys"])
    )
    base = "" if model.base_model is model else f"{model.base_model_prefix}."
    broken = [key for key in untrained if key.startswith(base) and "pooler" not in key]
    if broken:
        raise ModelLoadError(
            f"{place.name!r} lacks weights of its encoder ({len(broken)}, among them {min(broken)}).",
            "Its config and its weights do not belong together. " + OFFLINE_HINT,
        )
    return model, untrained


def model_class(config: Any) -> Any:
    """The class with the heads that the checkpoint says it has; the bare encoder otherwise."""
    import transformers
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_MASKED_LM_MAPPING,
        MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    )

    named = (getattr(config, "architectures", None) or [""])[0]
    cls = getattr(transformers, named, None)
    if cls is not None and named.endswith(HEADS) and named not in DISCRIMINATORS:
        return cls
    if (
        cls is None
        and named.endswith("ForSequenceClassification")
        and type(config) in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING
    ):
        return MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING[type(config)]  # one that was registered
    if (
        named.endswith(("LMHeadModel", "ForCausalLM"))
        and type(config) in MODEL_FOR_MASKED_LM_MAPPING
    ):
        return transformers.AutoModelForMaskedLM
    return transformers.AutoModel
