# SPDX-License-Identifier: Apache-2.0
"""Conv2d and Linear whose passes run on an accelerator, while parameters, gradients and results are the CPU's."""

from __future__ import annotations

from typing import Any, Optional, Tuple, Union

import torch
from torch import nn
from torch.nn import functional

from .backend import AnyBackend
from .passes import run_pass
from .products import Convolution, MatrixProduct
from .site import Site

Size = Union[int, Tuple[int, int]]


class OffloadConv2d(nn.Conv2d):
    """torch.nn.Conv2d, computed elsewhere: `accelerator`, `wire` and `compute` as `offload` takes them."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Union[str, Size] = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Optional[torch.dtype] = None,
        *,
        accelerator: AnyBackend = "cuda",
        wire: str = "fp16",
        compute: Optional[str] = None,
        seed: Optional[int] = 0,
        stream: int = 0,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )
        self.site = Site(accelerator, wire, compute, seed, stream)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if input.numel() == 0:
            return super().forward(input)
        single = input.dim() == 3
        x, padding = _padded(self, input.unsqueeze(0) if single else input)
        product = Convolution(self.stride, padding, self.dilation, self.groups)
        out = run_pass(self.site, product, x, self.weight, self.bias)
        return out.squeeze(0) if single else out

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, {self.site}"


class OffloadLinear(nn.Linear):
    """torch.nn.Linear, computed elsewhere: `accelerator`, `wire` and `compute` as `offload` takes them."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Optional[torch.dtype] = None,
        *,
        accelerator: AnyBackend = "cuda",
        wire: str = "fp16",
        compute: Optional[str] = None,
        seed: Optional[int] = 0,
        stream: int = 0,
    ) -> None:
        super().__init__(in_features, out_features, bias, device, dtype)
        self.site = Site(accelerator, wire, compute, seed, stream)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if input.numel() == 0:
            return super().forward(input)
        return run_pass(self.site, MatrixProduct(), input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, {self.site}"


def _padded(layer: nn.Conv2d, x: torch.Tensor) -> Tuple[torch.Tensor, Tuple[int, int]]:
    """Zeros of equal number on both sides are the product's business; all other padding is done on the host."""
    right, left, below, above = (layer._reversed_padding_repeated_twice[i] for i in (1, 0, 3, 2))
    if layer.padding_mode == "zeros" and right == left and below == above:
        return x, (above, left)
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    return functional.pad(x, layer._reversed_padding_repeated_twice, mode=mode), (0, 0)
