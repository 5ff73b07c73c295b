# SPDX-License-Identifier: Apache-2.0
"""What QPyTorch's own tests ask for, and where nibble.qtorch is right and it is not."""

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.qtorch as qtorch
from nibble.qtorch.quant import block_quantize, fixed_point_quantize, float_quantize, posit_quantize, quantizer
from torch_devices import DEVICES, mixed_values, same_bits

ROUNDINGS = ["nearest", "stochastic"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_fixed_point_reaches_its_bounds_and_passes_them_without_clamp(device, rounding):
    x = torch.linspace(-2, 2, 100, device=device)
    clamped = fixed_point_quantize(x, 5, 4, clamp=True, rounding=rounding)
    assert (clamped.min().item(), clamped.max().item()) == (-1.0, 0.9375)
    free = fixed_point_quantize(x, 5, 4, clamp=False, rounding=rounding)
    assert free.min() < -1 and free.max() > 0.9375
    assert fixed_point_quantize(x, 5, 4, symmetric=True, rounding=rounding).min().item() == -0.9375


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("exp, man", [(2, 2), (2, 3), (3, 2)])
def test_floats_give_each_of_their_values_and_no_other(device, rounding, exp, man):
    """Bias 2^(e-1)-1, subnormals, and the top exponent a binade like the others."""
    bias = 2 ** (exp - 1) - 1
    values = {m * 2.0 ** (1 - bias - man) for m in range(2**man)}
    values |= {(1 + m / 2**man) * 2.0 ** (e - bias) for e in range(1, 2**exp) for m in range(2**man)}
    values |= {-v for v in values}
    seen = float_quantize(torch.arange(-30, 30, 0.01, device=device), exp, man, rounding)
    assert set(seen.tolist()) == values


def test_nearest_fixed_point_is_torchs_round():
    x = torch.randn(10**6) * 100
    assert torch.equal(fixed_point_quantize(x, 8, 8, clamp=False, rounding="nearest"), torch.round(x * 256) / 256)
    halves = torch.arange(-50, 50) + 0.5
    assert torch.equal(fixed_point_quantize(halves, 8, 0, rounding="nearest"), torch.round(halves))


@pytest.mark.parametrize("wl", [3, 5, 8])
def test_fixed_point_and_blocks_agree_under_the_exponent_0(wl):
    x = torch.cat([torch.rand(1000) - 0.5, torch.tensor([1.0])]) * 1.99
    x[-1] = 1.5  # the block's exponent
    fixed = fixed_point_quantize(x, wl, wl - 2, symmetric=True, rounding="nearest")
    assert torch.equal(fixed, block_quantize(x, wl, rounding="nearest"))


def test_half_is_torchs_half_but_for_ties():
    x = torch.rand(10000)
    assert torch.equal(float_quantize(x, 5, 10, "nearest-even"), x.half().float())
    error = ((float_quantize(x, 5, 10, "nearest") - x) ** 2).sum()
    assert error == ((x.half().float() - x) ** 2).sum()


@pytest.mark.parametrize(
    "rounded, bound",
    [
        (lambda x: fixed_point_quantize(x, 7, 6), 1e-6),
        (lambda x: float_quantize(x, 6, 5), 1e-6),
        (lambda x: block_quantize(x, 6), 1e-4),
    ],
)
def test_the_mean_of_stochastic_rounding_is_the_number(rounded, bound):
    torch.manual_seed(0)
    x = torch.tensor([0.3, -0.7, 0.011, 0.52])
    mean = rounded(x.repeat(100000, 1)).double().mean(0)
    assert ((mean - x) ** 2).max() < bound


@pytest.mark.parametrize(
    "function",
    [
        lambda x: fixed_point_quantize(x, 8, 4),
        lambda x: float_quantize(x, 5, 2),
        lambda x: block_quantize(x, 8),
        lambda x: posit_quantize(x, 8, 1, 1.0, "stochastic"),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_manual_seed_repeats_stochastic_rounding_on_every_device(function, device):
    x = torch.randn(1000)
    torch.manual_seed(3)
    first, second = function(x), function(x)
    torch.manual_seed(3)
    assert same_bits(first, function(x.to(device))) and same_bits(second, function(x.to(device)))
    assert not same_bits(first, second)


def test_a_seed_is_enough_and_leaves_torchs_generator():
    x = torch.rand(1000)
    torch.manual_seed(0)
    state = torch.get_rng_state()
    one = float_quantize(x, 5, 2, seed=9)
    float_quantize(x, 5, 2, "nearest")
    assert torch.equal(state, torch.get_rng_state())
    assert same_bits(one, float_quantize(x, 5, 2, seed=9))
    assert same_bits(one, nibble.quantize(x, "float(5,2,specials=finite)", rounding="stochastic", seed=9))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("device", DEVICES)
def test_half_types_stay_what_and_where_they_are(dtype, device):
    x = torch.randn(500).to(dtype).to(device)
    for y, wide in (
        (float_quantize(x, 5, 2, "nearest"), float_quantize(x.float(), 5, 2, "nearest")),
        (fixed_point_quantize(x, 8, 4, rounding="nearest"), fixed_point_quantize(x.float(), 8, 4, rounding="nearest")),
        (posit_quantize(x, 8, 1, 3.0), posit_quantize(x.float(), 8, 1, 3.0)),
    ):
        assert y.dtype == dtype and y.device == x.device and same_bits(y, wide.to(dtype))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_what_is_held_stays(device, rounding):
    """A2 and A6: exact values move there, and man=23 flips signs."""
    x = mixed_values()
    x = x[torch.isfinite(x)].to(device)
    assert torch.equal(float_quantize(x, 8, 23, rounding), x)
    steps = torch.arange(-128, 128, device=device).repeat(100) / 16
    assert torch.equal(fixed_point_quantize(steps, 8, 4, rounding=rounding), steps)


def test_nan_stays_nan_and_infinity_saturates():
    """A5, A8, B1."""
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0])
    floats = float_quantize(x, 4, 3, "nearest")
    assert torch.isnan(floats[0]) and floats[1:].tolist() == [480.0, -480.0, 1.0]
    assert torch.isnan(fixed_point_quantize(x, 8, 4, rounding="nearest")[0])
    block = block_quantize(torch.tensor([float("nan"), 1.0, 0.5]), 8, rounding="nearest")
    assert torch.isnan(block[0]) and block[1:].tolist() == [1.0, 0.5]
    big = block_quantize(torch.tensor([2e38, -1e38]), 8, rounding="nearest")
    assert torch.allclose(big, torch.tensor([2e38, -1e38]), rtol=0.02)
    assert float_quantize(torch.tensor([3.4e38]), 8, 7, "nearest").item() == float("inf")
    assert float_quantize(torch.tensor([0.3]), 9, 2, "nearest").item() == 0.3125


def test_ties_are_away_for_floats_and_even_for_the_others():
    assert float_quantize(torch.tensor([1.125, 1.375, -1.125]), 5, 2, "nearest").tolist() == [1.25, 1.5, -1.25]
    assert float_quantize(torch.tensor([1.125, 1.375, -1.125]), 5, 2, "nearest-even").tolist() == [1.0, 1.5, -1.0]
    assert fixed_point_quantize(torch.tensor([0.5, 1.5, -0.5]), 8, 0, rounding="nearest").tolist() == [0.0, 2.0, 0.0]
    halves = torch.tensor([64.0, 0.5, 1.5, -0.5])  # exponent 6: steps of 1 for wl = 8
    assert block_quantize(halves, 8, rounding="nearest").tolist() == [64.0, 0.0, 2.0, 0.0]
    with qtorch.compat("qtorch"):
        assert block_quantize(halves, 8, rounding="nearest").tolist() == [64.0, 1.0, 2.0, 0.0]


def test_wide_fixed_point_clamps_within_its_range():
    x = torch.tensor([1e10, -1e10, 3.3])
    y = fixed_point_quantize(x, 40, 8, rounding="nearest")
    assert y.tolist() == [2.0**31 - 2**7, -(2.0**31), 3.30078125]
    assert fixed_point_quantize(x, 40, 8, symmetric=True, rounding="nearest")[1].item() == -(2.0**31 - 2**7)
    assert fixed_point_quantize(x, 40, 8, clamp=False, rounding="nearest")[0].item() == 1e10


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_a_block_is_an_index_of_its_dimension(dim):
    x = torch.randn(3, 4, 5) * torch.exp2(torch.randint(-5, 5, (3, 4, 5)).float())
    whole = block_quantize(x, 6, dim, "nearest")
    for i in range(x.shape[dim]):
        assert same_bits(whole.select(dim, i), block_quantize(x.select(dim, i), 6, -1, "nearest"))
    assert torch.equal(block_quantize(-x.abs(), 6, dim, "nearest"), -block_quantize(x.abs(), 6, dim, "nearest"))  # B7


def test_compat_is_a_switch_and_a_context():
    x = torch.tensor([float("nan"), 9.76561743e-4])
    assert qtorch.get_compat() == "none"
    with qtorch.compat("qtorch-bits"):
        assert float_quantize(x, 4, 3, "nearest").tolist() == [480.0, 2.0**-9]  # A5, A4
        made_inside = quantizer(qtorch.FloatingPoint(4, 3), forward_rounding="nearest")
    with qtorch.compat("qtorch"):
        assert float_quantize(x, 4, 3, "nearest").tolist() == [480.0, 0.0]
    assert qtorch.get_compat() == "none"
    assert float_quantize(x, 4, 3, "nearest")[1].item() == 0.0
    assert made_inside(x).tolist() == [480.0, 2.0**-9]  # a quantizer keeps the mode it was made in
    qtorch.set_compat("qtorch+")
    try:
        assert float_quantize(torch.tensor([1e9]), 4, 3, "nearest").item() == 240.0
        stochastic = posit_quantize(torch.rand(1000), 8, 1, 1.0, "stochastic", seed=1)
    finally:
        qtorch.set_compat("none")
    assert stochastic.shape == (1000,)
