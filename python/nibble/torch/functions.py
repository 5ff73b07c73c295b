# SPDX-License-Identifier: Apache-2.0
"""Functions of autograd as torch 2 wants them, so that torch.func and vmap take them; torch 1.13 gets the same ones."""

from __future__ import annotations

from typing import Any, Callable, Tuple, TypeVar

import torch

HAS_VMAP = hasattr(torch, "func")  # torch 2 and later
FunctionT = TypeVar("FunctionT", bound=type)


def differentiable(function: FunctionT) -> FunctionT:
    """A torch.autograd.Function whose forward has no context; `setup_context` has it.

    Before torch 2 both are one.
    """
    if HAS_VMAP:
        return function
    forward, setup = function.forward, function.setup_context  # type: ignore[attr-defined]

    def forward_with_context(ctx: Any, *inputs: Any) -> Any:
        output = forward(*inputs)
        setup(ctx, inputs, output)
        return output

    function.forward = staticmethod(forward_with_context)  # type: ignore[attr-defined]
    return function


def each_member(call: Callable[..., torch.Tensor], info: Any, in_dims: Any, *inputs: Any) -> Tuple[torch.Tensor, int]:
    """vmap by one call for every member of the batch, so that each gives what it would by itself."""

    def member(value: Any, dim: Any, index: int) -> Any:
        return value.select(dim, index) if isinstance(value, torch.Tensor) and isinstance(dim, int) else value

    made = [
        call(*(member(value, dim, index) for value, dim in zip(inputs, in_dims))) for index in range(info.batch_size)
    ]
    return torch.stack(made), 0
