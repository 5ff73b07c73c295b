# SPDX-License-Identifier: Apache-2.0
"""quantizer, Quantizer, OptimLP, lower and sequential_lower under QPyTorch's names."""

import copy
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import nibble.qtorch as qtorch
from nibble.qtorch import BlockFloatingPoint, FixedPoint, FloatingPoint, Posit
from nibble.qtorch.auto_low import lower, sequential_lower
from nibble.qtorch.optim import OptimLP
from nibble.qtorch.quant import Quantizer, fixed_point_quantize, float_quantize, quantizer
from torch import nn
from torch_devices import DEVICES, same_bits


@pytest.mark.parametrize("device", DEVICES)
def test_a_gradient_of_ones_clamps_to_the_largest_fixed_point(device):
    x = torch.tensor([0.5, 1.0, 0.0, -0.3], device=device, requires_grad=True)
    quantizer(backward_number=FixedPoint(5, 4), backward_rounding="nearest")(x).sum().backward()
    assert x.grad.tolist() == [0.9375] * 4


@pytest.mark.parametrize("backward", [FixedPoint(5, 4), None])
def test_clamped_elements_get_no_gradient(backward):
    """Also without a backward number, where QPyTorch forgets the mask."""
    x = torch.tensor([1.0, 0.5, -3.0], requires_grad=True)
    q = quantizer(FixedPoint(5, 4), backward, "nearest", "nearest", clamping_grad_zero=True)
    q(x).sum().backward()
    one = 1.0 if backward is None else 0.9375
    assert x.grad.tolist() == [0.0, one, 0.0]


@pytest.mark.parametrize("number", [BlockFloatingPoint(5), FloatingPoint(3, 5)])
def test_a_gradient_of_ones_passes_blocks_and_floats(number):
    x = torch.randn(10, requires_grad=True)
    quantizer(number, number, "nearest", "nearest")(x).sum().backward()
    assert x.grad.tolist() == [1.0] * 10


def test_the_backward_of_wage():
    """Errors are shifted by a power of two and rounded to symmetric fixed point."""
    shift = lambda g: g / 2 ** torch.ceil(torch.log2(g.abs().max()))
    grad = torch.linspace(-0.3, 0.4, 10)
    x = torch.zeros(10, requires_grad=True)
    number = FixedPoint(4, 3, symmetric=True)
    quantizer(backward_number=number, backward_rounding="nearest", backward_hooks=[shift])(x).backward(grad)
    expected = torch.clamp(torch.round(grad / 0.5 * 8) / 8, -0.875, 0.875)
    assert torch.equal(x.grad, expected)


def test_quantizers_repeat_under_manual_seed():
    x = torch.rand(1000, requires_grad=True)
    number = FixedPoint(8, 4)
    module, function = Quantizer(number, number), quantizer(number, number)
    results = []
    for q in (module, function, module):
        torch.manual_seed(7)
        x.grad = None
        y = q(x)
        y.backward(torch.linspace(0, 1, 1000))
        results.append((y, x.grad))
    assert all(same_bits(a, b) for other in results[1:] for a, b in zip(results[0], other))
    assert module.state_dict() == {}


def test_a_seeded_quantizer_saves_its_step():
    x = torch.rand(1000)
    q = Quantizer(FixedPoint(8, 4), seed=1)
    first = q(x)
    other = Quantizer(FixedPoint(8, 4), seed=1)
    other.load_state_dict(q.state_dict())
    assert same_bits(q(x), other(x)) and not same_bits(first, other(x))


def make_optimizer(net, **more):
    e5m2 = quantizer(FloatingPoint(5, 2), forward_rounding="nearest")
    e6m9 = quantizer(FloatingPoint(6, 9))
    inner = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    return OptimLP(
        inner, weight_quant=e5m2, grad_quant=e5m2, momentum_quant=e6m9, acc_quant=e6m9, grad_scaling=1 / 1000, **more
    )


def train(net, optimizer, steps, first=0):
    loss = None
    for i in range(first, first + steps):
        x = torch.randn(32, 6, generator=torch.Generator().manual_seed(i))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
        (loss * 1000).backward()
        optimizer.step()
    return loss.item()


