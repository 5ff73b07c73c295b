# SPDX-License-Identifier: Apache-2.0
"""Layers whose passes run elsewhere: the values and gradients of torch's own layers, and what crosses the wire."""

import copy
import pickle
import threading

import pytest

torch = pytest.importorskip("torch")

import nibble
import nibble.torch as nt
from nibble.torch.offloading.products import Convolution
from torch import nn
from torch_devices import DEVICES


class Far(nt.Backend):
    """The CPU as a device with memory of its own: what is sent and fetched is copied."""

    runs_ahead = True

    def send(self, tensor):
        return tensor.clone()

    def fetch(self, *tensors):
        copies = tuple(None if tensor is None else tensor.clone() for tensor in tensors)
        return lambda: copies


far = Far()
BACKENDS = ["cpu", far] + DEVICES[1:]

GEOMETRIES = [
    dict(),
    dict(stride=2, padding=1),
    dict(stride=2),
    dict(stride=(2, 3), padding=(0, 2), bias=False),
    dict(padding=2, dilation=2),
    dict(stride=2, padding=1, dilation=(1, 2), groups=2),
    dict(groups=4, padding="same"),
    dict(padding=(1, 2), padding_mode="circular"),
    dict(stride=2, padding=1, padding_mode="reflect"),
]


def convolution(kernel=3, cls=nt.OffloadConv2d, dtype=torch.float32, **options):
    torch.manual_seed(3)
    return cls(4, 8, kernel, dtype=dtype, **options)


def gradients(layer, x, error=None):
    x = x.clone().requires_grad_()
    layer.zero_grad()
    y = layer(x)
    y.backward(torch.ones_like(y) if error is None else error)
    return [y.detach(), x.grad, *(p.grad.clone() for p in layer.parameters())]


def close(found, expected, share):
    """Within a share of the largest magnitude."""
    return all(
        a.dtype == b.dtype and a.shape == b.shape and (a - b).abs().max() <= share * b.abs().max()
        for a, b in zip(found, expected)
    )


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("kernel", [(3, 2), 3])
def test_convolutions_pass_gradcheck(geometry, kernel):
    if geometry.get("padding") == "same" and kernel == 3:
        geometry = dict(geometry, dilation=2)
    layer = convolution(kernel, dtype=torch.float64, accelerator=far, wire="fp64", compute="fp64", **geometry)
    x = torch.randn(1, 4, 5, 6, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in layer.named_parameters()]

    def function(x, *parameters):
        for name, value in zip(names, parameters):
            delattr(layer, name)
            setattr(layer, name, value.clone())  # gradcheck writes single elements through .data
        return layer(x)

    parameters = [p.detach().requires_grad_() for p in layer.parameters()]
    for name in names:
        delattr(layer, name)
        setattr(layer, name, None)
    assert torch.autograd.gradcheck(function, (x, *parameters))


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)])
def test_linear_passes_gradcheck(shape):
    layer = nt.OffloadLinear(5, 4, accelerator=far, wire="fp64", compute="fp64", dtype=torch.float64)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer, (x,))
    plain = nn.Linear(5, 4, dtype=torch.float64)
    plain.load_state_dict(layer.state_dict())
    assert close(gradients(layer, x.detach()), gradients(plain, x.detach()), 1e-14)


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_values_and_gradients_are_torchs(backend, geometry):
    layer = convolution(accelerator=backend, wire="fp32", compute="fp32", **geometry)
    plain = convolution(cls=nn.Conv2d, **geometry)
    for batch in (3, 1):  # any batch
        x = torch.randn(batch, 4, 9, 12)
        assert close(gradients(layer, x), gradients(plain, x), 1e-5)
    if geometry.get("padding_mode") == "circular":
        return  # torch 1.13 takes no single image there
    single = torch.randn(4, 9, 12)
    assert close(gradients(layer, single), gradients(plain, single), 1e-5)


@pytest.mark.parametrize("geometry", [g for g in GEOMETRIES[:6] if "groups" not in g], ids=str)
@pytest.mark.parametrize("kernel", [(3, 2), 1])
def test_gradients_by_matrices_are_torchs(geometry, kernel):
    layer = convolution(kernel, cls=nn.Conv2d, dtype=torch.float64, **{**geometry, "bias": True})
    product = Convolution(layer.stride, layer.padding, layer.dilation, 1)
    x = torch.randn(3, 12, 9, 4, dtype=torch.float64).transpose(1, 3)  # any strides
    error = torch.randn_like(layer(x))
    mask = (False, True, True)
    found = product.gradients_by_matrices(error, x, layer.weight.detach(), mask)
    expected = product.backward(error, x, layer.weight.detach(), mask)
    assert found[0] is None and close(found[1:], expected[1:], 1e-13)


