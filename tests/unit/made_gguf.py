"""GGUF files of the tiny Llama, whole or damaged."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.unit import tiny_models

NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def _rotated(weight: NDArray[np.float32], n_heads: int) -> NDArray[np.float32]:
    """Rows in the order of llama.cpp: pairs of a rotation lie side by side, not in two halves."""
    halves = weight.reshape(n_heads, 2, -1, weight.shape[-1])
    return halves.swapaxes(1, 2).reshape(weight.shape)


def tensors_of(model: Any) -> dict[str, NDArray[np.float32]]:
    """Tensors of a Llama of `transformers` under their names in GGUF."""
    config = model.config
    rotated = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    found: dict[str, NDArray[np.float32]] = {}
    for full_name, held in model.state_dict().items():
        values, parts = held.float().numpy(), full_name.removeprefix("model.").split(".")
        if parts[0] == "layers":
            name = NAMES[".".join(parts[2:-1])]
            values = _rotated(values, rotated[name]) if name in rotated else values
            found[f"blk.{parts[1]}.{name}.{parts[-1]}"] = values
        else:
            renamed = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
            found[f"{renamed[parts[0]]}.{parts[-1]}"] = values
    return found


def write_gguf(
    path: Path,
    *,
    without: Collection[str] = (),
    more: Mapping[str, NDArray[np.float32]] | None = None,
    block_count: int | None = None,
    rope_factor: float | None = None,
) -> tuple[Any, Any]:
    """Write the tiny Llama as a GGUF file and return it with its tokenizer.

    Parameters
    ----------
    without : collection of str
        Tensors that are left out.
    more : mapping
        Tensors that are added.
    block_count, rope_factor : optional
        Other than the model's.
    """
    import gguf

    model, tokenizer = tiny_models.build("llama")
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(block_count or config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_vocab_size(config.vocab_size)
    if rope_factor is not None:
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope_factor)
    stored = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    words = sorted(stored["vocab"], key=stored["vocab"].get)
    words += [f"<unused{k}>" for k in range(config.vocab_size - len(words))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(words)
    writer.add_token_types([1] * len(words))
    writer.add_token_merges([" ".join(pair) for pair in stored["merges"]])
    for role in ("bos", "eos", "unk"):
        getattr(writer, f"add_{role}_token_id")(getattr(tokenizer, f"{role}_token_id"))
    for name, values in {**tensors_of(model), **(more or {})}.items():
        if name not in without:
            writer.add_tensor(name, np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model, tokenizer
