# SPDX-License-Identifier: Apache-2.0
"""Posits, their codes, and the activations made from their bits."""

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.qtorch as qtorch
from nibble.qtorch.quant import (
    bfloat16_posit8_quantize,
    convert_to_posit,
    posit_quantize,
    posit_sigmoid,
    posit_tanh,
    posit_tanh_enhanced,
)
from torch_devices import DEVICES, mixed_values, same_bits

X = torch.linspace(-12, 12, 20001)


def value_of(code, nsize, es):
    """A posit decoded from the standard's words."""
    if code == 0:
        return 0.0
    if code >> (nsize - 1):
        return -value_of((1 << nsize) - code, nsize, es)
    text = format(code, f"0{nsize - 1}b")
    run = len(text) - len(text.lstrip(text[0]))
    k = run - 1 if text[0] == "1" else -run
    rest = text[run + 1 :]
    exponent = int(rest[:es].ljust(es, "0") or "0", 2)
    fraction = sum(int(bit) / 2.0 ** (i + 1) for i, bit in enumerate(rest[es:]))
    return (1 + fraction) * 2.0 ** (k * 2**es + exponent)


@pytest.mark.parametrize("nsize, es", [(6, 0), (8, 0), (8, 1), (8, 2), (8, 3), (7, 1)])
def test_every_posit_stays_and_has_its_code(nsize, es):
    codes = [c for c in range(1 << nsize) if c != 1 << (nsize - 1)]
    values = torch.tensor([value_of(c, nsize, es) for c in codes])
    assert torch.equal(posit_quantize(values, nsize, es), values)
    assert convert_to_posit(values, nsize, es).tolist() == codes
    assert convert_to_posit(values, nsize, es, left_aligned=True).tolist() == [c << (16 - nsize) for c in codes]
    assert convert_to_posit(values / 4, nsize, es, scale=4.0).tolist() == codes  # B5: the scale counts
    bfloats = values.to(torch.bfloat16)
    assert torch.equal(bfloat16_posit8_quantize(bfloats, nsize, es), bfloats)  # B3: also below 8 bits


@pytest.mark.parametrize("nsize, es", [(8, 0), (8, 1), (8, 3), (5, 2)])
def test_bfloat16_posits_saturate(nsize, es):
    """B2: the fork gives 0 beyond maxpos and below minpos."""
    maxpos = 2.0 ** ((nsize - 2) * 2**es)
    x = torch.tensor([maxpos * 4, -maxpos * 4, 1 / maxpos / 4, -1 / maxpos / 4, 0.0], dtype=torch.bfloat16)
    assert bfloat16_posit8_quantize(x, nsize, es).tolist() == [maxpos, -maxpos, 1 / maxpos, -1 / maxpos, 0.0]
    assert torch.isnan(bfloat16_posit8_quantize(torch.tensor([float("inf")], dtype=torch.bfloat16), nsize, es)).all()


@pytest.mark.parametrize("scale", [4.0, 10.0, 0.3])
@pytest.mark.parametrize("device", DEVICES)
def test_scales_multiply_before_and_divide_after_on_every_device(scale, device):
    x = mixed_values()
    x = x[torch.isfinite(x * scale)]
    expected = nibble.quantize(x * torch.tensor(scale), "posit(8,1)") / torch.tensor(scale)
    assert same_bits(posit_quantize(x.to(device), 8, 1, scale), expected)
    largest = torch.tensor([3e38, -3e38])
    assert torch.isfinite(posit_quantize(largest, 8, 1, 100.0)).all()


def test_stochastic_posits_are_stochastic():
    x = torch.full((100000,), 1.01)
    y = posit_quantize(x, 8, 1, rounding="stochastic", seed=1)
    assert set(y.tolist()) == {1.0, 1.0625} and abs(y.mean().item() - 1.01) < 0.001


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "function, true, nsize, bound",
    [
        (posit_sigmoid, torch.sigmoid, 16, 0.0495),
        (posit_sigmoid, torch.sigmoid, 8, 0.0515),
        (posit_tanh, torch.tanh, 16, 0.0985),
        (posit_tanh_enhanced, torch.tanh, 16, 0.0385),
    ],
)
def test_activations_are_as_near_as_the_fork_says(device, function, true, nsize, bound):
    error = (function(X.to(device), nsize).cpu() - true(X)).abs().max().item()
    assert bound - 0.01 < error < bound


@pytest.mark.parametrize("nsize", [8, 16])
def test_the_sigmoid_is_the_trick_on_bits(nsize):
    x = X[::50]
    codes = convert_to_posit(x, nsize, 0, left_aligned=True)
    bits = ((codes ^ 0x8000) >> 2).tolist()
    assert posit_sigmoid(x, nsize).tolist() == [value_of(b, 16, 0) for b in bits]


def test_activations_of_specials():
    x = torch.tensor([float("inf"), -float("inf"), float("nan"), 0.0])
    y = posit_sigmoid(x, 16)
    assert y[0] > 0.999 and y[1] < 0.001 and torch.isnan(y[2]) and y[3] == 0.5
    assert posit_tanh_enhanced(x, 16)[:2].tolist() == [1.0, -1.0]
    with qtorch.compat("qtorch+"):
        assert posit_sigmoid(x, 16).tolist() == [0.0, 0.0, 0.0, 0.5]


@pytest.mark.parametrize(
    "module, function",
    [(qtorch.PositTanhModule(), posit_tanh), (qtorch.PositTanhModuleEnhanced(), posit_tanh_enhanced)],
)
def test_tanh_modules_and_their_gradient(module, function):
    x = torch.linspace(-3, 3, 50, requires_grad=True)
    y = module(x)
    assert same_bits(y, function(x, 16))
    y.sum().backward()
    assert torch.equal(x.grad, 1 - y.detach() ** 2)
    assert torch.equal(qtorch.RefTanhModule()(x), torch.tanh(x))


def test_numbers_print():
    """B4."""
    assert str(qtorch.Posit(8, 1, 2.5)) == "Posit (nsize=8, es=1, scale=2.5)"
    assert str(qtorch.Positbf(8, 1)) == "Positbf (nsize=8, es=1, scale=1.0)"
    assert str(qtorch.FloatingPoint(5, 2)) == "FloatingPoint (exponent=5, mantissa=2)"
    assert str(qtorch.BlockFloatingPoint(8)) == "BlockFloatingPoint (wl=8, dim=-1)"
