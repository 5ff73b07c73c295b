# SPDX-License-Identifier: Apache-2.0
"""Rounding in autograd: values are rounded on the way forward, gradients on the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Tuple

import torch

from ..errors import StateError
from . import ops
from .draws import WORD, Key
from .functions import differentiable, each_member


@dataclass(frozen=True)
class Rule:
    """What happens to a tensor and to its gradient. Stream s draws from 2s forward and 2s+1 backward."""

    forward: Any = None
    backward: Any = None
    clamps_gradient: bool = False
    hooks: Tuple[Callable[[torch.Tensor], torch.Tensor], ...] = ()
    stream: int = 0

    @property
    def is_random(self) -> bool:
        return any(r is not None and r.is_stochastic for r in (self.forward, self.backward))

    @property
    def is_elementwise(self) -> bool:
        """Whether no element depends on another one or on its place."""
        rounders = [r for r in (self.forward, self.backward) if r is not None]
        return not self.hooks and all(getattr(r, "is_elementwise", False) for r in rounders)

    def round_forward(self, x: torch.Tensor, key: Key) -> torch.Tensor:
        return self.forward.round(x, seed=key.seed, step=key.step, stream=2 * self.stream & WORD)

    def round_backward(self, grad: torch.Tensor, key: Key) -> torch.Tensor:
        return self.backward.round(grad, seed=key.seed, step=key.step, stream=2 * self.stream + 1 & WORD)

    def clamped(self, x: torch.Tensor, key: Key) -> torch.Tensor:
        return self.forward.clamped(x, seed=key.seed, step=key.step, stream=2 * self.stream & WORD)


def _over_a_batch(function: Any, info: Any, in_dims: Any, x: torch.Tensor, rule: Rule, *rest: Any) -> Tuple[Any, int]:
    """vmap: one call where elements do not hang together and nothing is drawn, else one a member of the batch."""
    if rule.is_elementwise:
        return function(x, rule, *rest), in_dims[0]
    return each_member(function, info, in_dims, x, rule, *rest)


@differentiable
class _RoundGradient(torch.autograd.Function):
    """Rounds a gradient; its own derivative is straight-through, so that double backward is defined."""

    @staticmethod
    def forward(grad: torch.Tensor, rule: Rule, key: Key) -> torch.Tensor:
        return rule.round_backward(grad, key)

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: torch.Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        return grad, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Tuple[torch.Tensor, int]:
        return _over_a_batch(_RoundGradient.apply, info, in_dims, *inputs)


@differentiable
class _Round(torch.autograd.Function):
    """`clamped` is where the gradient is zero, or None."""

    @staticmethod
    def forward(x: torch.Tensor, rule: Rule, key: Key, clamped: Any) -> torch.Tensor:
        return x.view_as(x) if rule.forward is None else rule.round_forward(x, key)

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: torch.Tensor) -> None:
        _, ctx.rule, ctx.key, clamped = inputs
        ctx.save_for_backward(*([] if clamped is None else [clamped]))

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Tuple[torch.Tensor, int]:
        return _over_a_batch(_Round.apply, info, in_dims, *inputs)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        if not ops.is_tracing() and grad.layout != torch.strided:
            raise StateError("quantizer: got a sparse gradient, expected a dense one")
        for hook in ctx.rule.hooks:
            grad = hook(grad)
        if ctx.rule.backward is not None:
            grad = _RoundGradient.apply(grad, ctx.rule, ctx.key)
        if ctx.saved_tensors:
            grad = grad.masked_fill(ctx.saved_tensors[0], 0)
        return grad, None, None, None


def apply_rule(x: torch.Tensor, rule: Rule, key: Key) -> torch.Tensor:
    return _Round.apply(x, rule, key, rule.clamped(x.detach(), key) if rule.clamps_gradient else None)
