# SPDX-License-Identifier: Apache-2.0
"""Conv2d and Linear whose passes run on an accelerator, while parameters, gradients and results are the CPU's."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple, Union

import torch
from torch import nn
from torch.nn import functional

from .backend import AnyBackend
from .passes import run_pass
from .products import Convolution, MatrixProduct
from .site import Site

Size = Union[int, Tuple[int, int]]
DRAWN = "drawn"  # in what a state dict tells of a layer


class _Offloaded(nn.Module):
    """The step of the layer's draws stands in a state dict where torch keeps the versions of modules: so its keys are those
    of the plain layer, which loads it.
    """

    site: Site

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if hasattr(destination, "_metadata") and self.site.draws.seed is not None:
            destination._metadata[prefix[:-1]][DRAWN] = self.site.draws.step

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Dict[str, Any], *rest: Any) -> None:
        if DRAWN in local_metadata:
            self.site.draws.step = local_metadata[DRAWN]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, {self.site}"


class OffloadConv2d(_Offloaded, nn.Conv2d):
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


class OffloadLinear(_Offloaded, nn.Linear):
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


def _padded(layer: nn.Conv2d, x: torch.Tensor) -> Tuple[torch.Tensor, Tuple[int, int]]:
    """Zeros of equal number on both sides are the product's business; all other padding is done on the host."""
    left, right, above, below = layer._reversed_padding_repeated_twice
    if layer.padding_mode == "zeros" and right == left and below == above:
        return x, (above, left)
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    return functional.pad(x, layer._reversed_padding_repeated_twice, mode=mode), (0, 0)
