# SPDX-License-Identifier: Apache-2.0
"""nibble.torch.quantizer and Quantizer: values, gradients, draws, saving."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.torch as nt
from torch_devices import DEVICES, same_bits


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_forward_and_backward_round_to_their_formats(device, dtype):
    x = torch.randn(100, device=device).to(dtype).requires_grad_()
    weight = torch.randn(100, device=device).to(dtype)
    y = nt.quantizer("e4m3", "e5m2")(x)
    y.backward(weight)
    assert same_bits(y, nibble.quantize(x.detach(), "e4m3"))
    assert same_bits(x.grad, nibble.quantize(weight, "e5m2"))
    assert y.device == x.device and y.dtype == dtype


def test_without_formats_everything_passes():
    x = torch.randn(5, requires_grad=True)
    y = nt.quantizer()(x)
    y.backward(torch.full((5,), 0.3))
    assert torch.equal(y, x) and torch.equal(x.grad, torch.full((5,), 0.3))


def test_clamped_gradient_is_zero_beyond_the_range():
    x = torch.tensor([-500.0, -448.0, 1.0, 448.0, 449.0], requires_grad=True)
    nt.quantizer("e4m3", gradient="clamped")(x).sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 1, 0]
    x.grad = None
    nt.quantizer("e4m3")(x).sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1, 1]


@pytest.mark.parametrize("fmt", ["bfp(8)", "bfp(8,axis=0)", "bfp(8,axis=1)", "mxfp4", "nf4"])
def test_clamped_gradient_needs_a_range(fmt):
    with pytest.raises(ValueError, match="range of its own"):
        nt.quantizer(fmt, gradient="clamped")


@pytest.mark.parametrize("fmt, largest", [("fixed(8,4)", 7.9375), ("posit(8,1)", 4096.0), ("int8(scale=0.5)", 63.5)])
def test_clamped_gradient_knows_each_family(fmt, largest):
    x = torch.tensor([largest, largest * 1.01], requires_grad=True)
    nt.quantizer(fmt, gradient="clamped")(x).sum().backward()
    assert x.grad.tolist() == [1, 0]


def test_hooks_see_the_gradient_before_it_is_rounded():
    x = torch.zeros(1, requires_grad=True)
    nt.quantizer(None, "fixed(8,4)", hooks=[lambda g: g * 0.5, lambda g: g + 0.01])(x).backward(torch.tensor([1.0]))
    assert x.grad.item() == 0.5


def test_double_backward_is_straight_through():
    x = torch.randn(20, requires_grad=True)
    y = nt.quantizer("e4m3", "e5m2")(x)
    (grad,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    assert same_bits(grad, nibble.quantize(2 * y.detach(), "e5m2"))
    (second,) = torch.autograd.grad(grad.sum(), x)
    assert torch.equal(second, torch.full((20,), 2.0))


@pytest.mark.parametrize("device", DEVICES)
def test_draws_follow_seed_step_and_stream_alone(device):
    x = torch.rand(1000)
    make = lambda **more: nt.Quantizer("fixed(8,4)", forward_rounding="stochastic", **more)
    first = make(seed=3)
    steps = [first(x.to(device)) for _ in range(3)]
    again = make(seed=3)
    assert all(same_bits(a, again(x)) for a in steps)
    assert same_bits(steps[2], nibble.quantize(x, "fixed(8,4)", rounding="stochastic", seed=3, step=2))
    assert not same_bits(steps[0], steps[1])
    assert not same_bits(steps[0], make(seed=4)(x))
    assert not same_bits(steps[0], make(seed=3, stream=1)(x))


def test_torch_gives_the_seed_where_none_is_given():
    x = torch.rand(1000)
    q = nt.quantizer("fixed(8,4)", forward_rounding="stochastic", seed=None)
    torch.manual_seed(5)
    first, second = q(x), q(x)
    torch.manual_seed(5)
    assert same_bits(first, q(x)) and same_bits(second, q(x)) and not same_bits(first, second)


def test_the_step_is_saved_copied_and_pickled():
    x = torch.rand(1000)
    q = nt.Quantizer("fixed(8,4)", forward_rounding="stochastic")
    q(x), q(x)
    assert q.state_dict()["step"].item() == 2
    loaded = nt.Quantizer("fixed(8,4)", forward_rounding="stochastic")
    loaded.load_state_dict(q.state_dict())
    copies = [loaded, copy.deepcopy(q), pickle.loads(pickle.dumps(q))]
    expected = q(x)
    assert all(same_bits(expected, c(x)) for c in copies)
    loaded.load_state_dict({})  # of a model that had no quantizer
    assert loaded.step == 3


def test_a_function_may_round():
    x = torch.randn(5, requires_grad=True)
    y = nt.quantizer(torch.round, torch.floor)(x)
    y.backward(torch.full((5,), 1.7))
    assert torch.equal(y, torch.round(x)) and torch.equal(x.grad, torch.ones(5))


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: nt.quantizer("e4m"), ValueError),
        (lambda: nt.quantizer(8), TypeError),
        (lambda: nt.quantizer(torch.zeros(2)), TypeError),
        (lambda: nt.quantizer("e4m3", forward_rounding="nearest"), ValueError),
        (lambda: nt.quantizer("e4m3", gradient="none"), ValueError),
        (lambda: nt.quantizer(gradient="clamped"), ValueError),
        (lambda: nt.quantizer("e4m3", hooks=[1]), TypeError),
        (lambda: nt.quantizer("e4m3", seed=-1), ValueError),
        (lambda: nt.quantizer("e4m3", seed="x"), TypeError),
        (lambda: nt.quantizer("e4m3", stream=2**31), ValueError),
        (lambda: nt.quantizer("e4m3")([1.0]), TypeError),
        (lambda: nt.quantizer("e4m3")(torch.ones(2, dtype=torch.float64)), TypeError),
        (lambda: nt.quantizer("e4m3")(torch.ones(2, dtype=torch.int32)), TypeError),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(make, error):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) and "\n" not in str(caught.value)


def test_torchs_usual_type_does_not_matter():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert nt.quantizer("e3m2", gradient="clamped")(torch.ones(2, dtype=torch.float32)).tolist() == [1, 1]
    finally:
        torch.set_default_dtype(before)
