"""A run's checkpoint to a folder that `transformers` loads: float16 weights, config, tokenizer.

Run: ``python -m training.export --run RUN --out attn_widget/mini``. With ``--average FOLDER`` it writes the mean
of the run's weights and those of an earlier export from which the run began.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save as serialize
from tokenizers import Tokenizer
from transformers import BertForPreTraining, BertTokenizer

from training.level import SHIPPED, level_by
from training.model import TIED, base_folder, build_config, load_checkpoint, load_exported
from training.settings import Settings, build_parser, read_settings

MAX_BYTES = 48_000_000  # what the repository is willing to carry
CHECK = "The keys to the cabinet [MASK] on the table, and the rain fell on the old town."


@dataclass
class Exported:
    """Files written, and the distance of the stored model from the trained one."""

    step: int
    tokens: int
    n_bytes: int
    max_logit_error: float  # of float32 logits, after rounding the weights to float16


def half_weights(model: BertForPreTraining) -> dict[str, torch.Tensor]:
    """The parameters in float16; the tied decoder is left out, its bias too.

    Raises
    ------
    ValueError
        If a weight is too large for float16.
    """
    weights: dict[str, torch.Tensor] = {}
    for name, value in model.state_dict().items():
        if name in TIED:
            continue
        weights[name] = value.to(torch.float16).contiguous()
        if not torch.isfinite(weights[name]).all():
            raise ValueError(f"{name} has a weight that float16 cannot hold")
    return weights


def write_tokenizer(package: str, out: Path) -> None:
    """The base's tokenizer, without the truncation and padding that its package sets."""
    tokenizer = Tokenizer.from_file(str(base_folder(package) / "tokenizer.json"))
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    BertTokenizer(
        vocab=dict(sorted(vocabulary.items(), key=lambda entry: entry[1])), model_max_length=512
    ).save_pretrained(out)


@torch.no_grad()
def logits_of(model: BertForPreTraining, package: str) -> torch.Tensor:
    """Logits of the masked-LM head for one sentence, float32 [1, n, vocabulary]."""
    tokenizer = Tokenizer.from_file(str(base_folder(package) / "tokenizer.json"))
    tokenizer.no_padding()
    ids = torch.tensor([tokenizer.encode(CHECK).ids])
    return model(input_ids=ids).prediction_logits


@torch.no_grad()
def average(
    model: BertForPreTraining, folder: Path, share: float, settings: Settings, data: Path
) -> None:
    """Move ``model`` towards the exported one in ``folder``, which gets ``share`` of every weight.

    Both are at the scale that ships, which is measured on the validation text in ``data``.

    Weights on one path of training are often better averaged than either end: Izmailov et al. 2018,
    https://arxiv.org/abs/1803.05407; Wortsman et al. 2022, https://arxiv.org/abs/2203.05482.

    Raises
    ------
    ValueError
        If ``share`` is not between 0 and 1, or the folder holds a model of another shape.
    """
    if not 0 < share < 1:
        raise ValueError(f"share {share}: expected a number between 0 and 1")
    earlier = BertForPreTraining(build_config(settings["model"]))
    load_exported(earlier, folder)
    level_by(earlier.eval(), data, SHIPPED)
    for own, other in zip(model.parameters(), earlier.parameters(), strict=True):
        own.lerp_(other, share)


def export(
    run: Path, out: Path, settings: Settings, earlier: tuple[Path, float] | None = None
) -> Exported:
    """Write ``config.json``, ``model.safetensors`` and the tokenizer's files into ``out``.

    With ``earlier``, a folder and its share, the weights are averaged first; see `average`.

    The last hidden state is brought to the scale of one; see `training.level`. The weights are stored in float16 but ``config.json`` says float32, so that `from_pretrained`
    computes in float32 on a CPU. The step and tokens go into the weights file's metadata.

    Raises
    ------
    ValueError
        If the weights take more than 48 MB.
    """
    model, step, tokens = load_checkpoint(run, settings["model"])
    level_by(model, run / "data", SHIPPED)
    if earlier is not None:
        average(model, *earlier, settings, run / "data")
    out.mkdir(parents=True, exist_ok=True)
    weights = half_weights(model)
    n_bytes = sum(value.numel() * value.element_size() for value in weights.values())
    if n_bytes > MAX_BYTES:
        raise ValueError(f"{n_bytes:,} bytes of weights; at most {MAX_BYTES:,} are shipped")
    model.config.architectures = [type(model).__name__]
    model.config.dtype = torch.float32
    model.config.save_pretrained(out)
    write_tokenizer(settings["model"]["base"], out)
    compare_with = out / "model.safetensors.tmp"
    metadata = {"format": "pt", "step": str(step), "tokens": str(tokens)}
    compare_with.write_bytes(serialize(weights, metadata))
    compare_with.replace(out / "model.safetensors")
    stored = BertForPreTraining.from_pretrained(out, local_files_only=True).eval()
    package = settings["model"]["base"]
    error = (logits_of(stored, package) - logits_of(model, package)).abs().max()
    size = (out / "model.safetensors").stat().st_size
    return Exported(step, tokens, size, float(error))


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--average", type=Path, metavar="FOLDER", help="an earlier export")
    parser.add_argument("--share", type=float, default=0.5, help="of the earlier one's weights")
    arguments = parser.parse_args()
    done = export(
        arguments.run,
        arguments.out,
        read_settings(arguments.config, arguments.set),
        None if arguments.average is None else (arguments.average, arguments.share),
    )
    print(
        f"step {done.step}, {done.tokens:,} tokens: {done.n_bytes / 1e6:.1f} MB; "
        f"largest change of a logit by float16: {done.max_logit_error:.1e}"
    )


if __name__ == "__main__":
    main()
