# SPDX-License-Identifier: Apache-2.0
"""Layers whose passes run elsewhere: the values and gradients of torch's own layers, and what crosses the wire."""

import pytest

torch = pytest.importorskip("torch")

import nibble.torch as nt
from nibble.torch.offloading import passes
from nibble.torch.offloading.products import Convolution
from torch import nn
from torch_devices import DEVICES
from torch_offloaded import BACKENDS, Far, close, convolution, far, gradients

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
    x = torch.randn(32, channels, size, size)
    error = torch.randn(32, features, size // stride, size // stride) * 1e-6
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


@pytest.mark.parametrize("compute", [None, "bf16"])
@pytest.mark.parametrize("given", [torch.float32, torch.bfloat16])
def test_on_the_cpu_a_layer_under_autocast_is_torchs_own(given, compute):
    layer = convolution(accelerator="cpu", wire="fp32", compute=compute)
    plain, x = convolution(cls=nn.Conv2d), torch.randn(2, 4, 8, 8).to(given)
    found = []
    for each in (layer, plain):
        with torch.autocast("cpu", torch.bfloat16):
            y = each(x)
        y.float().sum().backward()
        found.append([y, each.weight.grad, each.bias.grad])
    assert found[0][0].dtype == torch.bfloat16 and all(torch.equal(*pair) for pair in zip(*found))
    assert layer.site.traffic.bytes == 0
    for wire, other in (("fp16", None), ("fp32", "fp32")):  # weights lose bits there, products do not take bfloat16 here
        crossing = convolution(accelerator="cpu", wire=wire, compute=other)
        with torch.autocast("cpu", torch.bfloat16):
            assert crossing(x).dtype == torch.bfloat16 and crossing.site.traffic.bytes > 0


def test_autocast_of_another_device_changes_nothing(monkeypatch):
    monkeypatch.setattr(passes, "is_autocasting", lambda device: device == "cuda")
    x = torch.randn(2, 4, 8, 8)
    for accelerator in ("cpu", far):
        layer, plain = convolution(accelerator=accelerator, wire="fp32"), convolution(cls=nn.Conv2d)
        assert torch.equal(layer(x), plain(x))
        assert (layer.site.traffic.bytes == 0) == (accelerator == "cpu")


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
