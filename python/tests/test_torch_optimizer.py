# SPDX-License-Identifier: Apache-2.0
"""LowPrecisionOptimizer: the order of a step, any optimizer, closures, schedulers, saving bit for bit."""

import copy
import io
import pickle

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.torch as nt
from torch import nn
from torch_devices import DEVICES, same_bits

FORMATS = dict(weight="e4m3", gradient="e5m2", momentum="bf16", master="fp16")


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def batch(i, device="cpu"):
    x = torch.randn(16, 6, generator=torch.Generator().manual_seed(i)).to(device)
    return x, x[:, :3].argmax(1)


def train(net, optimizer, steps, first=0):
    for i in range(first, first + steps):
        x, y = batch(i, next(net.parameters()).device)
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


def test_a_step_is_the_documented_one():
    net = network()
    p = net[0].weight
    start = p.detach().clone()
    optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD([p], lr=0.1, momentum=0.9), gradient_scaling=0.25, **FORMATS)
    master = nibble.quantize(start, "fp16")
    assert same_bits(optimizer.masters[p], master) and same_bits(p, nibble.quantize(master, "e4m3"))
    buffer = None
    for i in range(3):
        grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(i))
        p.grad = grad.clone()
        optimizer.step()
        rounded = nibble.quantize(grad * 0.25, "e5m2")
        buffer = rounded if buffer is None else buffer * 0.9 + rounded
        master = nibble.quantize(master.add(buffer, alpha=-0.1), "fp16")
        buffer = nibble.quantize(buffer, "bf16")
        assert same_bits(p.grad, rounded)
        assert same_bits(optimizer.masters[p], master)
        assert same_bits(p, nibble.quantize(master, "e4m3"))
        assert same_bits(optimizer.state[p]["momentum_buffer"], buffer)


def test_without_a_master_the_weight_is_all_there_is():
    p = nn.Parameter(torch.tensor([1.0]))
    optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD([p], lr=1.0), weight="fixed(8,4)")
    for _ in range(10):
        p.grad = torch.tensor([0.03])  # less than half a step of 1/16
        optimizer.step()
    assert p.item() == 1.0
    p = nn.Parameter(torch.tensor([1.0]))
    optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD([p], lr=1.0), weight="fixed(8,4)", master="fp32")
    for _ in range(10):
        p.grad = torch.tensor([0.03])
        optimizer.step()
    assert p.item() == 0.6875  # 0.7 in the format


@pytest.mark.parametrize(
    "make",
    [
        lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True),
        lambda ps: torch.optim.Adam(ps, lr=0.01, amsgrad=True),
        lambda ps: torch.optim.AdamW(ps, lr=0.01),
        lambda ps: torch.optim.RMSprop(ps, lr=0.01, momentum=0.5, centered=True),
        lambda ps: torch.optim.Adagrad(ps, lr=0.1),
        lambda ps: torch.optim.Adadelta(ps),
        lambda ps: torch.optim.Adamax(ps),
        lambda ps: torch.optim.Rprop(ps),
        lambda ps: torch.optim.NAdam(ps),
        lambda ps: torch.optim.ASGD(ps),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_any_optimizer_learns_and_continues_bit_for_bit(make, device):
    """Ten steps at once, or five, a checkpoint through bytes, and five more: the same bits."""

    def start():
        net = network().to(device)
        return net, nt.LowPrecisionOptimizer(make(net.parameters()), rounding="stochastic", seed=11, **FORMATS)

    net, optimizer = start()
    train(net, optimizer, 10)
    half, half_optimizer = start()
    train(half, half_optimizer, 5)
    file = io.BytesIO()
    torch.save({"net": half.state_dict(), "optimizer": half_optimizer.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file)
    other, other_optimizer = start()
    train(other, other_optimizer, 2, first=50)  # a state that loading must replace
    other.load_state_dict(saved["net"])
    other_optimizer.load_state_dict(saved["optimizer"])
    train(other, other_optimizer, 5, first=5)
    for a, b in zip(net.parameters(), other.parameters()):
        assert same_bits(a, b)
        assert same_bits(optimizer.masters[a], other_optimizer.masters[b])
        for name, value in optimizer.state[a].items():
            if isinstance(value, torch.Tensor) and value.shape == a.shape:
                assert same_bits(value, other_optimizer.state[b][name]), name
                assert same_bits(value, nibble.quantize(value, "bf16")), name


@pytest.mark.parametrize("device", DEVICES)
def test_draws_do_not_depend_on_the_device(device):
    seen = []
    for place in ("cpu", device):
        p = nn.Parameter(torch.linspace(-1, 1, 500, device=place))
        optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD([p], lr=0.125), weight="e4m3", rounding="stochastic")
        for i in range(3):
            p.grad = torch.sin(torch.arange(500.0)).to(place)
            optimizer.step()
        seen.append(p)
    assert same_bits(*seen)


def test_the_scale_counts_without_a_gradient_format():
    p = nn.Parameter(torch.ones(1))
    optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD([p], lr=1.0), gradient_scaling=1 / 1000)
    p.grad = torch.tensor([500.0])
    optimizer.step()
    assert p.item() == 0.5


