"""A place to a model and its tokenizer, with errors that say what to do."""

from __future__ import annotations

import io
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from logging import CRITICAL
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attn_widget.checks import LARGEST_COUNT, first_line
from attn_widget.errors import InputTypeError, ModelLoadError
from attn_widget.features import declared, loaded
from attn_widget.host.notice import current_notice
from attn_widget.model.config import check_config
from attn_widget.model.embedded import FastTokenizer, embedded_network
from attn_widget.model.families import is_decoder
from attn_widget.model.gguf import converted
from attn_widget.model.places import MINI, OFFLINE_HINT, Place, ask_hub, cached_config, commit_of
from attn_widget.model.residues import fast_residues, has_residues

if TYPE_CHECKING:
    from attn_widget.model.embedding_head import EmbeddingHead

HEADS = (
    "ForPreTraining",
    "ForMaskedLM",
    "ForNextSentencePrediction",
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
)
NEXT_TOKEN_HEADS = ("ForCausalLM", "LMHeadModel", "BertGenerationDecoder")
TWO_TEXT_HEADS = ("ForConditionalGeneration", "MTModel", "EncoderDecoderModel")


VOCABULARIES = (
    "tokenizer.json",
    "vocab*",
    "*.model",
    "*.codes",
)  # one of them is in every tokenizer


DISCRIMINATORS = ("ElectraForPreTraining",)  # its head tells real tokens from replaced ones


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model."""

    # model, tokenizer: of `transformers`, or what stands for them until ``full`` is called.
    model: Any
    tokenizer: Any
    name: str
    revision: str | None
    untrained: frozenset[str] = frozenset()  # parameters that the checkpoint did not have
    # Loads the same with the objects of `transformers`.
    full: Callable[[], Checkpoint] | None = None
    # Reads the embedding head that the model's files describe; gives None where they describe none.
    embedding: Callable[[], EmbeddingHead | None] | None = None
    encoder: Callable[[Checkpoint], Any] | None = None  # makes it, of a model that reads no text


class ReadsOther(Protocol):
    """Function that a feature's ``encoders`` name: the checkpoint of a model, or of its place, with what was given for a tokenizer."""

    def __call__(
        self, config: Any, source: Any, reader: Any, name: str, options: Any, /
    ) -> Checkpoint: ...


def reader_of(config: Any) -> ReadsOther | None:
    """The feature's function for models of this kind; None of one that reads text."""
    path = dict(declared("encoders")).get(str(getattr(config, "model_type", "")))
    return None if path is None else loaded(path)


def load_checkpoint(place: Place, tokenizer: Any, dtype: Any, progress: bool) -> Checkpoint:
    """Load what lies at ``place``; from the local cache when it is there, else from the hub.

    Raises `ModelLoadError`: not found, no network, broken files, needs code from the hub, no encoder, no fast
    tokenizer.
    """
    with quiet(place.name, progress):
        if place.is_gguf:
            place = Place(str(converted(Path(place.path))), place.name, True)
        if place.is_folder:
            return _load(place, tokenizer, dtype, local=True)
        if cached_config(place) is not None:
            try:
                return _load(place, tokenizer, dtype, local=True)
            except ModelLoadError as error:
                if not isinstance(error.__cause__, OSError):
                    raise
        ask_hub(place)
        return _load(place, tokenizer, dtype, local=False)


def embedded_checkpoint(place: Place, *, in_torch: bool) -> Checkpoint:
    """The embedded model (float32, on the CPU) without the import of `transformers`, in torch or in numpy.

    Raises `ModelLoadError`: its files cannot be read.
    """
    with _named_failures(place, "its weights"):
        network, tokenizer = embedded_network(MINI, in_torch=in_torch), FastTokenizer(MINI)

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


def _load(place: Place, tokenizer: Any, dtype: Any, local: bool) -> Checkpoint:
    import torch
    from transformers import AutoConfig

    options = {"revision": place.revision, "local_files_only": local, "trust_remote_code": False}
    options = {key: value for key, value in options.items() if value is not None}
    if place.is_folder:
        _refuse_marks(Path(place.path))
    with _named_failures(place, "its config.json"):
        if place.is_folder and (own := dict(declared("model_types")).get(_model_type(place) or "")):
            import_module(own)
        config = AutoConfig.from_pretrained(place.path, **options)
    if (read := reader_of(config)) is not None:
        given = {**options, "dtype": torch.float32 if dtype is None else dtype}
        with _named_failures(place, "its weights"), torch.inference_mode(False):
            return read(config, place, tokenizer, place.name, given)
    check_config(config, place.name)
    with _named_failures(place, "its tokenizer"):
        source = place.path if tokenizer is None else tokenizer
        _need_vocabulary(source)
        fast = load_tokenizer(source, place.name, options)
    # Weights that are made in the caller's inference mode never get gradients.
    with _named_failures(place, "its weights"), torch.inference_mode(False):
        weights = {**options, "dtype": torch.float32 if dtype is None else dtype}
        model, untrained = _load_model(place, config, weights)

    def embedding() -> EmbeddingHead | None:
        from attn_widget.model.embedding_head import head_of

        return head_of(place)

    return Checkpoint(
        model.eval(), fast, place.name, commit_of(place), untrained, embedding=embedding
    )


def _model_type(place: Place) -> str | None:
    from transformers import PreTrainedConfig

    config, _ = PreTrainedConfig.get_config_dict(place.path, local_files_only=True)
    return config.get("model_type")


