"""Models that read pictures, by name, folder or pair, with their image processors."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from attn_widget.checks import first_line
from attn_widget.errors import InputTypeError, ModelLoadError
from attn_widget.features.images.encoder import ImageEncoder
from attn_widget.features.images.heads import head_of
from attn_widget.features.images.towers import vision_config
from attn_widget.host.installed import require
from attn_widget.model.checkpoint import Checkpoint
from attn_widget.model.config import check_sizes
from attn_widget.model.places import Place, commit_of

#: Endings of the classes that are loaded as they were saved; of any other, the tower alone.
CLASSES = (
    "Model",
    "ModelWithProjection",
    "ForImageClassification",
    "ForImageClassificationWithTeacher",
)
LARGEST_SIDE = 100_000  # px that a configuration may claim
PROCESSOR = "AutoImageProcessor.from_pretrained(...) gives one."


def checkpoint_of(
    config: Any, source: Any, reader: Any, name: str, options: dict[str, Any]
) -> Checkpoint:
    """See `attn_widget.model.checkpoint.ReadsOther`."""
    require("PIL", "A model that reads images")
    vision = vision_config(config)
    check_sizes(vision, f"{name!r} ({config.model_type})")
    _check_grid(vision, name)
    if not isinstance(source, Place):
        texts = getattr(reader, "tokenizer", None)
        return _made(source, processor_of(reader), name, None, frozenset(), lambda: texts)
    loading = {key: value for key, value in options.items() if key != "dtype"}
    processor = _processor(source if reader is None else reader, source, loading)
    model, untrained = _weights(config, source, options)

    def tokenizer() -> Any:
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(source.path, **loading)
        except Exception:  # without its files
            return None

    return _made(model.eval(), processor, name, commit_of(source), untrained, tokenizer)


def _made(
    model: Any,
    processor: Any,
    name: str,
    revision: str | None,
    untrained: frozenset[str],
    tokenizer: Callable[[], Any],
) -> Checkpoint:
    return Checkpoint(
        model,
        processor,
        name,
        revision,
        untrained,
        embedding=lambda: head_of(model),
        encoder=lambda checkpoint: ImageEncoder(checkpoint, tokenizer),
    )


def processor_of(given: Any) -> Any:
    """The image processor of what was given next to a model: itself, or that of a processor of images and texts.

    Raises `InputTypeError`: a tokenizer, or anything else.
    """
    from transformers import PreTrainedTokenizerBase
    from transformers.image_processing_base import ImageProcessingMixin

    found = getattr(given, "image_processor", given)
    if isinstance(found, ImageProcessingMixin):
        return found
    kind = type(given).__name__
    if isinstance(given, PreTrainedTokenizerBase):
        raise InputTypeError(f"The model reads images, and a tokenizer ({kind}) was given for it.", f"Give its image processor: {PROCESSOR}")  # fmt: skip
    raise InputTypeError(
        f"The image processor is a {kind}, expected one of transformers.", PROCESSOR
    )


def _processor(given: Any, place: Place, options: dict[str, Any]) -> Any:
    """The processor that lies at a place, by Pillow alone: torchvision is not needed."""
    from transformers import AutoImageProcessor

    if not isinstance(given, (Place, str)) and not hasattr(given, "__fspath__"):
        return processor_of(given)
    path = given.path if isinstance(given, Place) else str(given)
    later = find_spec("transformers.image_processing_backends") is not None
    chosen = {"backend": "pil"} if later else {"use_fast": False}
    try:
        return AutoImageProcessor.from_pretrained(path, **options, **chosen)
    except Exception as error:  # whatever is wrong with its file
        raise ModelLoadError(
            f"The image processor of {place.name!r} cannot be loaded ({first_line(error)}).",
            "Its folder needs preprocessor_config.json: processor.save_pretrained(folder). Or give (model, image processor).",
        ) from error


def _weights(config: Any, place: Place, options: dict[str, Any]) -> tuple[Any, frozenset[str]]:
    import transformers

    named = (getattr(config, "architectures", None) or [""])[0]
    cls: Any = getattr(transformers, named, None) if named.endswith(CLASSES) else None
    cls = cls or transformers.AutoModel
    model, info = cls.from_pretrained(
        place.path, config=config, output_loading_info=True, **options
    )
    missing = [key if isinstance(key, str) else key[0] for key in (*info["missing_keys"], *info["mismatched_keys"])]  # fmt: skip
    unused = ("pooler", "mask_token", "position_ids", "logit_")
    untrained = frozenset(key for key in missing if not any(part in key for part in unused))
    broken = [key for key in untrained if "classifier" not in key]
    if broken:
        raise ModelLoadError(
            f"{place.name!r} lacks weights of its layers ({len(broken)}, among them {min(broken)}).",
            "Its config and its weights do not belong together: get its files again.",
        )
    return model, untrained


def _check_grid(config: Any, name: str) -> None:
    """Refuse sides of images and patches that no model has."""
    for key in ("image_size", "patch_size"):
        given: Any = getattr(config, key, None)
        sides = given if isinstance(given, (tuple, list)) else (given, given)
        if len(sides) != 2 or not all(isinstance(side, int) and 0 < side <= LARGEST_SIDE for side in sides):  # fmt: skip
            raise ModelLoadError(
                f"The configuration of {name!r} says {key} {given!r}, expected 1 to {LARGEST_SIDE:,} px.",
                "Fix its config.json, or get the checkpoint again.",
            )
