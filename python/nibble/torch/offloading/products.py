# SPDX-License-Identifier: Apache-2.0
"""The two products that layers are made of, forward and with both gradients, as torch computes them on any device."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union

import torch
from torch.nn import functional

Pair = Tuple[int, int]
Gradients = Tuple[Optional[torch.Tensor], Optional[torch.Tensor], Optional[torch.Tensor]]
Mask = Sequence[bool]  # which of the gradients of input, weight and bias are asked for


class Convolution(NamedTuple):
    stride: Pair
    padding: Pair
    dilation: Pair
    groups: int

    def forward(self, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
        return functional.conv2d(x, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def add_bias(self, result: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return result + bias.reshape(1, -1, 1, 1)

    def backward(self, error: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, mask: Mask) -> Gradients:
        channels = [weight.shape[0]] if mask[2] else None
        geometry: Any = (self.stride, self.padding, self.dilation, False, (0, 0), self.groups)
        return torch.ops.aten.convolution_backward(error, x, weight, channels, *geometry, list(mask))

    def gradients_by_matrices(self, error: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, mask: Mask) -> Gradients:
        """Those of weight and bias, of one group: errors by channel times the inputs below each element of the weight."""
        padded = functional.pad(x, (self.padding[1], self.padding[1], self.padding[0], self.padding[0])).contiguous()
        images, channels, height, width = padded.shape
        rows, columns = error.shape[2:]
        taps = (channels, *weight.shape[2:], images, rows, columns)
        (down, across), (between_rows, between) = self.stride, self.dilation
        picture = height * width
        steps = (picture, between_rows * width, between, channels * picture, down * width, across)
        below = padded.as_strided(taps, steps).reshape(weight[0].numel(), -1)
        flat = error.transpose(0, 1).reshape(error.shape[1], -1)
        return None, (flat @ below.t()).reshape(weight.shape) if mask[1] else None, flat.sum(1) if mask[2] else None


class MatrixProduct(NamedTuple):
    def forward(self, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
        return functional.linear(x, weight, bias)

    def add_bias(self, result: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return result + bias

    def backward(self, error: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, mask: Mask) -> Gradients:
        rows = error.reshape(-1, error.shape[-1])
        return (
            error @ weight if mask[0] else None,
            rows.t() @ x.reshape(-1, x.shape[-1]) if mask[1] else None,
            rows.sum(0) if mask[2] else None,
        )


Product = Union[Convolution, MatrixProduct]