@contextmanager
def _named_failures(place: Place, part: str) -> Generator[None]:
    """Errors of `transformers` in our words."""
    try:
        yield
    except (ModelLoadError, InputTypeError, MemoryError):
        raise
    except Exception as error:
        reason = first_line(error)
        if "trust_remote_code" in str(error):
            raise ModelLoadError(
                f"{place.name!r} needs Python code from its repository, which attn_widget never runs.",
                "Load it yourself and pass (model, tokenizer).",
            ) from error
        raise ModelLoadError(
            f"{place.name!r} cannot be loaded: {part} failed ({reason}).", _remedy(place)
        ) from error


def _remedy(place: Place) -> str:
    """Hint about files that cannot be read, or that are not all of a model."""
    if Path(place.path).parent == MINI.parent:
        return "Install attn_widget again."
    if place.is_folder:
        return f"Save the model again (save_pretrained), or get its files again: {place.path}"
    config = cached_config(place)
    if config is None:
        return OFFLINE_HINT
    cache = Path(config).parents[2]  # models--owner--name/snapshots/commit/config.json
    return f"Delete this folder, so that the files are fetched again: {cache}"


def load_tokenizer(source: Any, name: str, options: dict[str, Any]) -> Any:
    """A fast tokenizer: ``source`` itself, or the one that lies there; ESM's is converted."""
    from transformers import AutoTokenizer, PreTrainedTokenizerBase

    if isinstance(source, (str, Path)):
        source = AutoTokenizer.from_pretrained(str(source), **options)
    if not isinstance(source, PreTrainedTokenizerBase):
        raise InputTypeError(
            f"The tokenizer is a {type(source).__name__}, expected a fast tokenizer of transformers.",
            "AutoTokenizer.from_pretrained(...) gives one.",
        )
    if has_residues(source):
        return fast_residues(source)
    if not source.is_fast:
        raise ModelLoadError(
            f"{name!r} has no fast tokenizer ({type(source).__name__} is a slow one), so its tokens "
            "cannot be placed in the text.",
            "Pass tokenizer= with a fast one, or convert it with tokenizers and save tokenizer.json.",
        )
    return source


def _refuse_marks(folder: Path) -> None:
    """Refuse JSON that begins with a byte-order mark, which `transformers` does not read."""
    for path in sorted(folder.glob("*.json")):
        with path.open("rb") as file:
            marked = file.read(len(BOM_UTF8)) == BOM_UTF8
        if marked:
            raise ModelLoadError(
                f"{str(path)!r} begins with a byte-order mark, which transformers does not read.",
                "Save it as UTF-8 without one: path.write_text(path.read_text('utf-8-sig'), 'utf-8').",
            )


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
    if cls is transformers.AutoModel and not getattr(config, "architectures", None):
        model, info = _with_lm_head(place, config, options) or (model, info)
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
            f"{place.name!r} lacks weights of its layers ({len(broken)}, among them {min(broken)}).",
            "Its config and its weights do not belong together. " + _remedy(place),
        )
    if left_out := _left_out(model, info["unexpected_keys"]):
        raise ModelLoadError(
            f"{place.name!r} has weights that its config leaves out ({len(left_out)}, among them "
            f"{min(left_out)}): another model would be shown.",
            "Correct its config.json. If it leaves them out on purpose, load it yourself and pass (model, tokenizer).",
        )
    return model, untrained


def _left_out(model: Any, unexpected: Iterable[str]) -> list[str]:
    """Weights of a checkpoint without which the layers compute something else: of further layers, or biases."""
    depths: dict[str, int] = {}
    unbiased: set[str] = set()
    for name, module in model.named_modules():
        depth = len(module) if type(module).__name__ == "ModuleList" else None
        no_bias = getattr(module, "weight", None) is not None and getattr(module, "bias", 0) is None
        for known in (name, name.removeprefix(f"{model.base_model_prefix}.")):
            if depth is not None:
                depths[known] = depth
            if no_bias:
                unbiased.add(f"{known}.bias")

    def is_left_out(key: str) -> bool:
        steps = list(re.finditer(r"\.(\d+)\.", key))
        return key in unbiased or any(
            int(step[1]) >= depths.get(key[: step.start()], LARGEST_COUNT) for step in steps
        )

    keys = {key: key.removeprefix(f"{model.base_model_prefix}.") for key in unexpected}
    return [key for key, short in keys.items() if is_left_out(key) or is_left_out(short)]


def _with_lm_head(place: Place, config: Any, options: dict[str, Any]) -> tuple[Any, Any] | None:
    """The model with its language-model head, where the weights have all of one; its config does not tell."""
    import transformers
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING,
        MODEL_FOR_MASKED_LM_MAPPING,
        MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
    )

    cls: Any
    if getattr(config, "is_encoder_decoder", False):
        cls = MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING[type(config)]
    elif type(config) in MODEL_FOR_MASKED_LM_MAPPING:
        cls = transformers.AutoModelForMaskedLM
    elif type(config) in MODEL_FOR_CAUSAL_LM_MAPPING:
        cls = transformers.AutoModelForCausalLM
    else:
        return None
    model, info = cls.from_pretrained(
        place.path, config=config, output_loading_info=True, **options
    )
    return None if info["missing_keys"] or info["mismatched_keys"] else (model, info)


def model_class(config: Any) -> Any:
    """The class with the heads that the checkpoint says it has; the bare encoder otherwise."""
    import transformers
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_MASKED_LM_MAPPING,
        MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    )

    named = (getattr(config, "architectures", None) or [""])[0]
    cls = getattr(transformers, named, None)
    if getattr(config, "is_encoder_decoder", False):
        return cls if cls is not None and named.endswith(TWO_TEXT_HEADS) else transformers.AutoModel
    if cls is not None and named.endswith(HEADS) and named not in DISCRIMINATORS:
        return cls
    if cls is not None and named.endswith(NEXT_TOKEN_HEADS) and is_decoder(config.model_type):
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
