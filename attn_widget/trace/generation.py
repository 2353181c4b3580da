"""Text that a decoder writes after a prompt, or an encoder-decoder from a source: the likeliest token at each step.

Nothing of a step is kept: each is a row of one pass over the finished text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attn_widget.errors import InputError, NotAvailableError, NotFiniteError
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.prepared import UNFINISHED
from attn_widget.model.tokenizing import control_ids, trim
from attn_widget.model.tokens import Token
from attn_widget.model.two_texts import joined, start_id, start_token
from attn_widget.trace.forward import Progress, inference_mode, on_device


def check_generate(encoder: Encoder, length: int, count: int) -> None:
    """Refuse to write ``count`` tokens after a prompt of ``length``.

    Raises
    ------
    NotAvailableError
        The model is no decoder, or has no language-model head.
    InputError
        More tokens than the model reads.
    """
    if encoder.predicts != "next":
        raise NotAvailableError(
            f"{encoder.name} is an encoder: its head predicts the token at each position, and it writes no text.",
            "Leave generate out, or load a decoder such as gpt2.",
        )
    if not encoder.has_lm:
        raise NotAvailableError(
            f"{encoder.name} has no language-model head, so it writes no text.",
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
    encoder: Encoder, prompt: Encoding, count: int, progress: Progress | None = None
) -> Encoding:
    """The prompt with what the model writes after it: up to ``count`` tokens, fewer where it stops by itself.

    Parameters
    ----------
    encoder : Encoder
        Its heads that are off stay off.
    prompt : Encoding
    count : int
        Largest number of tokens.
    progress : callable, optional
        Called with ``(tokens written, count)`` after each; an exception that it raises ends the work.

    Returns
    -------
    Encoding
        ``written`` says how many tokens the model wrote; a token with which it stops is not among them.

    Raises
    ------
    NotAvailableError, InputError
        As `check_generate`.
    NotFiniteError
        The model gives NaN.
    """
    check_generate(encoder, prompt.n_tokens, count)
    with encoder.lock:
        ids = _written_ids(encoder, prompt, count, progress)
        text, tokens = _tokens(encoder, prompt, ids)
    return replace(_joined(prompt, text, tokens), asked=count)


def translated(
    encoder: Encoder, source: Encoding, count: int, progress: Progress | None = None
) -> Encoding:
    """The source with what an encoder-decoder writes: up to ``count`` tokens after its start token.

    Greedily, whatever beams its generation config names; a token that this config forces first is taken, and none that
    it rules out (``bad_words_ids``).

    Parameters
    ----------
    encoder : Encoder
        Of the decoder. Heads that are off stay off.
    source : Encoding
        By `attn_widget.model.two_texts.encode_source`.
    count : int
        Largest number of tokens.
    progress : callable, optional
        As in `continued`.

    Raises
    ------
    NotAvailableError, InputError, NotFiniteError
        As `continued`.
    """
    check_generate(encoder, 1, count)
    with encoder.lock:
        start = start_token(encoder, start_id(encoder))
        prompt = joined(source, Encoding("", None, (start,), {}))
        ids = _written_ids(encoder, prompt, count, progress)
        text, tokens = _tokens(encoder, prompt, ids)
    special = set(encoder.reader.all_special_ids)
    tokens = tuple(
        start_token(encoder, token.id) if token.id in special else token for token in tokens
    )
    target = Encoding(text, None, (start, *tokens), {}, written=len(tokens), asked=count)
    return joined(source, target)


def _written_ids(
    encoder: Encoder, prompt: Encoding, count: int, progress: Progress | None
) -> list[int]:
    import torch

    network, stops = encoder.network, stop_ids(encoder)
    inputs = on_device(encoder, prompt.inputs)
    reads = "input_ids" if prompt.both is None else "decoder_input_ids"
    following, cache = inputs[reads], None
    length = following.shape[1]
    ids = _forced_ids(encoder) if encoder.parts else []
    forbidden = torch.tensor(_forbidden_ids(encoder), dtype=torch.long, device=following.device)
    with inference_mode(encoder):
        source = _encoded(encoder, inputs) if encoder.parts else {}
        if ids:
            following = torch.tensor([[*following[0].tolist(), *ids]], device=following.device)
        while len(ids) < count:
            mask = torch.ones(1, length + len(ids), dtype=torch.long, device=following.device)
            output = network(
                **{reads: following},
                **(source or {"attention_mask": mask}),
                past_key_values=cache,
                use_cache=True,
                return_dict=True,
            )
            logits = output["logits"][0, -1]
            if not bool(torch.isfinite(logits.max())):
                raise NotFiniteError(
                    f"{encoder.name} gives numbers that are not finite after {len(ids)} tokens, so none is the likeliest.",
                    "Its weights hold NaN, or overflow: load it with dtype='float32'.",
                )
            best = int(logits.index_fill(0, forbidden, -torch.inf).argmax())
            if best in stops:
                break
            ids.append(best)
            cache = output.get("past_key_values")
            following = torch.tensor([[best]], device=following.device)
            if cache is None:  # a model that keeps none: the whole text again
                following = torch.cat([inputs[reads], torch.tensor([ids]).to(following)], 1)
            if progress is not None:
                progress(len(ids), count)
    return ids


def _encoded(encoder: Encoder, inputs: dict[str, Any]) -> dict[str, Any]:
    """The encoder's output, which every step reads."""
    mask = inputs["attention_mask"]
    output = encoder.network.get_encoder()(
        input_ids=inputs["input_ids"], attention_mask=mask, return_dict=True
    )
    return {"encoder_outputs": output, "attention_mask": mask}


def _forced_ids(encoder: Encoder) -> list[int]:
    """The token that the generation config of a model of many languages has the decoder write first."""
    settings = getattr(encoder.network, "generation_config", None)
    forced: Any = getattr(settings, "forced_bos_token_id", None)
    forced = forced[0] if isinstance(forced, (list, tuple)) and forced else forced
    return [forced] if isinstance(forced, int) else []


def _forbidden_ids(encoder: Encoder) -> list[int]:
    """Tokens that the generation config rules out by themselves: the padding of Marian's models."""
    settings = getattr(encoder.network, "generation_config", None)
    words: Any = getattr(settings, "bad_words_ids", None)
    return [int(word[0]) for word in words or () if len(word) == 1]


def stop_ids(encoder: Encoder) -> set[int]:
    """Ids of the tokens with which the model ends a text."""
    network = encoder.network
    settings = (getattr(network, "generation_config", None), network.config)
    found: set[int] = set()
    for holder in settings:
        ids: Any = getattr(holder, "eos_token_id", None)
        found.update([] if ids is None else [ids] if isinstance(ids, int) else ids)
    own = encoder.reader.eos_token_id
    return found if own is None else found | {int(own)}


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