def test_closures_are_called_at_rounded_weights():
    p = nn.Parameter(torch.tensor([1.0]))
    optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD([p], lr=0.01), weight="fixed(8,4)", master="fp32")
    seen = []

    def closure():
        optimizer.zero_grad()
        loss = p.sum() * 3
        loss.backward()
        seen.append(p.item())
        return loss

    losses = [optimizer.step(closure).item() for _ in range(4)]
    assert seen == [1.0, 1.0, 0.9375, 0.9375]  # masters 1, 0.97, 0.94, 0.91
    assert losses == [3.0, 3.0, 2.8125, 2.8125]


def test_lbfgs_runs_its_closures():
    target = torch.tensor([0.5, -1.25])
    p = nn.Parameter(torch.zeros(2))
    inner = torch.optim.LBFGS([p], lr=1.0, max_iter=10, line_search_fn="strong_wolfe")
    optimizer = nt.LowPrecisionOptimizer(inner, weight="fixed(12,8)", master="fp32")

    def closure():
        optimizer.zero_grad()
        loss = ((p - target) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    assert torch.equal(p.detach(), target)


def test_schedulers_take_it_for_an_optimizer():
    net = network()
    optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD(net.parameters(), lr=1.0), weight="e4m3")
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    train(net, optimizer, 1)
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.5 == optimizer.inner.param_groups[0]["lr"]
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    scheduler.step()
    assert optimizer.inner.param_groups[0]["lr"] == 0.25
    train(net, optimizer, 1)


def test_groups_are_added_with_masters():
    a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.full((3,), 1.03))
    optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD([a], lr=0.1), weight="fixed(8,4)", master="fp32")
    optimizer.add_param_group({"params": [b], "lr": 0.5})
    assert optimizer.inner.param_groups is optimizer.param_groups and len(optimizer.param_groups) == 2
    assert optimizer.masters[b].tolist() == [torch.tensor(1.03).item()] * 3 and b.tolist() == [1.0] * 3
    b.grad = torch.ones(3)
    optimizer.step()
    assert torch.allclose(optimizer.masters[b], torch.full((3,), 0.53)) and a.grad is None


def test_parameters_without_gradient_are_left_alone():
    a, b = nn.Parameter(torch.rand(100)), nn.Parameter(torch.rand(100))
    optimizer = nt.LowPrecisionOptimizer(
        torch.optim.SGD([a, b], lr=0.1), rounding="stochastic", weight="e4m3", master="fp32", momentum="e4m3"
    )
    before, master = b.detach().clone(), optimizer.masters[b].clone()
    a.grad = torch.ones(100)
    optimizer.step()
    assert same_bits(b, before) and same_bits(optimizer.masters[b], master)


def test_momentum_keys_choose():
    p = nn.Parameter(torch.ones(50))
    optimizer = nt.LowPrecisionOptimizer(torch.optim.Adam([p]), momentum="e3m2", momentum_keys=["exp_avg"])
    p.grad = torch.rand(50)
    optimizer.step()
    in_format = {k: same_bits(v, nibble.quantize(v, "e3m2")) for k, v in optimizer.state[p].items() if k != "step"}
    assert in_format == {"exp_avg": True, "exp_avg_sq": False}


def test_a_scalar_parameter_keeps_its_step_count():
    p = nn.Parameter(torch.tensor(1.0))
    optimizer = nt.LowPrecisionOptimizer(torch.optim.Adam([p]), momentum="e2m1")
    for _ in range(9):
        p.grad = torch.tensor(0.5)
        optimizer.step()
    assert float(optimizer.state[p]["step"]) == 9


def test_copies_and_pickles_keep_everything():
    net = network()
    optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), **FORMATS)
    train(net, optimizer, 3)
    for other_net, other in (copy.deepcopy((net, optimizer)), pickle.loads(pickle.dumps((net, optimizer)))):
        a, b = copy.deepcopy((net, optimizer))
        train(a, b, 3, first=3)
        train(other_net, other, 3, first=3)
        assert all(same_bits(x, y) for x, y in zip(a.parameters(), other_net.parameters()))


def test_a_checkpoint_of_the_plain_optimizer_loads():
    net = network()
    plain = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    train(net, plain, 2)
    optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), master="fp32")
    optimizer.load_state_dict(plain.state_dict())
    p = net[0].weight
    assert same_bits(optimizer.state[p]["momentum_buffer"], plain.state[p]["momentum_buffer"])


def test_sparse_gradients_are_refused():
    layer = nn.Embedding(4, 2, sparse=True)
    optimizer = nt.LowPrecisionOptimizer(torch.optim.SGD(layer.parameters(), lr=0.1), weight="e4m3")
    layer(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="sparse"):
        optimizer.step()


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda inner: nt.LowPrecisionOptimizer(3), TypeError),
        (lambda inner: nt.LowPrecisionOptimizer(inner, weight=3), TypeError),
        (lambda inner: nt.LowPrecisionOptimizer(inner, weight="e99"), ValueError),
        (lambda inner: nt.LowPrecisionOptimizer(inner, gradient_scaling=0), ValueError),
        (lambda inner: nt.LowPrecisionOptimizer(inner, gradient_scaling="1"), TypeError),
        (lambda inner: nt.LowPrecisionOptimizer(inner, seed=-3), ValueError),
        (
            lambda inner: nt.LowPrecisionOptimizer(inner, master="fp32").load_state_dict(
                {**inner.state_dict(), "low_precision": {"masters": [], "seed": 0, "step": 0}}
            ),
            ValueError,
        ),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(make, error):
    with pytest.raises(error) as caught:
        make(torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1))
    assert str(caught.value) and "\n" not in str(caught.value)