def test_optim_lp_trains_and_continues_from_its_state():
    def start():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
        return net, make_optimizer(net)

    net, optimizer = start()
    train(net, optimizer, 40)
    rng = torch.get_rng_state()
    saved = copy.deepcopy((net.state_dict(), optimizer.state_dict()))
    assert train(net, optimizer, 20, first=40) < 0.8
    other, other_optimizer = start()
    other.load_state_dict(saved[0])
    other_optimizer.load_state_dict(saved[1])
    torch.set_rng_state(rng)
    train(other, other_optimizer, 20, first=40)
    assert all(same_bits(a, b) for a, b in zip(net.parameters(), other.parameters()))
    for p in net.parameters():
        assert same_bits(p, float_quantize(p, 5, 2, "nearest"))
        assert same_bits(optimizer.weight_acc[p], float_quantize(optimizer.weight_acc[p], 6, 9, "nearest"))
    assert optimizer.optim is optimizer.inner and optimizer.grad_scaling == 1 / 1000


def test_optim_lp_calls_closures_and_always_scales():
    """A11: QPyTorch drops the closure, and the scale where nothing rounds the gradient."""
    p = nn.Parameter(torch.ones(1))
    optimizer = OptimLP(torch.optim.SGD([p], lr=1.0), grad_scaling=0.5)

    def closure():
        optimizer.zero_grad()
        loss = p.sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 1.0 and p.item() == 0.5


def test_optim_lp_leaves_the_first_weights_and_missing_gradients():
    p, q = nn.Parameter(torch.tensor([0.3])), nn.Parameter(torch.tensor([0.3]))
    optimizer = OptimLP(
        torch.optim.Adam([p, q]), weight_quant=lambda x: fixed_point_quantize(x, 8, 1, rounding="nearest")
    )
    assert p.item() == q.item() == torch.tensor(0.3).item()
    p.grad = torch.ones(1)
    optimizer.step()
    assert p.item() == 0.5 and q.item() == torch.tensor(0.3).item()


def test_lower_in_place_and_sequential_lower_in_a_copy():
    class Convolution(nn.Conv2d):
        pass

    net = nn.Sequential(Convolution(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    number = FloatingPoint(3, 2)
    x = torch.randn(2, 1, 4, 4)
    before = net(x)
    low = sequential_lower(net, ["conv", "linear", "activation"], number, number, "nearest", "nearest")
    assert torch.equal(net(x), before) and not torch.equal(low(x), before)
    hidden = low[0](x)
    assert same_bits(hidden, float_quantize(net[0](x), 3, 2, "nearest"))  # a subclass counts
    assert list(low.state_dict()) == list(net.state_dict())
    assert lower(net, layer_types=["linear"], forward_number=number, forward_rounding="nearest") is None
    assert same_bits(net(x), float_quantize(before, 3, 2, "nearest"))
    with_weights = sequential_lower(net, ["linear"], weight_number=Posit(8, 1))
    assert not torch.equal(with_weights(x), net(x))


def test_an_existing_script_runs_under_the_old_name():
    script = """
import nibble.qtorch; nibble.qtorch.install()
import torch, qtorch
from qtorch import FixedPoint, FloatingPoint, BlockFloatingPoint, Posit
from qtorch.quant import fixed_point_quantize, block_quantize, float_quantize, quantizer, Quantizer
from qtorch.quant.quant_function import posit_quantize, configurable_table_quantize
from qtorch.optim import OptimLP
from qtorch.auto_low import sequential_lower
import qtorch.optim.optim_low, qtorch.number, qtorch.posit_activation
assert qtorch.__name__ == "nibble.qtorch" and issubclass(Posit, qtorch.Number)
print(float_quantize(torch.tensor([0.3]), exp=5, man=2, rounding="nearest").item(), FixedPoint(wl=8, fl=4))
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["0.3125", "FixedPoint", "(wl=8,", "fl=4)"]


def test_nearest_rounding_takes_nothing_from_torchs_generator():
    number = FloatingPoint(5, 2)
    net = sequential_lower(nn.Linear(3, 3), ["linear"], number, number, "nearest", "nearest")
    q = quantizer(number, number, "nearest", "nearest")
    optimizer = OptimLP(torch.optim.SGD(net.parameters(), lr=0.1), weight_quant=q)
    x = torch.randn(2, 3)
    state = torch.get_rng_state()
    q(net(x)).sum().backward()
    optimizer.step()
    assert torch.equal(state, torch.get_rng_state())
    quantizer(number)(x)
    assert not torch.equal(state, torch.get_rng_state())
