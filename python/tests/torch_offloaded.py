# SPDX-License-Identifier: Apache-2.0
"""What the tests of offloaded layers share: back ends, layers, and what a step gives."""

import torch

import nibble.torch as nt
from nibble.torch.offloading.backend import backend_of
from torch import nn
from torch_devices import DEVICES


class Far(nt.Backend):
    """The CPU as a device with memory of its own, by the two methods that one must have: all is done when a call returns."""

    runs_ahead = True

    def send(self, tensor):
        return tensor.clone()

    def fetch(self, *tensors):
        copies = tuple(None if tensor is None else tensor.clone() for tensor in tensors)
        return lambda: copies


far = backend_of("pool")
BACKENDS = ["cpu", "pool", Far()] + DEVICES[1:]


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
