"""Settings in the files of an embedder that are refused or noted; docs/configs.md says what becomes of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attn_widget.checks import short_repr
from attn_widget.errors import ModelLoadError

# Settings that are read, or have no effect on one text, by file; any other is noted.
MODULES_KEYS = ("idx", "name", "path", "type")
TRANSFORMER_KEYS = (
    "max_seq_length", "do_lower_case", "query_length", "document_length", "query_expansion",
    "transformer_task", "module_output_name", "modality_config", "unpad_inputs",
)  # fmt: skip
EMBEDDER_KEYS = (
    "__version__", "model_type", "requirements", "prompts", "default_prompt_name", "similarity_fn_name", "truncate_dim",
    "query_prefix", "document_prefix", "query_length", "document_length", "skiplist_words", "do_query_expansion",
    "query_expansion", "attend_to_expansion_tokens", "attend_to_mask_tokens",
)  # fmt: skip
LIBRARIES = ("sentence_transformers.", "pylate.")  # whose modules are known by name
TASK, STATES, TOKENS, TEXT = (
    "feature-extraction", "last_hidden_state", "token_embeddings", "sentence_embedding",
)  # fmt: skip


def check_module_types(modules: Iterable[Mapping[str, Any]], of: str) -> None:
    """Refuse modules with code of their own: it may do anything, under any name.

    Raises `ModelLoadError`.
    """
    for module in modules:
        if not module["type"].startswith(LIBRARIES):
            raise ModelLoadError(
                f"{of} has the module {short_repr(module['type'])}, whose code lies in the model's own files; it is not run.",
                "Pass (model, tokenizer) and pooling=, as the model's card describes them.",
            )


def check_transformer(own: Mapping[str, Any], of: str) -> None:
    """Refuse a first module that gives anything but the last hidden states.

    Raises `ModelLoadError`.
    """
    text: Any = (own.get("modality_config") or {}).get("text") or {}
    wanted = {
        "transformer_task": (own.get("transformer_task"), TASK),
        "module_output_name": (own.get("module_output_name"), TOKENS),
        "the method of its modality_config": (text.get("method"), "forward"),
        "the method_output_name of its modality_config": (text.get("method_output_name"), STATES),
    }
    _refuse_others(wanted, of)


def check_part(kind: str, config: Mapping[str, Any], of_tokens: bool, of: str) -> None:
    """Refuse a module that reads or writes another vector than that of the module before it, or picks other tokens.

    Raises `ModelLoadError`.
    """
    vector = TOKENS if of_tokens else TEXT
    names = ("module_input_name", "module_output_name")
    wanted: dict[str, tuple[Any, Any]] = {
        f"the {name} of its {kind}": (config.get(name), vector) for name in names
    }
    wanted["keep_only_token_ids"] = (config.get("keep_only_token_ids") or None, [])
    wanted["skiplist_tasks"] = (config.get("skiplist_tasks"), ["document"])
    _refuse_others(wanted, of)


def check_expansion(expansion: Any, of: str) -> None:
    """Refuse query expansion by another token than the mask token, or to another length.

    Raises `ModelLoadError`.
    """
    if isinstance(expansion, Mapping):
        wanted = {f"the {key} of its query_expansion": (expansion.get(key), value) for key, value in (("strategy", "fixed"), ("token", None))}  # fmt: skip
        _refuse_others(wanted, of)


def _refuse_others(wanted: Mapping[str, tuple[Any, Any]], of: str) -> None:
    for name, (value, expected) in wanted.items():
        if value is not None and value != expected:
            raise ModelLoadError(
                f"{of} has {short_repr(value)} as {name}, expected {short_repr(expected)} or none.",
                "Pass (model, tokenizer) and pooling=, as the model's card describes them.",
            )


def unread(
    modules: Iterable[Mapping[str, Any]], own: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[str, ...]:
    """A note on settings that may matter and are not read: unknown ones, and options of calls."""
    files = {
        "modules.json": sorted({k for part in modules for k, v in part.items() if k not in MODULES_KEYS and v}),
        "sentence_bert_config.json": [k for k, v in own.items() if k not in TRANSFORMER_KEYS and v],
        "config_sentence_transformers.json": [k for k, v in settings.items() if k not in EMBEDDER_KEYS and v],
    }  # fmt: skip
    return tuple(
        f"Not read, of the model's {name}: {', '.join(map(str, keys))}."
        for name, keys in files.items()
        if keys
    )
