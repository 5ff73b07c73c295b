# SPDX-License-Identifier: Apache-2.0
"""Linear and Conv2d whose products are summed in a simulated accumulator."""

from __future__ import annotations

from typing import Any, Dict, Optional, Union

import torch
from torch.nn import functional

from .accumulate import SAME, AnyAccumulator, Pair, conv2d, linear
from .draws import DrawsModule


class _Accumulating(DrawsModule):
    """The accumulators of a layer; a submodule, so that its step is saved."""

    def __init__(
        self, accumulator: AnyAccumulator, backward: AnyAccumulator, seed: Optional[int], stream: int
    ) -> None:
        super().__init__(seed)
        self.accumulator, self.backward_accumulator, self.stream = accumulator, backward, stream

    def options(self) -> Dict[str, Any]:
        key = self.draws.next()
        return dict(
            accumulator=self.accumulator,
            backward=self.backward_accumulator,
            seed=key.seed,
            step=key.step,
            stream=self.stream,
        )

    def extra_repr(self) -> str:
        return f"{self.accumulator}, backward={self.backward_accumulator}"


class Linear(torch.nn.Linear):
    """torch.nn.Linear with an accumulator; see `nibble.torch.matmul` for the formats.

    >>> nt.Linear(8, 2, accumulator="fp16")(torch.ones(3, 8)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        accumulator: AnyAccumulator,
        backward: AnyAccumulator = SAME,
        seed: Optional[int] = 0,
        stream: int = 0,
        device: Any = None,
        dtype: Optional[torch.dtype] = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.accumulating = _Accumulating(accumulator, backward, seed, stream)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linear(x, self.weight, self.bias, **self.accumulating.options())


class Conv2d(torch.nn.Conv2d):
    """torch.nn.Conv2d with an accumulator; any padding, dilation and groups.

    >>> nt.Conv2d(1, 2, 3, padding="same", accumulator="bf16")(torch.ones(1, 1, 8, 8)).shape
    torch.Size([1, 2, 8, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Union[str, Pair] = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        accumulator: AnyAccumulator,
        backward: AnyAccumulator = SAME,
        seed: Optional[int] = 0,
        stream: int = 0,
        device: Any = None,
        dtype: Optional[torch.dtype] = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )
        self.accumulating = _Accumulating(accumulator, backward, seed, stream)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return accumulated_convolution(self, x, self.accumulating.options())


def accumulated_convolution(layer: torch.nn.Conv2d, x: torch.Tensor, options: Dict[str, Any]) -> torch.Tensor:
    single = x.dim() == 3
    x = x.unsqueeze(0) if single else x
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    x = functional.pad(x, layer._reversed_padding_repeated_twice, mode=mode)
    out = conv2d(x, layer.weight, layer.bias, layer.stride, 0, layer.dilation, layer.groups, **options)
    return out.squeeze(0) if single else out
