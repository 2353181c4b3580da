"""Muon against the definition of what it does: the orthogonal factor of the averaged gradient."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from attn_widget import load
from training.muon import Muon, orthogonalise
from training.optimizer import build_optimizers
from training.settings import read_settings


def factor(matrix: Tensor) -> Tensor:
    """The orthogonal factor ``U V^T`` of a singular value decomposition."""
    u, _, v = torch.linalg.svd(matrix.double(), full_matrices=False)
    return (u @ v).float()


@pytest.mark.parametrize("shape", [(24, 24), (24, 96), (96, 24)])
def test_a_matrix_comes_near_its_orthogonal_factor(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    u, values, vh = torch.linalg.svd(torch.randn(3, *shape), full_matrices=False)
    matrices = u @ torch.diag_embed(values.clamp(min=0.2 * float(values.max()))) @ vh
    found = orthogonalise(matrices)
    for one, matrix in zip(found, matrices, strict=True):
        values = torch.linalg.svdvals(one)
        assert float(values.min()) > 0.6 and float(values.max()) < 1.3
        nearness = torch.nn.functional.cosine_similarity(
            one.flatten(), factor(matrix).flatten(), dim=0
        )
        assert nearness > 0.97


@pytest.mark.parametrize("shape", [(32, 32), (32, 128), (128, 32)])
def test_a_step_has_the_same_size_whatever_the_shape_and_the_gradient(
    shape: tuple[int, int],
) -> None:
    torch.manual_seed(0)
    for size in (1e-4, 1.0, 1e4):
        weight = torch.nn.Parameter(torch.zeros(shape))
        weight.grad = size * torch.randn(shape)
        Muon([weight], lr=0.01).step()
        assert float(weight.detach().square().mean().sqrt()) == pytest.approx(0.002, rel=0.2)


def test_bfloat16_takes_nearly_the_same_step_and_keeps_the_weights_precision() -> None:
    torch.manual_seed(0)
    gradient = torch.randn(32, 128)
    steps: list[torch.Tensor] = []
    for dtype in (torch.float32, torch.bfloat16):
        weight = torch.nn.Parameter(torch.zeros(32, 128))
        weight.grad = gradient.clone()
        Muon([weight], lr=0.01, dtype=dtype).step()
        assert weight.dtype == torch.float32
        steps.append(weight.detach().flatten())
    assert torch.nn.functional.cosine_similarity(*steps, dim=0) > 0.999


def test_momentum_looks_ahead() -> None:
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.zeros(8, 8))
    optimizer = Muon([weight], lr=0.01, momentum=0.9)
    gradients = torch.randn(3, 8, 8)
    average = torch.zeros(8, 8)
    expected = torch.zeros(8, 8)
    for gradient in gradients:
        weight.grad = gradient.clone()
        optimizer.step()
        average = 0.9 * average + 0.1 * gradient
        ahead = 0.9 * average + 0.1 * gradient
        expected -= 0.01 * 0.2 * 8**0.5 * orthogonalise(ahead[None])[0]
    torch.testing.assert_close(weight.detach(), expected)


def test_muon_moves_the_matrices_of_the_layers_and_adamw_the_rest() -> None:
    model = load(progress=False).model
    parts = build_optimizers(model, read_settings()["train"] | {"optimizer": "muon"}).parts
    names = {id(p): name for name, p in model.named_parameters()}
    adamw, muon = (
        [names[id(p)] for group in part.param_groups for p in group["params"]] for part in parts
    )
    assert len(muon) == 6 * 6
    assert all(".layer." in name and name.endswith("weight") for name in muon)
    assert sorted(adamw + muon) == sorted(names.values())


def test_an_unknown_optimizer_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'sgd'.*'adamw', 'muon'"):
        build_optimizers(load(progress=False).model, {"optimizer": "sgd"})
