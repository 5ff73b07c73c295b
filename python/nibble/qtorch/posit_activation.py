# SPDX-License-Identifier: Apache-2.0
"""The fork's tanh layers; their derivative is 1 - y² of the approximate y."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import torch

from nibble.torch.functions import differentiable

from .quant.posit_function import posit_tanh, posit_tanh_enhanced

__all__ = ["PositTanhModule", "PositTanhModuleEnhanced", "RefTanhModule"]

NSIZE = 16


@differentiable
class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor, function: Callable[..., torch.Tensor]) -> torch.Tensor:
        return function(x, nsize=NSIZE)

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: torch.Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Tuple[torch.Tensor, int]:
        return _Tanh.apply(*inputs), in_dims[0]

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        (y,) = ctx.saved_tensors
        return grad * (1 - y * y), None


class PositTanhModule(torch.nn.Module):
    """tanh by the bits of posits of 16 bits."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _Tanh.apply(x, posit_tanh)


class PositTanhModuleEnhanced(torch.nn.Module):
    """The same with the fork's better approximation."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _Tanh.apply(x, posit_tanh_enhanced)


class RefTanhModule(torch.nn.Module):
    """torch's own, to compare with."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)
