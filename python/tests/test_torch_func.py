# SPDX-License-Identifier: Apache-2.0
"""Roundings under torch.func and vmap: every member of a batch gets the bits that it would get by itself."""

import copy

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.torch as nt
from nibble import qtorch
from nibble.torch.functions import HAS_VMAP
from torch import nn
from torch_devices import DEVICES, same_bits

pytestmark = pytest.mark.skipif(not HAS_VMAP, reason="torch before 2 has no torch.func")

CASES = [
    dict(),
    dict(rounding="stochastic"),
    dict(clamped_gradient=True),
    dict(accumulator="fp16"),
    dict(accumulator=nibble.Accumulator("fp16", rounding="stochastic"), backward_accumulator=None),
]


def network(device="cpu"):
    """Of numbers whose products and sums fp32 holds, so that the order of torch's own sums does not matter."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 4)).to(device)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((parameter * 64).round() / 32)
    return model


def batch(device="cpu"):
    return (torch.randn(5, 3, 12, generator=torch.Generator().manual_seed(1)) * 16).round().div(8).to(device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("format", ["e4m3", "bfp(8)"])
@pytest.mark.parametrize("options", CASES, ids=str)
def test_lowered_models(device, format, options):
    if "clamped_gradient" in options and format != "e4m3":
        pytest.skip("a scale that follows the data has no range of its own")
    lowered = nt.lower(network(device), format, format, format, format, **options)
    x = batch(device)
    alone = torch.stack([copy.deepcopy(lowered)(one) for one in x])
    mapped = copy.deepcopy(lowered)
    assert same_bits(torch.vmap(mapped)(x), alone)
    assert same_bits(torch.vmap(copy.deepcopy(lowered), in_dims=2)(x.movedim(0, 2)), alone)
    assert mapped[0].nibble_lowering.step == 1  # one call, whatever the batch


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("options", CASES, ids=str)
def test_gradients_of_every_member(device, options):
    lowered, x = nt.lower(network(device), "e4m3", "e4m3", "e5m2", "e5m2", **options), batch(device)
    mapped = copy.deepcopy(lowered)
    loss = lambda parameters, one: torch.func.functional_call(mapped, parameters, (one,)).square().sum()
    parameters = {name: value.detach() for name, value in lowered.named_parameters()}
    found = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x)
    for index, one in enumerate(x):
        alone = copy.deepcopy(lowered)
        alone(one).square().sum().backward()
        assert all(same_bits(found[name][index], value.grad) for name, value in alone.named_parameters())


def test_ensembles():
    """The same layers with parameters of several models at once."""
    models = [nt.lower(network(), "e4m3", "bfp(8)", rounding="stochastic") for _ in range(3)]
    for factor, model in enumerate(models):
        for parameter in model.parameters():
            parameter.data.mul_(2**factor)
    parameters, _ = torch.func.stack_module_state(models)
    base, x = copy.deepcopy(models[0]), batch()[0]
    found = torch.vmap(lambda own: torch.func.functional_call(base, own, (x,)))(parameters)
    assert same_bits(found, torch.stack([model(x) for model in models]))


def test_quantizers():
    x = batch()
    assert same_bits(torch.vmap(nt.quantizer("posit(8,1)"))(x), nibble.quantize(x, "posit(8,1)"))
    halves = torch.vmap(nt.Quantizer(lambda one: one / one.abs().max()))(x)  # a function sees one member
    assert torch.equal(halves, torch.stack([one / one.abs().max() for one in x]))
    hooked = nt.quantizer("e4m3", "e4m3", hooks=[lambda gradient: gradient / gradient.abs().max()])
    gradient = torch.vmap(torch.func.grad(lambda one: (hooked(one) * one.detach()).sum()))(x)
    assert same_bits(gradient, torch.stack([nibble.quantize(one / one.abs().max(), "e4m3") for one in x]))


def test_double_backward_is_straight_through():
    rounded = nt.quantizer("e4m3", "e4m3")
    second = torch.func.grad(torch.func.grad(lambda x: rounded(x) ** 3))(torch.tensor(1.25))
    assert second.item() == nibble.quantize(torch.tensor(6 * 1.25), "e4m3").item()


def test_draws_of_torchs_generator_ask_for_randomness():
    draws = nt.Quantizer("e4m3", forward_rounding="stochastic", seed=None)
    with pytest.raises(RuntimeError, match="randomness"):
        torch.vmap(draws)(batch())
    found = torch.vmap(draws, randomness="same")(torch.full((2, 64), 1.03))
    assert same_bits(found[0], found[1])


def test_posits_of_qpytorchs_fork():
    layer, x = qtorch.posit_activation.PositTanhModule(), batch() / 4
    assert same_bits(torch.vmap(layer)(x), layer(x))
    found = torch.vmap(torch.func.grad(lambda one: layer(one).sum()))(x)
    assert same_bits(found, 1 - layer(x) ** 2)
