# SPDX-License-Identifier: Apache-2.0
"""What offloading costs without residency, for `offload.py --variants`: every pass of a convolution brings all that it reads
in fp32 through any memory of the host and takes back what it makes, as `.cuda()` and `.cpu()` around a layer do.
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import grad


class Counter:
    """Bytes that have crossed."""

    def __init__(self, device: str) -> None:
        self.device, self.bytes = device, 0

    def there(self, tensor: torch.Tensor) -> torch.Tensor:
        self.bytes += tensor.numel() * tensor.element_size()
        return tensor.to(self.device)

    def back(self, tensor: torch.Tensor) -> torch.Tensor:
        self.bytes += tensor.numel() * tensor.element_size()
        return tensor.cpu()


class _NaivePass(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, counter, stride, padding):
        ctx.save_for_backward(x, weight)
        ctx.settings = counter, stride, padding
        return counter.back(nn.functional.conv2d(counter.there(x), counter.there(weight), None, stride, padding))

    @staticmethod
    def backward(ctx, error):
        (x, weight), (counter, stride, padding) = ctx.saved_tensors, ctx.settings
        to_input = to_weight = None
        if ctx.needs_input_grad[0]:
            made = grad.conv2d_input(x.shape, counter.there(weight), counter.there(error), stride, padding)
            to_input = counter.back(made)
        if ctx.needs_input_grad[1]:
            made = grad.conv2d_weight(counter.there(x), weight.shape, counter.there(error), stride, padding)
            to_weight = counter.back(made)
        return to_input, to_weight, None, None, None


class NaiveConv2d(nn.Conv2d):
    """Without bias, dilation and groups: those of ResNet-20."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return _NaivePass.apply(input, self.weight, self.counter, self.stride, self.padding)


def naively_offloaded(model: nn.Module, device: str) -> tuple[nn.Module, Counter]:
    """A copy whose convolutions run there."""
    model, counter = copy.deepcopy(model), Counter(device)
    for layer in model.modules():
        if type(layer) is nn.Conv2d:
            layer.__class__, layer.counter = NaiveConv2d, counter
    return model, counter
