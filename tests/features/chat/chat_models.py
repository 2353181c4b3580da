"""Small random decoders with chat templates in the public formats of six families."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tests.unit.tiny_models import SPREAD, TEXTS

CHATML = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful assistant<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA2 = (
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}"
    "{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
    "{% for message in loop_messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
    "{% else %}{% set content = message['content'] %}{% endif %}"
    "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
)
LLAMA3 = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
GEMMA = (  # as Gemma 3's: the system's text stands in the user's turn
    "{{ bos_token }}{%- if messages[0]['role'] == 'system' -%}{%- set first = messages[0]['content'] + '\n\n' -%}"
    "{%- set loop_messages = messages[1:] -%}{%- else -%}{%- set first = '' -%}{%- set loop_messages = messages -%}{%- endif -%}"
    "{%- for message in loop_messages -%}"
    "{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{%- endif -%}"
    "{%- if message['role'] == 'assistant' -%}{%- set role = 'model' -%}{%- else -%}{%- set role = message['role'] -%}{%- endif -%}"
    "{{ '<start_of_turn>' + role + '\n' + (first if loop.first else '') }}{{ message['content'] | trim }}{{ '<end_of_turn>\n' }}"
    "{%- endfor -%}{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%}"
)
MISTRAL = (  # as version 3's: the system's text stands in the last user's turn
    "{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}"
    "{%- else %}{%- set loop_messages = messages %}{%- endif %}{{ bos_token }}"
    "{%- for message in loop_messages %}"
    "{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('After the optional system message, conversation roles must alternate user/assistant') }}{%- endif %}"
    "{%- if message['role'] == 'user' %}"
    "{%- if loop.last and system_message is defined %}{{ '[INST] ' + system_message + '\n\n' + message['content'] + '[/INST]' }}"
    "{%- else %}{{ '[INST] ' + message['content'] + '[/INST]' }}{%- endif %}"
    "{%- elif message['role'] == 'assistant' %}{{ ' ' + message['content'] + eos_token }}{%- endif %}{%- endfor %}"
)
PHI3 = (  # without a prompt for a reply, the text ends
    "{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] + '<|end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"
)
ZEPHYR = (  # roles are plain text
    "{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] + eos_token + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)
# Template, special tokens (beginning, end, others), whether the tokenizer begins texts itself, whether spaces are SentencePiece's.
FAMILIES: dict[str, tuple[str, list[str], bool, bool]] = {
    "chatml": (CHATML, ["<|im_start|>", "<|im_end|>"], False, False),
    "llama2": (LLAMA2, ["<s>", "</s>"], True, True),
    "llama3": (LLAMA3, ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"], True, False),
    "gemma": (GEMMA, ["<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"], True, True),
    "mistral": (MISTRAL, ["<s>", "</s>", "[INST]", "[/INST]"], True, True),
    "phi3": (PHI3, ["<s>", "<|endoftext|>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>"], False, False),
    "zephyr": (ZEPHYR, ["<s>", "</s>"], True, True),
}  # fmt: skip


@cache
def tokenizer(family: str) -> Any:
    template, special, begins, metaspace = FAMILIES[family]
    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    if metaspace:
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        backend.decoder = decoders.Metaspace(prepend_scheme="first")
        alphabet = [chr(c) for c in range(32, 127)] + ["\n", "▁"]
    else:
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<unk>", *special], show_progress=False, initial_alphabet=alphabet
    )  # fmt: skip
    backend.train_from_iterator(TEXTS, trainer)
    if begins:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{special[0]} $A", special_tokens=[(special[0], 1)]
        )
    made = tf.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=special[0], eos_token=special[1], unk_token="<unk>",
        additional_special_tokens=special[2:],
    )  # fmt: skip
    made.chat_template = template
    return made


@cache
def build(family: str) -> tuple[Any, Any]:
    """A model of two layers and its tokenizer."""
    made = tokenizer(family)
    torch.manual_seed(0)
    config = tf.LlamaConfig(
        vocab_size=len(made), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, max_position_embeddings=512, initializer_range=SPREAD, attention_bias=True, mlp_bias=True,
        bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    model = tf.LlamaForCausalLM(config).eval()
    with torch.no_grad():  # biases begin as 0
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=SPREAD)
    return model, made
