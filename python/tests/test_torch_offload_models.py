# SPDX-License-Identifier: Apache-2.0
"""Models whose layers run elsewhere: training, copies, threads and what users expect of a model."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.torch as nt
from torch import nn
from torch_devices import DEVICES
from torch_offloaded import BACKENDS, Far, close, far, small_network, train

OPTIMIZERS = [
    lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    lambda p: torch.optim.Adadelta(p),
    lambda p: torch.optim.AdamW(p, 1e-2),
    lambda p: torch.optim.RMSprop(p, 1e-3),
]


@pytest.mark.parametrize("make_optimizer", OPTIMIZERS, ids=["sgd", "adadelta", "adamw", "rmsprop"])
@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_training_is_that_of_the_plain_model(backend, make_optimizer):
    plain = train(small_network(), make_optimizer)
    offloaded = train(nt.offload(small_network(), backend, wire="fp32", compute="fp32"), make_optimizer)
    assert list(plain.state_dict()) == list(offloaded.state_dict())
    for name, value in plain.state_dict().items():
        assert torch.allclose(offloaded.state_dict()[name].float(), value.float(), atol=1e-4), name


@pytest.mark.parametrize("wire", ["fp16", "int8"])
def test_narrow_wires_learn(wire):
    model = nt.offload(small_network(), far, wire=wire)
    x, y = torch.randn(64, 1, 8, 8), torch.randint(0, 10, (64,))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_int8_repeats_by_its_seed():
    first, again, other = (
        train(nt.offload(small_network(), far, wire="int8", seed=seed), OPTIMIZERS[0]) for seed in (1, 1, 2)
    )
    assert all(torch.equal(a, b) for a, b in zip(first.state_dict().values(), again.state_dict().values()))
    assert not all(torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters()))


class Autocast(nn.Sequential):
    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return super().forward(x).float()


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_training_under_autocast_is_that_of_the_plain_model(backend):
    plain = train(Autocast(small_network()), OPTIMIZERS[0])
    offloaded = train(nt.offload(Autocast(small_network()), backend, wire="fp32"), OPTIMIZERS[0])
    start = Autocast(small_network()).state_dict()
    for name, value in plain.named_parameters():
        found = dict(offloaded.named_parameters())[name]
        assert found.dtype == torch.float32
        moved = (value - start[name]).abs().max()
        assert (found - value).abs().max() <= 0.1 * moved, name


@pytest.mark.skipif(not hasattr(torch.amp, "GradScaler"), reason="scalers of CPUs came with torch 2.3")
@pytest.mark.parametrize("backend", [far] + DEVICES[1:], ids=str)
@pytest.mark.parametrize("wire", ["fp32", "fp16", "int8"])
def test_a_scaler_skips_the_step_that_overflows(backend, wire):
    model = nt.offload(small_network(), backend, wire=wire)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    x, y = torch.randn(16, 1, 8, 8), torch.randint(0, 10, (16,))

    def moves(factor):
        before = [p.detach().clone() for p in model.parameters()]
        optimizer.zero_grad()
        scaler.scale(nn.functional.cross_entropy(model(x), y) * factor).backward()
        scaler.step(optimizer)
        scaler.update()
        return not any(torch.equal(a, b) for a, b in zip(before, model.parameters())), scaler.get_scale()

    assert moves(1.0) == (True, 1024.0)
    before = [p.detach().clone() for p in model.parameters()]
    assert moves(float("inf")) == (False, 512.0)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
    assert moves(1.0) == (True, 512.0)


def test_state_dicts_copies_and_pickles():
    model = nt.offload(small_network(), far, wire="int8")
    x = torch.randn(4, 1, 8, 8)
    model.eval()
    expected = model(x)
    plain = small_network()
    plain.load_state_dict(model.state_dict())
    model.load_state_dict(plain.state_dict())
    assert isinstance(model[0], nn.Conv2d)
    copied = copy.deepcopy(model)
    assert copied[0].site.backend is far
    assert torch.equal(copied(x), expected)
    with torch.no_grad():
        copied[0].weight.zero_()
    assert not torch.equal(copied(x), expected) and torch.equal(model(x), expected)
    near = nt.offload(small_network(), "cpu", wire="int8").eval()
    near.load_state_dict(model.state_dict())
    assert torch.equal(pickle.loads(pickle.dumps(near))(x), expected)


def test_state_dicts_go_on_with_the_draws(tmp_path):
    sgd = lambda p: torch.optim.SGD(p, 0.1)
    begin = lambda: nt.offload(small_network(), "cpu", wire="int8")
    whole = train(begin(), sgd, 3)
    torch.save(whole.state_dict(), tmp_path / "model.pt")
    saved = torch.load(tmp_path / "model.pt", weights_only=True)
    plain, resumed, without = small_network(), begin(), begin()
    plain.load_state_dict(saved)
    assert list(saved) == list(plain.state_dict())
    nn.Sequential(resumed).load_state_dict(nn.Sequential(whole).state_dict())  # under another name
    assert [layer.site.draws.step for layer in (resumed[0], resumed[3], resumed[5])] == [3, 3, 3]
    resumed.load_state_dict(saved)
    without.load_state_dict(dict(saved))  # the tensors alone
    expected, found, other = (list(train(model, sgd, 2).state_dict().values()) for model in (whole, resumed, without))
    assert all(map(torch.equal, found, expected)) and not all(map(torch.equal, other, expected))
    resumed.load_state_dict(plain.state_dict())
    assert resumed[0].site.draws.step == 5  # a plain model says nothing of it


def test_onload_undoes():
    model = small_network()
    offloaded = nt.offload(model, "cpu")
    assert type(model[0]) is nn.Conv2d and type(offloaded[0]) is nt.OffloadConv2d
    assert str(nt.onload(offloaded)) == str(model) and not hasattr(offloaded[0], "site")


def test_which_layers():
    classes = lambda **options: [type(layer).__name__ for layer in nt.offload(small_network(), "cpu", **options)]
    assert classes(layers=nn.Linear)[0] == "Conv2d" and classes(layers=nn.Linear)[5] == "OffloadLinear"
    assert classes(layers="3")[0] == "Conv2d" and classes(layers=["3", nn.Linear])[3] == "OffloadConv2d"


def test_lowered_layers_may_be_offloaded_before():
    torch.manual_seed(1)
    x = torch.randn(4, 1, 8, 8)
    plain = nt.lower(small_network(), "e4m3", "e4m3", "e5m2").eval()
    far_away = nt.lower(nt.offload(small_network(), far, wire="fp32"), "e4m3", "e4m3", "e5m2").eval()
    assert torch.allclose(far_away(x), plain(x), atol=0.3)
    assert "nibble_lowering" in dict(far_away[0].named_modules())


def by_threads(count, work):
    """What work gives for each number, all in threads that begin at once."""
    begin = threading.Barrier(count)
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(lambda i: (begin.wait(), work(i))[1], range(count)))


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_threads_share_a_model(backend):
    plain = small_network().eval()
    model = nt.offload(plain, backend, wire="fp32", compute="fp32")
    parts, errors = torch.randn(8, 4, 1, 8, 8), torch.randn(8, 4, 10)

    def steps(model, i):
        for _ in range(5):
            y = model(parts[i])
            y.backward(errors[i], retain_graph=True)  # adds to what other threads add to
            found = [y.detach(), *torch.autograd.grad(y, tuple(model.parameters()), errors[i])]
        return found

    expected = [steps(plain, i) for i in range(len(parts))]
    found = by_threads(len(parts), lambda i: steps(model, i))
    assert all(close(a, b, 1e-5) for a, b in zip(found, expected))
    assert close([p.grad for p in model.parameters()], [p.grad for p in plain.parameters()], 1e-5)


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_threads_share_a_model_of_a_narrow_wire(backend):
    model = nt.offload(small_network(), backend, wire="int8").eval()
    parts = torch.randn(8, 4, 1, 8, 8)
    expected = [model(part) for part in parts]

    def steps(i):
        for _ in range(5):
            y = model(parts[i])
            y.sum().backward()
        return y

    assert all(map(torch.equal, by_threads(len(parts), steps), expected))


@pytest.mark.parametrize("wire", ["fp32", "int8"])
@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_inference_mode(backend, wire):
    model = nt.offload(small_network(), backend, wire=wire).eval()
    x = torch.randn(4, 1, 8, 8)
    with torch.inference_mode():
        found = model(x.clone())
    y = model(x)
    assert torch.equal(found, y)
    y.sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())


def test_errors_say_what_was_expected():
    with pytest.raises(ValueError, match="wire: got 'int4', expected one of 'int8', 'fp16'"):
        nt.offload(small_network(), "cpu", wire="int4")
    with pytest.raises(ValueError, match="compute: got 'int3'"):
        nt.OffloadLinear(2, 2, accelerator="cpu", compute="int3")
    with pytest.raises(ValueError, match="device: got 'npu', expected one of 'cpu', 'cuda'"):
        nt.offload(small_network(), "npu")
    for other in (["cpu"], {}, 3, None):
        with pytest.raises(nibble.errors.UsageError, match=r"device: got .*, expected one of 'cpu', 'cuda'.* or a Backend$"):
            nt.OffloadLinear(2, 2, accelerator=other)
    with pytest.raises(ValueError, match="which names no layer"):
        nt.offload(small_network(), "cpu", layers="nothing*")
    with pytest.raises(TypeError, match="layers: got"):
        nt.offload(small_network(), "cpu", layers=nn.ReLU)
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="finds no GPU here"):
            nt.offload(small_network(), "cuda")


def test_another_accelerator_is_a_backend_by_name():
    nt.register_backend("far", lambda device: Far())
    model = nt.offload(small_network(), "far:0", wire="fp32").eval()
    x = torch.randn(2, 1, 8, 8)
    assert torch.allclose(model(x), nt.onload(copy.deepcopy(model))(x), atol=1e-5)
