"""Text that a decoder writes after a prompt, or an encoder-decoder from a source: `generate` of transformers, greedily unless asked otherwise.

Nothing of a step is kept: each is a row of one pass over the finished text.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from attn_widget.checks import check_count, check_seed, first_line, nearest, short_repr
from attn_widget.errors import (
    AttnWidgetError,
    InputError,
    InputTypeError,
    NotAvailableError,
    NotFiniteError,
)
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import PERMUTED
from attn_widget.model.prepared import UNFINISHED
from attn_widget.model.tokenizing import control_ids, trim
from attn_widget.model.tokens import Token
from attn_widget.model.two_texts import joined, start_id, start_token, target_language
from attn_widget.trace.forward import Progress, inference_mode, on_device

GENERATE_INPUTS = ("input_ids", "attention_mask", "decoder_input_ids")
# Settings of a generation config (docs/configs.md has all): one continuation is written, the same at each call.
REPLACED: dict[str, Any] = {
    "do_sample": False, "num_beams": 1, "num_return_sequences": 1, "num_beam_groups": None, "diversity_penalty": None,
    "penalty_alpha": None, "dola_layers": None, "low_memory": None, "early_stopping": False, "length_penalty": None,
    "temperature": None, "top_k": None, "top_p": None, "min_p": None, "top_h": None, "typical_p": None,
    "epsilon_cutoff": None, "eta_cutoff": None, "renormalize_logits": None,
    "max_length": None, "max_time": None,
    "use_mtp": None, "is_assistant": False, "prompt_lookup_num_tokens": None, "assistant_early_exit": None,
    "speculation_type": None,
    "use_cache": True, "cache_implementation": None, "cache_config": None, "max_cache_len": None,
    "prefill_chunk_size": None, "compile_config": None, "disable_compile": True,
    "output_attentions": False, "output_hidden_states": False, "output_scores": False, "output_logits": False,
    "return_dict_in_generate": False,
}  # fmt: skip
# Settings of `REPLACED` that hold for every way of writing: one text comes back, as ids.
OF_ONE_TEXT = (
    "num_return_sequences", "max_length", "output_attentions", "output_hidden_states", "output_scores", "output_logits",
    "return_dict_in_generate",
)  # fmt: skip
# Arguments of ``model.generate`` that are given here already, or that load code.
TAKEN = (
    *(*OF_ONE_TEXT, "inputs", "input_ids", "attention_mask", "decoder_input_ids", "inputs_embeds", "generation_config"),
    *("logits_processor", "stopping_criteria", "streamer", "tokenizer", "synced_gpus", "kwargs", "self"),
    "custom_generate",
)  # fmt: skip
EXAMPLE = (
    'For example generate={"max_new_tokens": 40, "do_sample": True, "temperature": 0.7, "seed": 1}.'
)
REFUSED = {
    "constraints": "which needs beams",
    "force_words_ids": "which needs beams",
    "token_healing": "which changes the prompt",
    "guidance_scale": "which mixes the logits of two prompts",
}
# Obeyed, and each may write another token than the likeliest.
CHOOSING = (
    "repetition_penalty", "encoder_repetition_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
    "sequence_bias", "exponential_decay_length_penalty", "watermarking_config", "remove_invalid_values",
)  # fmt: skip


@dataclass(frozen=True)
class Writing:
    """Way of writing a text: by the likeliest token at each step, or as ``model.generate`` writes with some options.

    ``count``: largest number of tokens. ``options``: of ``model.generate``. ``seed``: of its random numbers.
    """

    count: int
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seed: int | None = None
    greedy: bool = True


def check_writing(generate: object) -> Writing:
    """``generate`` of `attn_widget.analyze`: a number of tokens, or options of ``model.generate``.

    >>> check_writing({"max_new_tokens": 40, "do_sample": True, "seed": 1})
    Writing(count=40, options={'do_sample': True}, seed=1, greedy=False)
    """
    if not isinstance(generate, Mapping):
        return Writing(check_count(generate, "generate", 0))
    options: dict[str, Any] = {**generate}
    for name in options:
        if not isinstance(name, str):
            raise InputTypeError(f"generate holds {short_repr(name)}, expected a name.", EXAMPLE)
        if name in TAKEN:
            raise InputError(
                f"generate holds {name!r}, which is not taken: one text is written, by the generate of the model itself.",
                "Leave it out.",
            )
    if "max_new_tokens" not in options:
        raise InputError("generate has no 'max_new_tokens'.", EXAMPLE)
    count = check_count(options.pop("max_new_tokens"), "max_new_tokens", 1)
    seed = options.pop("seed", None)
    if seed is not None:
        check_seed(seed)
    return Writing(count, options, seed, greedy=False)


def _check_names(encoder: Encoder, options: Mapping[str, Any]) -> None:
    """Refuse options that ``model.generate`` does not have."""
    own = (name for name in vars(encoder.network.generation_config) if not name.startswith("_"))
    known = {*own, *inspect.signature(encoder.network.generate).parameters} - {*TAKEN}
    for name in options:
        if name not in known:
            raise InputTypeError(
                f"generate holds {short_repr(name)}, and model.generate has no such option.",
                nearest(name, known) or EXAMPLE,
            )


def check_generate(encoder: Encoder, length: int, count: int) -> None:
    """Refuse to write ``count`` tokens after a prompt of ``length``.

    Raises `NotAvailableError`: the model is no decoder, or has no language-model head. Raises `InputError`: more
    tokens than the model reads.
    """
    if encoder.predicts != "next":
        raise NotAvailableError(
            f"{encoder.name} is an encoder: its head predicts the token at each position, and it writes no text."
            if encoder.family.name not in PERMUTED
            else f"{encoder.name} {encoder.lacks_lm}, so it writes no text.",
            "Leave generate out, or load a decoder such as gpt2.",
        )
    if not encoder.has_lm or not hasattr(encoder.network, "generate"):
        raise NotAvailableError(
            f"{encoder.name} {encoder.lacks_lm}, so it writes no text.",
            "Load a checkpoint with one.",
        )
    room = encoder.max_length - length
    if count > room:
        what = "decoder's start" if encoder.parts else "prompt"
        raise InputError(
            f"generate is {count:,}, and the {what} has {length:,} token{'s' * (length != 1)}; {encoder.name} reads at most "
            f"{encoder.max_length:,}.",
            f"Use generate={room:,} or less." if room > 0 else "Shorten the prompt.",
        )


def continued(
    encoder: Encoder,
    prompt: Encoding,
    generate: int | Mapping[str, Any],
    progress: Progress | None = None,
) -> Encoding:
    """The prompt with what the model writes after it: up to ``count`` tokens, fewer where it stops by itself.

    ``encoder``: its heads that are off stay off. ``generate``: largest number of tokens, or see `check_writing`. ``progress``: called with
    ``(tokens written, count)`` after each; an exception that it raises ends the work. Returns: ``written`` says how
    many tokens the model wrote; a token with which it stops is not among them. Raises `NotAvailableError`,
    `InputError`: as `check_generate`. Raises `NotFiniteError`: the model gives NaN.
    """
    writing = check_writing(generate)
    check_generate(encoder, prompt.n_tokens, writing.count)
    with encoder.lock:
        ids = _written_ids(encoder, prompt, writing, progress)
        text, tokens = _tokens(encoder, prompt, ids)
    return replace(_joined(prompt, text, tokens), asked=writing.count)


def translated(
    encoder: Encoder,
    source: Encoding,
    generate: int | Mapping[str, Any],
    progress: Progress | None = None,
) -> Encoding:
    """The source with what an encoder-decoder writes: up to ``count`` tokens after its start token.

    For a number of tokens greedily, whatever beams its generation config names, and obeying its other settings (docs/configs.md).

    ``encoder``: of the decoder. Heads that are off stay off. ``source``: by
    `attn_widget.model.two_texts.encode_source`. ``generate``: as in `continued`. ``progress``: as in
    `continued`. Raises `NotAvailableError`, `InputError`, `NotFiniteError`: as `continued`.
    """
    writing = check_writing(generate)
    check_generate(encoder, 1, writing.count)
    with encoder.lock:
        start = start_token(encoder, start_id(encoder))
        prompt = joined(source, Encoding("", None, (start,), {}))
        ids = _written_ids(encoder, prompt, writing, progress)
        text, tokens = _tokens(encoder, prompt, ids)
    special = set(encoder.reader.all_special_ids)
    tokens = tuple(
        start_token(encoder, token.id) if token.id in special else token for token in tokens
    )
    target = Encoding(text, None, (start, *tokens), {}, written=len(tokens), asked=writing.count)
    return joined(source, target)


def _written_ids(
    encoder: Encoder, prompt: Encoding, writing: Writing, progress: Progress | None
) -> list[int]:
    """Ids of what ``generate`` of transformers writes, without the token it stops with."""
    from transformers import LogitsProcessorList, StoppingCriteriaList

    _check_names(encoder, writing.options)
    network, config = encoder.network, config_of(encoder, writing)
    inputs = on_device(encoder, prompt.inputs)
    begun = inputs["input_ids" if prompt.both is None else "decoder_input_ids"].shape[1]
    stops = _stops_of(encoder, writing)

    def check(ids: Any, scores: Any) -> Any:
        if not bool(scores.max() < np.inf):
            raise NotFiniteError(
                f"{encoder.name} gives numbers that are not finite after {ids.shape[1] - begun} tokens, so none is the likeliest.",
                "Its weights hold NaN, or overflow: load it with dtype='float32'.",
            )
        return scores

    def report(ids: Any, _scores: Any) -> Any:
        if progress is not None and int(ids[0, -1]) not in stops:
            progress(ids.shape[1] - begun, writing.count)
        return ids.new_zeros(len(ids)).bool()

    own = network.generation_config
    with inference_mode(encoder), _seeded(encoder, writing.seed), _refusals(writing):
        network.generation_config = config  # `generate` takes from there whatever is None
        try:
            written = network.generate(
                **{name: inputs[name] for name in GENERATE_INPUTS if name in inputs},
                generation_config=config,
                logits_processor=LogitsProcessorList([check]),
                stopping_criteria=StoppingCriteriaList([report]),
                tokenizer=encoder.reader,  # for `stop_strings`
                **{name: x for name, x in writing.options.items() if not hasattr(config, name)},
            )
        finally:
            network.generation_config = own
    ids: list[int] = written[0, begun:].tolist()
    # The rest of a beam that ends early is padding.
    return ids[: next((k for k, token in enumerate(ids) if token in stops), len(ids))]


def _stops_of(encoder: Encoder, writing: Writing) -> set[int]:
    """Ids of the tokens with which the model ends this text."""
    given = writing.options.get("eos_token_id")
    if given is None:
        return stop_ids(encoder)
    return {given} if isinstance(given, int) else {int(one) for one in given}


@contextmanager
def _seeded(encoder: Encoder, seed: int | None) -> Generator[None]:
    """Random numbers from a seed; those of the caller go on afterwards as if nothing had been drawn."""
    import torch

    if seed is None:
        yield
        return
    device = encoder.device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


@contextmanager
def _refusals(writing: Writing) -> Generator[None]:
    """Name options that `transformers` refuses."""
    try:
        yield
    except AttnWidgetError:
        raise
    except (ValueError, TypeError) as error:
        if writing.greedy:
            raise
        raise InputError(
            f"model.generate refuses generate: {first_line(error)}.", EXAMPLE
        ) from error


def config_of(encoder: Encoder, writing: Writing) -> Any:
    """The model's generation config; without options, with the likeliest token in place of beams, samples and other strategies.

    Raises `NotAvailableError`: a setting of `REFUSED`.
    """
    own = encoder.network.generation_config
    replaced = REPLACED if writing.greedy else {name: REPLACED[name] for name in OF_ONE_TEXT}
    for name, why in REFUSED.items():
        if writing.greedy and _is_set(own, name):
            raise NotAvailableError(
                f"The generation config of {encoder.name} has {name}={short_repr(getattr(own, name))}, {why}.",
                f"Set model.generation_config.{name} = None, or write the text with model.generate() and analyze it.",
            )
    config = deepcopy(own)
    for name, value in replaced.items():
        if hasattr(config, name):
            setattr(config, name, value)
    # A tokenizer of many languages marks what is written, where the config names no language.
    language = target_language(encoder) if encoder.parts else None
    if (
        config.forced_bos_token_id is None
        and language
        and getattr(encoder.reader, "prefix_tokens", None)
    ):
        config.forced_bos_token_id = int(encoder.reader.convert_tokens_to_ids(language))
    stops = sorted(stop_ids(encoder))
    config.max_new_tokens, config.eos_token_id = writing.count, stops or None
    # The cache that `generate` makes of T5, and of a decoder taken from BART, has a place for each layer of the encoder.
    shape = encoder.network.config
    named = (getattr(shape, name, None) for name in ("num_decoder_layers", "decoder_layers"))
    if (next(filter(None, named), 0)) > getattr(shape, "num_hidden_layers", math.inf):
        config.use_cache = False
    if config.pad_token_id is None and stops:
        config.pad_token_id = stops[0]
    for name, value in writing.options.items():
        if hasattr(config, name):  # `generate` warns of settings next to a config
            setattr(config, name, value)
    return config


def chosen_by(encoder: Encoder) -> str:
    """The obeyed settings because of which a token that is written need not be the likeliest, as a message names them."""
    own = getattr(encoder.network, "generation_config", None)
    names = [name for name in CHOOSING if _is_set(own, name)]
    return ", ".join(f"{name}={short_repr(getattr(own, name))}" for name in names)


def _is_set(config: Any, name: str) -> bool:
    """True of a setting that has an effect."""
    value: Any = getattr(config, name, None)
    neutral = 1 if name.endswith(("repetition_penalty", "guidance_scale")) else 0
    return value is not None and value != neutral and value != []


def stop_ids(encoder: Encoder) -> set[int]:
    """Ids of the tokens with which the model ends a text: of its generation config, else its config, else its tokenizer."""
    network = encoder.network
    for holder in (getattr(network, "generation_config", None), network.config, encoder.reader):
        ids: Any = getattr(holder, "eos_token_id", None)
        if ids is not None:
            return {int(ids)} if isinstance(ids, int) else {int(one) for one in ids}
    return set()


def _tokens(encoder: Encoder, prompt: Encoding, ids: list[int]) -> tuple[str, tuple[Token, ...]]:
    """The written text, and its tokens with their places in the whole text."""
    reader = encoder.reader
    before = [token.id for token in prompt.tokens]
    skip = prompt.both is not None  # special tokens are no part of a text that begins with one

    def decoded(count: int) -> str:
        return reader.decode(
            [*before, *ids[:count]], skip_special_tokens=skip, clean_up_tokenization_spaces=False
        )

    start = len(decoded(0))
    whole = decoded(len(ids))[start:]
    offset, done = len(prompt.text), 0
    text, control = prompt.text + whole, control_ids(encoder)
    tokens: list[Token] = []
    for k, (token_id, name) in enumerate(zip(ids, encoder.token_texts(ids), strict=True), 1):
        so_far = decoded(k)[start:]
        # The bytes of one character may be several tokens: the last of them gets it.
        end = done if so_far.endswith(UNFINISHED) and k < len(ids) else min(len(so_far), len(whole))
        first, last = trim(name, offset + done, offset + max(end, done), text)
        special = token_id in control
        tokens.append(Token(name, token_id, first, last, text[first:last], special=special))
        done = max(end, done)
    return whole, tuple(tokens)


def _joined(prompt: Encoding, text: str, tokens: tuple[Token, ...]) -> Encoding:
    if not tokens:
        return prompt
    added = np.array([[token.id for token in tokens]], dtype=np.int64)
    arrays = {
        name: np.append(given, added if name == "input_ids" else np.ones_like(added), axis=1)
        for name, given in prompt.arrays.items()
    }
    return replace(
        prompt,
        text=prompt.text + text,
        tokens=(*prompt.tokens, *tokens),
        arrays=arrays,
        written=len(tokens),
    )
