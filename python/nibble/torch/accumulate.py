# SPDX-License-Identifier: Apache-2.0
"""Products whose sums are rounded too, with gradients whose sums are rounded as well."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Tuple, Union

import torch
from torch.nn import functional

import nibble

from ..errors import ArgumentTypeError, UsageError
from . import ops
from .draws import WORD, Key
from .functions import differentiable, each_member

SAME = "same"
AnyAccumulator = Union[nibble.Accumulator, nibble.Format, str, None]
Pair = Union[int, Tuple[int, int]]
STREAMS = 4096  # of one stream of the caller: a forward product and two gradients for each matrix of a batch


class Accumulators(NamedTuple):
    """Formats, or nibble.Accumulator, of the forward product and of the two gradients; None is fp32."""

    forward: AnyAccumulator
    backward: AnyAccumulator = SAME

    def of_gradient(self) -> "Accumulators":
        backward = self.forward if isinstance(self.backward, str) and self.backward == SAME else self.backward
        return Accumulators(backward, SAME)


@differentiable
class _Product(torch.autograd.Function):
    @staticmethod
    def forward(a: torch.Tensor, b: torch.Tensor, accumulators: Accumulators, key: Key, stream: int) -> torch.Tensor:
        if accumulators.forward is None:
            return a @ b
        if ops.is_tracing():
            return ops.accumulated(a.detach(), b.detach(), accumulators.forward, *key, stream & WORD)
        return nibble.matmul(
            a.detach(), b.detach(), accumulator=accumulators.forward, seed=key.seed, step=key.step, stream=stream & WORD
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: torch.Tensor) -> None:
        a, b, *ctx.rest = inputs
        ctx.save_for_backward(a, b)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Tuple[torch.Tensor, int]:
        return each_member(_Product.apply, info, in_dims, *inputs)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        a, b = ctx.saved_tensors
        accumulators, key, stream = ctx.rest
        inner = accumulators.of_gradient()
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = _Product.apply(grad, b.t(), inner, key, stream + 1)
        if ctx.needs_input_grad[1]:
            grad_b = _Product.apply(a.t(), grad, inner, key, stream + 2)
        return grad_a, grad_b, None, None, None


def product(a: torch.Tensor, b: torch.Tensor, accumulators: Accumulators, key: Key, stream: int) -> torch.Tensor:
    """Matrices of any float type; sums start from fp32 operands, and the result has a's type."""
    out = _Product.apply(a.float(), b.float(), accumulators, key, stream)
    return out if out.dtype == a.dtype else out.to(a.dtype)


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    accumulator: AnyAccumulator,
    backward: AnyAccumulator = SAME,
    seed: int = 0,
    step: int = 0,
    stream: int = 0,
) -> torch.Tensor:
    """torch.matmul with a simulated accumulator, forward and, by `backward`, in both gradients.

    accumulator  a format or a nibble.Accumulator
    backward     the same, "same", or None: gradients in fp32

    >>> nt.matmul(torch.ones(1, 4096), torch.ones(4096, 1), accumulator="fp16")  # 2048 + 1 is 2048 in fp16
    tensor([[2048.]])
    """
    for name, value in (("a", a), ("b", b)):
        if not isinstance(value, torch.Tensor):
            raise ArgumentTypeError(f"matmul: got {type(value).__name__} for {name}, expected a tensor")
        if value.dim() == 0:
            raise UsageError(f"matmul: got a scalar for {name}, expected at least one dimension")
    rows, columns = a.dim() > 1, b.dim() > 1
    a = a if rows else a.unsqueeze(0)
    b = b if columns else b.unsqueeze(1)
    if a.shape[-1] != b.shape[-2]:
        raise UsageError(f"matmul: got inner dimensions {a.shape[-1]} and {b.shape[-2]}, expected equal ones")
    accumulators, key, base = Accumulators(accumulator, backward), Key(seed, step), stream * STREAMS
    if b.dim() == 2:
        flat = product(a.reshape(-1, a.shape[-1]), b, accumulators, key, base)
        out = flat.reshape(*a.shape[:-1], b.shape[-1])
    else:
        out = _batched(a, b, accumulators, key, base)
    out = out if rows else out.squeeze(-2)
    return out if columns else out.squeeze(-1)


def _batched(a: torch.Tensor, b: torch.Tensor, accumulators: Accumulators, key: Key, base: int) -> torch.Tensor:
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = a.expand(*batch, *a.shape[-2:]).reshape(-1, *a.shape[-2:])
    b = b.expand(*batch, *b.shape[-2:]).reshape(-1, *b.shape[-2:])
    out = [product(x, y, accumulators, key, base + 4 * i) for i, (x, y) in enumerate(zip(a, b))]
    if not out:
        return a.new_zeros(*batch, a.shape[-2], b.shape[-1])
    return torch.stack(out).reshape(*batch, *out[0].shape)


def linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: Optional[torch.Tensor] = None,
    *,
    accumulator: AnyAccumulator,
    backward: AnyAccumulator = SAME,
    seed: int = 0,
    step: int = 0,
    stream: int = 0,
) -> torch.Tensor:
    """functional.linear; the bias is added to the rounded sums in the input's type.

    >>> nt.linear(torch.ones(1, 4096), torch.ones(1, 4096), torch.tensor([1.0]), accumulator="fp16")
    tensor([[2049.]])
    """
    out = matmul(x, weight.t(), accumulator=accumulator, backward=backward, seed=seed, step=step, stream=stream)
    return out if bias is None else out + bias


def conv2d(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: Optional[torch.Tensor] = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    *,
    accumulator: AnyAccumulator,
    backward: AnyAccumulator = SAME,
    seed: int = 0,
    step: int = 0,
    stream: int = 0,
) -> torch.Tensor:
    """functional.conv2d as one product a group: sums run over channel, row, column of the kernel.

    The gradient of x adds overlapping windows in the input's type.

    >>> nt.conv2d(torch.ones(1, 1024, 2, 2), torch.ones(1, 1024, 2, 2), accumulator="fp16").item()
    2048.0
    """
    if x.dim() != 4 or weight.dim() != 4:
        raise UsageError(f"conv2d: got {x.dim()} and {weight.dim()} dimensions, expected 4 and 4")
    if groups < 1 or weight.shape[0] % groups or x.shape[1] != weight.shape[1] * groups:
        raise UsageError(
            f"conv2d: got {x.shape[1]} channels and a weight of {tuple(weight.shape)} in {groups} groups, "
            "expected channels = groups × weight.shape[1]"
        )
    stride, padding, dilation = _pair(stride), _pair(padding), _pair(dilation)
    size = [
        (x.shape[2 + i] + 2 * padding[i] - dilation[i] * (weight.shape[2 + i] - 1) - 1) // stride[i] + 1
        for i in range(2)
    ]
    columns = functional.unfold(x, weight.shape[2:], dilation, padding, stride)  # images, channels·kernel, places
    columns = columns.reshape(x.shape[0], groups, -1, columns.shape[-1]).permute(1, 2, 0, 3).flatten(2)
    kernels = weight.reshape(groups, weight.shape[0] // groups, -1)
    out = matmul(kernels, columns, accumulator=accumulator, backward=backward, seed=seed, step=step, stream=stream)
    out = out.reshape(weight.shape[0], x.shape[0], *size).transpose(0, 1).contiguous()  # as torch's own
    return out if bias is None else out + bias.reshape(1, -1, 1, 1)


def _pair(value: Pair) -> Tuple[int, int]:
    return (value[0], value[1]) if isinstance(value, (tuple, list)) else (value, value)
