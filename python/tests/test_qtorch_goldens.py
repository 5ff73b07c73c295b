# SPDX-License-Identifier: Apache-2.0
"""nibble.qtorch against what the packages themselves computed (tests/golden/compat), bit by bit."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import numpy as np

import nibble.qtorch as qtorch
from nibble.qtorch import quant
from nibble.qtorch.number import FixedPoint
from torch_devices import same_bits

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "golden" / "compat"


def golden(name):
    formats = (FOLDER / f"{name}.txt").read_text().splitlines()
    inputs, outputs = np.load(FOLDER / f"{name}_x.npy"), np.load(FOLDER / f"{name}_y.npy")
    return [(text, torch.from_numpy(inputs), torch.from_numpy(row)) for text, row in zip(formats, outputs)]


def numbers_in(text):
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]


def fixed_arguments(text):
    wl, fl = (int(n) for n in numbers_in(text)[:2])
    return dict(wl=wl, fl=fl, clamp="clamp=off" not in text, symmetric="symmetric" in text)


def as_zero(x):
    """Both zeros as one: which of them the packages give follows no rule."""
    return torch.where(x == 0, torch.zeros_like(x), x)


@pytest.mark.parametrize("text, x, y", golden("qtorch_fixed"), ids=lambda v: v if isinstance(v, str) else "")
def test_fixed_point(text, x, y):
    arguments = fixed_arguments(text)
    with qtorch.compat("qtorch-bits"):
        assert same_bits(quant.fixed_point_quantize(x, **arguments, rounding="nearest"), y)
    own = quant.fixed_point_quantize(x, **arguments, rounding="nearest")
    steps = torch.ldexp(x.double(), torch.tensor(arguments["fl"])).abs()
    is_lost = (steps == 0.5 + 2.0**-24) | ((steps >= 2**23) & (steps < 2**24)) | (steps >= 2.0**128)  # A1
    if arguments["wl"] > 24 and arguments["clamp"]:
        is_lost |= steps >= 2.0 ** (arguments["wl"] - 1) - 1  # the packages' bound is rounded up
    assert same_bits(as_zero(own)[~is_lost], as_zero(y)[~is_lost])


@pytest.mark.parametrize("text, x, y", golden("qtorch_block"), ids=lambda v: v if isinstance(v, str) else "")
def test_block_floating_point(text, x, y):
    wl, *dim = (int(n) for n in numbers_in(text))
    arguments = dict(wl=wl, dim=dim[0] if dim else -1, rounding="nearest")
    with qtorch.compat("qtorch-bits"):
        for part, expected in zip(x, y):
            assert same_bits(quant.block_quantize(part, **arguments), expected)
    if wl <= 8:  # the tame matrix: the rule differs from theirs in ties and by bits that they lose
        own, theirs = quant.block_quantize(x[0], **arguments), y[0]
        step = (own - theirs).abs()
        assert (step > 0).float().mean() < 0.06
        assert torch.allclose(own, theirs, rtol=0, atol=float(x[0].abs().max()) * 2.0 ** (2 - wl))


@pytest.mark.parametrize("text, x, y", golden("qtorch_float"), ids=lambda v: v if isinstance(v, str) else "")
def test_floating_point(text, x, y):
    exp, man = (int(n) for n in numbers_in(text)[:2])
    with qtorch.compat("qtorch-bits"):
        assert same_bits(quant.float_quantize(x, exp, man, rounding="nearest"), y)
    own = quant.float_quantize(x, exp, man, rounding="nearest")
    min_normal = 2.0 ** (2 - 2 ** (exp - 1))
    is_twice_rounded = (x.abs() < min_normal) & (as_zero(own) != as_zero(y))  # A4: just below a middle
    if man < 23:
        assert is_twice_rounded.float().mean() < 0.05
    compared = ~torch.isnan(x) & ~is_twice_rounded  # A5: NaN stays NaN here
    assert same_bits(as_zero(own)[compared], as_zero(y)[compared])
    assert torch.isnan(own[torch.isnan(x)]).all()


@pytest.mark.parametrize("text, x, y", golden("qtorch_plus_float"), ids=lambda v: v if isinstance(v, str) else "")
def test_floating_point_of_the_fork(text, x, y):
    exp, man = (int(n) for n in numbers_in(text)[:2])
    with qtorch.compat("qtorch+"):
        assert same_bits(quant.float_quantize(x, exp, man, rounding="nearest"), y)


@pytest.mark.parametrize("text, x, y", golden("qtorch_plus_posit"), ids=lambda v: v if isinstance(v, str) else "")
def test_posits(text, x, y):
    nsize, es, *scale = numbers_in(text)
    scale = round(1 / scale[0], 6) if scale else 1.0
    with qtorch.compat("qtorch+"):
        assert same_bits(quant.posit_quantize(x, int(nsize), int(es), scale), y)
    own = quant.posit_quantize(x, int(nsize), int(es), scale)
    finite = torch.isfinite(x) & torch.isfinite(x * scale)
    assert same_bits(own[finite], y[finite])
    assert torch.isnan(own[~torch.isfinite(x)]).all()  # B1: NaR is NaN
    assert torch.isfinite(own[torch.isfinite(x)]).all()


@pytest.mark.parametrize("text, x, y", golden("qtorch_plus_table"), ids=lambda v: v if isinstance(v, str) else "")
def test_tables(text, x, y):
    scale = round(1 / numbers_in(text)[-1], 6)
    function = {"new": quant.new_format_quantize, "act": quant.act_format_quantize}.get(text[9:12])
    if function is None:
        table = torch.tensor(numbers_in(text)[:-1])
        function = lambda x, scale: quant.configurable_table_quantize(x, table, scale)
    with qtorch.compat("qtorch+"):
        assert same_bits(function(x, scale), y)
    near = x.abs() * scale < 9e4  # B8: beyond 1e5 they give 0
    assert same_bits(function(x, scale)[near], y[near])


def test_fixed_point_masks_what_is_clamped_after_rounding():
    number = FixedPoint(5, 4)
    q = quant.quantizer(number, None, "nearest", clamping_grad_zero=True)
    x = torch.tensor([0.9375, 0.96, 0.97, -1.0, -1.03, -1.04], requires_grad=True)  # 0.96 and -1.03 round onto the ends
    q(x).sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 1, 1, 0]