# The shapes of ResNet-20: channels in and out, size, stride.
RESNET20 = [(3, 16, 32, 1), (16, 16, 32, 1), (16, 32, 32, 2), (32, 32, 16, 1), (32, 64, 16, 2), (64, 64, 8, 1)]


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
@pytest.mark.parametrize("shape", RESNET20, ids=str)
@pytest.mark.parametrize("wire, share", [("fp32", 1e-5), ("fp16", 2e-3), ("int8", 4e-2)])
def test_layers_of_resnet20(backend, shape, wire, share):
    channels, features, size, stride = shape
    torch.manual_seed(1)
    plain = nn.Conv2d(channels, features, 3, stride, 1, bias=False)
    layer = nt.offload(plain, backend, wire=wire, compute="fp32")
    images = 32 if str(backend) == "cuda" else 8  # on CPUs alone it would take half a minute
    x = torch.randn(images, channels, size, size)
    error = torch.randn(images, features, size // stride, size // stride) * 1e-6
    assert close(gradients(layer, x, error), gradients(plain, x, error), share)


# How far sums of rounded operands may be off. CPUs have products of bf16 everywhere, of fp16 in some versions of torch.
NARROW = [(backend, "bf16", 2e-2) for backend in BACKENDS]
NARROW += [(backend, *others) for backend in DEVICES[1:] for others in (("fp16", 4e-3), ("tf32", 4e-3))]


@pytest.mark.parametrize("backend, compute, share", NARROW, ids=str)
@pytest.mark.parametrize("geometry", GEOMETRIES[:6], ids=str)
def test_products_in_narrower_types(backend, compute, share, geometry):
    plain = convolution(cls=nn.Conv2d, **geometry)
    layer = nt.offload(plain, backend, wire="fp32", compute=compute)
    x = torch.randn(3, 4, 9, 12)
    error = torch.randn_like(plain(x))
    found, expected = gradients(layer, x, error), gradients(plain, x, error)
    assert close(found, expected, share)
    if compute != "tf32":  # which torch may round to, and does where that is faster
        assert not close(found, expected, 1e-6)


def original_bytes(x, y, weight):
    """What the system did that this follows: fp32, both operands again for every product, errors once a channel."""
    forward = x + weight + y
    input_gradient = y + weight + x
    weight_gradient = y * weight_channels(weight) + x + weight
    return 4 * (forward + input_gradient + weight_gradient)


def weight_channels(count):
    return CHANNELS[count]


CHANNELS = {cin * cout * 9: cin for cin, cout, _, _ in RESNET20}


def test_bytes_on_the_wire():
    """A step of ResNet-20's convolutions, batch 32, against the scheme of the system that this follows."""
    sent = before = 0
    for (channels, features, size, stride), count in zip(RESNET20, (1, 6, 1, 5, 1, 5)):
        layer = nt.OffloadConv2d(channels, features, 3, stride, 1, bias=False, accelerator=far, wire="int8")
        x = torch.randn(32, channels, size, size, requires_grad=True)
        y = layer(x)
        y.sum().backward()
        sent += count * nt.traffic(layer).bytes
        before += count * original_bytes(x.numel(), y.numel(), layer.weight.numel())
    assert sent * 15 <= before


def test_weights_stay_until_they_change():
    layer = nt.OffloadLinear(64, 32, accelerator=far, wire="fp32")
    x = torch.randn(4, 64)

    def bytes_of_a_call():
        before = nt.traffic(layer).bytes_sent
        expected = nn.functional.linear(x, layer.weight, layer.bias)
        assert torch.allclose(layer(x), expected, atol=1e-5)
        return nt.traffic(layer).bytes_sent - before

    inputs, weight, bias = 4 * 4 * 64, 4 * 64 * 32, 4 * 32
    assert bytes_of_a_call() == inputs + weight + bias
    assert bytes_of_a_call() == inputs
    with torch.no_grad():
        layer.weight.mul_(2)
    assert bytes_of_a_call() == inputs + weight
    layer.weight.data.add_(1)  # counts no version
    assert bytes_of_a_call() == inputs + weight
    layer.weight.data = torch.randn(32, 64)
    assert bytes_of_a_call() == inputs + weight
    layer.load_state_dict({name: torch.randn_like(value) for name, value in layer.state_dict().items()})
    assert bytes_of_a_call() == inputs + weight + bias
    assert bytes_of_a_call() == inputs


def test_activations_stay_for_the_backward_pass():
    layer = convolution(accelerator=far, wire="fp32", bias=False)
    x = torch.randn(2, 4, 8, 8, requires_grad=True)
    y = layer(x)
    before = nt.traffic(layer).bytes_sent
    y.sum().backward()
    assert nt.traffic(layer).bytes_sent - before == 4 * y.numel()  # the error alone


@pytest.mark.parametrize("wire", ["fp16", "int8"])
def test_what_crosses_lies_in_the_back_ends_memory(wire):
    class Lending(Far):
        lent = []

        def memory(self, shape, dtype):
            self.lent.append(torch.empty(shape, dtype=dtype))
            return self.lent[-1]

        def send(self, tensor):
            assert any(tensor is each for each in self.lent) or tensor.dtype == torch.float32  # a bias
            return tensor.clone()

    layer = convolution(accelerator=Lending(), wire=wire)
    y = layer(torch.randn(2, 4, 8, 8))
    assert y.data_ptr() == layer.site.backend.lent[-1].data_ptr()
    y.sum().backward()


def small_network():
    torch.manual_seed(5)
    first = (nn.Conv2d(1, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
    return nn.Sequential(*first, nn.Conv2d(8, 8, 3, 2, 1), nn.Flatten(), nn.Linear(32, 10))


def train(model, make_optimizer, steps=5):
    optimizer = make_optimizer(model.parameters())
    generator = torch.Generator().manual_seed(2)
    for _ in range(steps):
        x, y = torch.randn(16, 1, 8, 8, generator=generator), torch.randint(0, 10, (16,), generator=generator)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return model


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


def test_autocast_gives_its_type():
    layer = convolution(accelerator=far, wire="fp32")
    plain = convolution(cls=nn.Conv2d)
    x = torch.randn(2, 4, 8, 8)
    with torch.autocast("cpu", torch.bfloat16):
        y, expected = layer(x), plain(x)
    assert y.dtype == expected.dtype == torch.bfloat16
    assert torch.allclose(y.float(), expected.float(), atol=2e-2)
    y.float().sum().backward()
    expected.float().sum().backward()
    assert layer.weight.grad.dtype == torch.float32
    assert torch.allclose(layer.weight.grad, plain.weight.grad, rtol=2e-2, atol=0.3)


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


@pytest.mark.parametrize("backend", [far] + DEVICES[1:], ids=str)
@pytest.mark.parametrize("wire", ["fp16", "int8"])
@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_loss_scaling_sees_what_overflows(backend, wire, bad):
    layer = convolution(accelerator=backend, wire=wire)
    y = layer(torch.randn(2, 4, 8, 8))
    error = torch.ones_like(y)
    error[0, 0, 0, 0] = bad
    y.backward(error)
    assert torch.isnan(layer.weight.grad).all()


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


def test_threads_share_a_model():
    model = nt.offload(small_network(), far, wire="int8").eval()
    parts = torch.randn(8, 4, 1, 8, 8)
    expected = [model(part) for part in parts]
    found = [None] * len(parts)

    def work(i):
        for _ in range(5):
            found[i] = model(parts[i])
            found[i].sum().backward()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(a, b) for a, b in zip(found, expected))


def test_gradients_that_nobody_wants_are_not_made():
    layer = convolution(accelerator=far, wire="fp32", bias=False)
    layer(torch.randn(2, 4, 8, 8)).sum().backward()
    assert layer.site.traffic.fetched == 2  # the result and the weight's gradient
    layer.weight.requires_grad_(False)
    x = torch.randn(2, 4, 8, 8, requires_grad=True)
    layer(x).sum().backward()
    assert layer.site.traffic.fetched == 4 and x.grad is not None


def test_the_cpu_itself_costs_nothing():
    layer = convolution(accelerator="cpu", wire="fp32")
    x = torch.randn(2, 4, 8, 8, requires_grad=True)
    assert torch.equal(layer(x), convolution(cls=nn.Conv2d)(x)) and layer.site.traffic.bytes == 0
    assert "Convolution" in type(layer(x).grad_fn).__name__  # torch's own
    assert layer(x.half().double().float()).dtype == torch.float32


def test_an_empty_batch_stays_here():
    layer = convolution(accelerator=far)
    assert layer(torch.zeros(0, 4, 8, 8)).shape == (0, 8, 6, 6)
    assert layer.site.traffic.bytes == 0


def test_errors_say_what_was_expected():
    with pytest.raises(ValueError, match="wire: got 'int4', expected one of 'int8', 'fp16'"):
        nt.offload(small_network(), "cpu", wire="int4")
    with pytest.raises(ValueError, match="compute: got 'int3'"):
        nt.OffloadLinear(2, 2, accelerator="cpu", compute="int3")
    with pytest.raises(ValueError, match="device: got 'npu', expected one of 'cpu', 'cuda'"):
        nt.offload(small_network(), "npu")
    with pytest.raises(ValueError, match="which names no layer"):
        nt.offload(small_network(), "cpu", layers="nothing*")
    with pytest.raises(TypeError, match="layers: got"):
        nt.offload(small_network(), "cpu", layers=nn.ReLU)
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="finds no GPU here"):
            nt.offload(small_network(), "cuda")


def test_another_accelerator_is_a_backend_by_name():
    nt.register_backend("far", lambda device: far)
    model = nt.offload(small_network(), "far:0", wire="fp32").eval()
    x = torch.randn(2, 1, 8, 8)
    assert torch.allclose(model(x), nt.onload(copy.deepcopy(model))(x), atol=1e-5)
