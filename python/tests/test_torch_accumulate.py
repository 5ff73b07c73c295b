# SPDX-License-Identifier: Apache-2.0
"""Products with a simulated accumulator: values, gradients, layers."""

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.torch as nt
from torch import nn
from torch_devices import DEVICES, same_bits


@pytest.mark.parametrize("device", DEVICES)
def test_both_gradients_are_products_in_the_accumulator(device):
    a = torch.randn(5, 7, device=device, requires_grad=True)
    b = torch.randn(7, 3, device=device, requires_grad=True)
    grad = torch.randn(5, 3, device=device)
    out = nt.matmul(a, b, accumulator="e5m10")
    out.backward(grad)
    x, y = a.detach(), b.detach()
    assert same_bits(out, nibble.matmul(x, y, accumulator="e5m10"))
    assert same_bits(a.grad, nibble.matmul(grad, y.t().contiguous(), accumulator="e5m10"))
    assert same_bits(b.grad, nibble.matmul(x.t().contiguous(), grad, accumulator="e5m10"))
    assert not torch.equal(out, a @ b)


def test_the_backward_accumulator_is_chosen_apart():
    a, b = torch.randn(4, 64, requires_grad=True), torch.randn(64, 4)
    results = []
    for backward in ("same", None, "e3m2"):
        a.grad = None
        nt.matmul(a, b, accumulator="e5m10", backward=backward).backward(torch.ones(4, 4))
        results.append(a.grad.clone())
    assert torch.allclose(results[1], torch.ones(4, 4) @ b.t(), atol=1e-5)
    assert same_bits(results[2], nibble.matmul(torch.ones(4, 4), b.t().contiguous(), accumulator="e3m2"))
    assert not same_bits(results[0], results[1])


@pytest.mark.parametrize(
    "shape_a, shape_b",
    [
        ((7,), (7,)),
        ((7,), (7, 3)),
        ((5, 7), (7,)),
        ((2, 5, 7), (7, 3)),
        ((2, 5, 7), (2, 7, 3)),
        ((4, 1, 5, 7), (2, 7, 3)),
        ((0, 7), (7, 3)),
    ],
)
def test_shapes_are_those_of_torch(shape_a, shape_b):
    a, b = torch.randn(shape_a), torch.randn(shape_b)
    assert torch.allclose(nt.matmul(a, b, accumulator="fp32"), torch.matmul(a, b), atol=1e-5)


def test_stochastic_sums_follow_seed_and_step():
    a, b = torch.rand(4, 200), torch.rand(200, 4)
    accumulator = nibble.Accumulator(format="e5m6", rounding="stochastic")
    run = lambda **key: nt.matmul(a, b, accumulator=accumulator, **key)
    assert same_bits(run(seed=1), run(seed=1)) and not same_bits(run(seed=1), run(seed=2))
    assert not same_bits(run(seed=1), run(seed=1, step=1)) and not same_bits(run(seed=1), run(seed=1, stream=1))


def test_gradgradcheck_of_an_exact_accumulator():
    a, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, 2, requires_grad=True)
    out = nt.matmul(a, b, accumulator="fp32")
    (grad,) = torch.autograd.grad((out**2).sum(), a, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), b)
    (expected,) = torch.autograd.grad(torch.autograd.grad(((a @ b) ** 2).sum(), a, create_graph=True)[0].sum(), b)
    assert torch.allclose(second, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        dict(),
        dict(padding=1),
        dict(padding=(0, 2), stride=(2, 1)),
        dict(dilation=2),
        dict(groups=2),
        dict(padding="same", dilation=2),
        dict(padding=1, padding_mode="circular"),
        dict(bias=False),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_conv2d_is_torchs_with_other_sums(options, device):
    torch.manual_seed(0)
    plain = nn.Conv2d(4, 6, 3, **options).to(device)
    layer = nt.Conv2d(4, 6, 3, **options, accumulator="fp32").to(device)
    layer.load_state_dict(plain.state_dict())
    results = []
    for conv in (plain, layer):
        x = torch.linspace(-1, 1, 2 * 4 * 9 * 8, device=device).reshape(2, 4, 9, 8).requires_grad_()
        out = conv(x)
        (out**2).sum().backward()
        results.append([out, x.grad, conv.weight.grad] + ([] if conv.bias is None else [conv.bias.grad]))
    assert all(torch.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(*results))
    assert torch.equal(layer(x[0]), layer(x[:1])[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_linear_rounds_its_sums_and_keeps_the_type(dtype):
    layer = nt.Linear(64, 5, accumulator="e4m3", dtype=dtype)
    x = torch.randn(3, 2, 64, dtype=dtype)
    sums = nibble.matmul(x.float().reshape(6, 64), layer.weight.detach().float().t().contiguous(), accumulator="e4m3")
    expected = sums.to(dtype).reshape(3, 2, 5) + layer.bias
    assert layer(x).dtype == dtype and torch.equal(layer(x), expected)


def test_the_step_of_a_stochastic_layer_is_saved():
    accumulator = nibble.Accumulator(format="e4m3", rounding="stochastic")
    layer = nt.Linear(64, 5, accumulator=accumulator)
    x = torch.rand(3, 64)
    layer(x)
    other = nt.Linear(64, 5, accumulator=accumulator)
    other.load_state_dict(layer.state_dict())
    assert same_bits(layer(x), other(x)) and not same_bits(layer(x), layer(x))


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: nt.matmul(1, torch.ones(2), accumulator="fp16"), TypeError),
        (lambda: nt.matmul(torch.ones(2, 3), torch.ones(2, 3), accumulator="fp16"), ValueError),
        (lambda: nt.matmul(torch.ones(()), torch.ones(2), accumulator="fp16"), ValueError),
        (lambda: nt.matmul(torch.ones(2, 2), torch.ones(2, 2), accumulator="e77"), ValueError),
        (lambda: nt.matmul(torch.ones(2, 2), torch.ones(2, 2), accumulator=7), TypeError),
        (lambda: nt.conv2d(torch.ones(2, 2), torch.ones(2, 2, 1, 1), accumulator="fp16"), ValueError),
        (lambda: nt.conv2d(torch.ones(1, 3, 4, 4), torch.ones(2, 2, 1, 1), accumulator="fp16"), ValueError),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(make, error):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) and "\n" not in str(caught.value)
